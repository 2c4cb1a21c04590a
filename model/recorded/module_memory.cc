#include "model/recorded/module_memory.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "model/recorded/lives.h"

namespace spillway {

namespace {

// The first so many parts of a module's name.
std::string CutTo(const std::string& module, std::size_t parts) {
  std::size_t end = 0;
  for (std::size_t k = 0; k < parts; ++k) {
    end = module.find('.', end + (k == 0 ? 0 : 1));
    if (end == std::string::npos) return module;
  }
  return module.substr(0, end);
}

class ByModule {
 public:
  ByModule(const RecordedStep& recorded, OpId peak)
      : recorded_(recorded), peak_(peak), lives_(LivesOf(recorded.step)), modules_(ModulesOf(recorded)) {}

  ModuleMemory Make() {
    for (std::size_t t = 0; t < lives_.size(); ++t) {
      parts_.try_emplace(*modules_[t], 1);
      if (IsAt(t, peak_)) at_peak_[*modules_[t]] += BufferBytes(recorded_.step.tensors[t].bytes);
    }
    for (const RecordedCall& call : recorded_.calls) parts_.try_emplace(call.module, 1);
    if (const Bytes bytes = WorkspaceOf(Index(peak_)); bytes > 0) {
      at_peak_[recorded_.calls[Index(peak_)].module] += bytes;
    }
    while (SplitLargest()) {
    }
    for (std::size_t t = 0; t < lives_.size(); ++t) AddTensor(t);
    for (std::size_t op = 0; op < recorded_.step.ops.size(); ++op) AddWorkspace(op);
    return Sorted();
  }

 private:
  bool IsAt(std::size_t t, OpId op) const {
    return lives_[t].first != kNoOp && lives_[t].first <= op && op <= lives_[t].last;
  }
  Bytes WorkspaceOf(std::size_t op) const { return BufferBytes(FastestWorkspace(recorded_.ways[op])); }

  using Parts = std::map<std::string, std::size_t>;

  // By name as cut, the bytes at the peak.
  std::map<std::string, Bytes> GroupsAtPeak(const Parts& parts) const {
    std::map<std::string, Bytes> groups;
    for (const auto& [module, bytes] : at_peak_) groups[CutTo(module, parts.at(module))] += bytes;
    return groups;
  }

  // Splits the largest group by one more part of its names. A group is skipped if too many groups would follow and it has
  // less than half of the bytes; then the next one is tried.
  bool SplitLargest() {
    std::vector<std::pair<Bytes, std::string>> groups;
    for (const auto& [name, bytes] : GroupsAtPeak(parts_)) groups.emplace_back(-bytes, name);
    std::sort(groups.begin(), groups.end());
    Bytes all = 0;
    for (const auto& [bytes, name] : groups) all -= bytes;
    for (const auto& [bytes, name] : groups) {
      Parts trial = parts_;
      bool deeper = false;
      for (auto& [module, parts] : trial) {
        if (CutTo(module, parts) != name || module == name) continue;
        ++parts;
        deeper = true;
      }
      const bool few = GroupsAtPeak(trial).size() <= kMostModules;
      if (!deeper || (!few && -2 * bytes <= all)) continue;
      parts_ = std::move(trial);
      return true;
    }
    return false;
  }

  std::vector<Bytes>& Of(const std::string& module) {
    const auto [known, added] = cut_.try_emplace(module, nullptr);
    if (added) {
      std::vector<Bytes>& bytes = bytes_[CutTo(module, parts_.at(module))];
      bytes.resize(recorded_.step.ops.size() + 1, 0);
      known->second = &bytes;
    }
    return *known->second;
  }

  // As changes from op to op.
  void Add(const std::string& module, Bytes bytes, std::size_t first, std::size_t last) {
    std::vector<Bytes>& changes = Of(module);
    changes[first] += bytes;
    changes[last + 1] -= bytes;
  }

  void AddTensor(std::size_t t) {
    if (lives_[t].first == kNoOp) return;
    Add(*modules_[t], BufferBytes(recorded_.step.tensors[t].bytes), Index(lives_[t].first), Index(lives_[t].last));
  }

  void AddWorkspace(std::size_t op) {
    if (const Bytes bytes = WorkspaceOf(op); bytes > 0) Add(recorded_.calls[op].module, bytes, op, op);
  }

  ModuleMemory Sorted() {
    ModuleMemory memory;
    for (auto& [module, bytes] : bytes_) {
      std::partial_sum(bytes.begin(), bytes.end(), bytes.begin());
      bytes.pop_back();
      memory.rows.push_back({.module = module, .bytes = std::move(bytes)});
    }
    std::stable_sort(memory.rows.begin(), memory.rows.end(),
                     [this](const auto& a, const auto& b) { return a.bytes[Index(peak_)] > b.bytes[Index(peak_)]; });
    SumUpTheSmallest(memory.rows);
    return memory;
  }

  // Modules without bytes at the peak are among them.
  static void SumUpTheSmallest(std::vector<ModuleMemory::Row>& rows) {
    if (rows.size() <= kMostModules) return;
    ModuleMemory::Row others = std::move(rows[kMostModules - 1]);
    others.module.clear();
    others.summed = static_cast<int>(rows.size() - kMostModules) + 1;
    for (std::size_t k = kMostModules; k < rows.size(); ++k) {
      for (std::size_t op = 0; op < others.bytes.size(); ++op) others.bytes[op] += rows[k].bytes[op];
    }
    rows.resize(kMostModules - 1);
    rows.push_back(std::move(others));
  }

  const RecordedStep& recorded_;
  const OpId peak_;
  const std::vector<Life> lives_;
  const std::vector<const std::string*> modules_;
  std::map<std::string, Bytes> at_peak_;             // by module as recorded
  Parts parts_;                                      // by module as recorded: parts that its name is cut to
  std::map<std::string, std::vector<Bytes>> bytes_;  // by module as cut
  std::map<std::string, std::vector<Bytes>*> cut_;   // by module as recorded
};

}  // namespace

ModuleMemory MemoryByModule(const RecordedStep& recorded, OpId peak) { return ByModule(recorded, peak).Make(); }

}  // namespace spillway
