#include "sim/synchronise.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace spillway {

namespace {

constexpr std::uint32_t kNone = 0xffffffffu;
constexpr std::size_t kMaxStreams = 16;
// How many items of each stream are known to be done.
using Clock = std::array<std::uint32_t, kMaxStreams>;

class Synchroniser {
 public:
  Synchroniser(const Skeleton& skeleton, Program& program)
      : items_(skeleton.items), program_(program), streams_(program.streams.size()) {
    assert(streams_ <= kMaxStreams);
    done_.resize(items_.size() * streams_);
    position_.resize(items_.size());
    event_.assign(items_.size(), kNone);
  }

  void Run(const std::vector<Dependency>& dependencies) {
    waits_.reserve(dependencies.size());
    std::size_t next = 0;
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      const std::size_t first = next;
      while (next < dependencies.size() && dependencies[next].after == i) ++next;
      Visit(i, dependencies.data() + first, dependencies.data() + next);
    }
    Write();
  }

 private:
  void Visit(std::uint32_t i, const Dependency* first, const Dependency* last) {
    const Instruction& item = items_[i];
    if (item.opcode == Opcode::kHostSync) {
      event_[item.arg] = 0;  // numbered in Write()
      Merge(host_, item.arg);
      return;
    }
    Clock& clock = clock_[item.stream];
    for (std::size_t s = 0; s < streams_; ++s) clock[s] = std::max(clock[s], host_[s]);
    while (const Dependency* strongest = Strongest(clock, first, last)) {
      waits_.push_back(*strongest);
      event_[strongest->before] = 0;
      Merge(clock, strongest->before);
    }
    position_[i] = ++count_[item.stream];
    clock[item.stream] = position_[i];
    std::copy_n(clock.begin(), streams_, done_.begin() + static_cast<std::ptrdiff_t>(i * streams_));
  }

  // Of the dependencies that `clock` does not imply, one that no other of them implies.
  const Dependency* Strongest(const Clock& clock, const Dependency* first, const Dependency* last) const {
    const Dependency* best = nullptr;
    for (const Dependency* d = first; d != last; ++d) {
      if (Known(clock.data(), d->before)) continue;
      if (best == nullptr || Known(&done_[d->before * streams_], best->before)) best = d;
    }
    return best;
  }

  bool Known(const std::uint32_t* clock, std::uint32_t item) const {
    return clock[items_[item].stream] >= position_[item];
  }

  void Merge(Clock& clock, std::uint32_t item) const {
    for (std::size_t s = 0; s < streams_; ++s) clock[s] = std::max(clock[s], done_[item * streams_ + s]);
  }

  void Write() {
    std::vector<Instruction>& code = program_.code;
    code.clear();
    code.reserve(items_.size() + 2 * waits_.size() + 64);
    std::uint32_t events = 0;
    std::size_t next = 0;
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      const Instruction& item = items_[i];
      for (; next < waits_.size() && waits_[next].after == i; ++next) {
        code.push_back({Opcode::kWait, item.stream, waits_[next].cause, 0, event_[waits_[next].before]});
      }
      code.push_back(item);
      if (item.opcode == Opcode::kHostSync) {
        code.back().arg = event_[item.arg];
      } else if (event_[i] != kNone) {
        event_[i] = events++;
        code.push_back({Opcode::kRecord, item.stream, Cause::kNone, 0, event_[i]});
      }
    }
    program_.events = events;
  }

  const std::vector<Instruction>& items_;
  Program& program_;
  std::size_t streams_;
  std::array<Clock, kMaxStreams> clock_{};  // by stream
  Clock host_{};
  Clock count_{};
  std::vector<std::uint32_t> done_;      // items x streams: what is done when the item is
  std::vector<std::uint32_t> position_;  // of the item on its stream, from 1
  std::vector<std::uint32_t> event_;     // kNone: nobody waits for the item
  std::vector<Dependency> waits_;
};

}  // namespace

void Synchronise(const Skeleton& skeleton, Program& program) {
  Synchroniser(skeleton, program).Run(skeleton.dependencies);
}

Skeleton Strip(const Program& program) {
  Skeleton skeleton;
  skeleton.items.reserve(program.code.size());
  std::vector<std::uint32_t> recorded(program.events, kNone);
  std::array<std::uint32_t, kMaxStreams> last;
  last.fill(kNone);
  std::vector<std::pair<std::uint32_t, Cause>> waiting[kMaxStreams];
  for (const Instruction& in : program.code) {
    if (in.opcode == Opcode::kRecord) {
      recorded[in.arg] = last[in.stream];
    } else if (in.opcode == Opcode::kWait) {
      waiting[in.stream].push_back({recorded[in.arg], in.cause});
    } else {
      const auto item = static_cast<std::uint32_t>(skeleton.items.size());
      skeleton.items.push_back(in);
      if (in.opcode == Opcode::kHostSync) {
        skeleton.items.back().arg = recorded[in.arg];
        continue;
      }
      for (const auto& [before, cause] : waiting[in.stream]) {
        if (before != kNone) skeleton.dependencies.push_back({before, item, cause});
      }
      waiting[in.stream].clear();
      last[in.stream] = item;
    }
  }
  return skeleton;
}

}  // namespace spillway
