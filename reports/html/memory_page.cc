#include "reports/html/memory_page.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/recorded/lives.h"
#include "model/recorded/module_memory.h"
#include "reports/html/page.h"

namespace spillway {

namespace {

using MemoryObject = nlohmann::ordered_json;
constexpr std::size_t kLargestTensors = 5;
constexpr int kMemoryVersion = 1;

// All calls of a short step; of a long one the call with the most bytes in each of so many stretches.
std::vector<OpId> ShownCalls(const std::vector<Bytes>& bytes) {
  std::vector<OpId> shown;
  const std::size_t calls = bytes.size(), stretches = std::min(calls, kMostShownCalls);
  for (std::size_t k = 0; k < stretches; ++k) {
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(k * calls / stretches);
    const auto end = bytes.begin() + static_cast<std::ptrdiff_t>((k + 1) * calls / stretches);
    shown.push_back(static_cast<OpId>(std::max_element(begin, end) - bytes.begin()));
  }
  return shown;
}

MemoryObject RowObjects(const ModuleMemory& memory, OpId peak, const std::vector<OpId>& shown) {
  MemoryObject rows = MemoryObject::array();
  for (const ModuleMemory::Row& row : memory.rows) {
    MemoryObject bytes = MemoryObject::array();
    for (const OpId op : shown) bytes.push_back(row.bytes[Index(op)]);
    rows.push_back({{"module", row.module},
                    {"summed", row.summed},
                    {"peak_bytes", row.bytes[Index(peak)]},
                    {"bytes", std::move(bytes)}});
  }
  return rows;
}

MemoryObject LargestObjects(const RecordedStep& recorded, OpId peak) {
  const Present present = PresentAt(recorded, peak);
  const std::vector<Life> lives = LivesOf(recorded.step);
  MemoryObject largest = MemoryObject::array();
  for (std::size_t k = 0; k < std::min(kLargestTensors, present.tensors.size()); ++k) {
    const std::size_t t = Index(present.tensors[k]);
    const OpId maker = recorded.makers[t];
    const bool made = maker != kNoOp;
    largest.push_back({{"tensor", recorded.step.tensors[t].name},
                       {"bytes", recorded.step.tensors[t].bytes},
                       {"class", RecordedUseName(recorded.uses[t])},
                       {"module", made ? recorded.calls[Index(maker)].module : ""},
                       {"made_by", made ? recorded.step.ops[Index(maker)].name : ""},
                       {"first", lives[t].first},
                       {"last", lives[t].last}});
  }
  return largest;
}

}  // namespace

std::string MemoryJson(const RecordedStep& recorded, Bytes limit) {
  const Footprint footprint = FootprintOf(recorded);
  const std::vector<OpId> shown = ShownCalls(footprint.in_core);
  MemoryObject names = MemoryObject::array();
  for (const OpId op : shown) names.push_back(recorded.step.ops[Index(op)].name);
  const MemoryObject document = {{"format", "spillway-memory"},
                                 {"version", kMemoryVersion},
                                 {"network", recorded.step.network},
                                 {"batch", recorded.step.batch},
                                 {"device", recorded.about.device},
                                 {"calls", recorded.step.ops.size()},
                                 {"first_backward", recorded.step.first_backward},
                                 {"first_update", recorded.step.first_update},
                                 {"limit_bytes", limit > 0 ? MemoryObject(limit) : MemoryObject(nullptr)},
                                 {"peak",
                                  {{"call", footprint.peak},
                                   {"name", recorded.step.ops[Index(footprint.peak)].name},
                                   {"module", recorded.calls[Index(footprint.peak)].module},
                                   {"bytes", footprint.PeakBytes()}}},
                                 {"at", shown},
                                 {"names", std::move(names)},
                                 {"rows", RowObjects(MemoryByModule(recorded, footprint.peak), footprint.peak, shown)},
                                 {"largest", LargestObjects(recorded, footprint.peak)}};
  return document.dump(-1, ' ', false, MemoryObject::error_handler_t::replace);
}

std::string MemoryPage(const RecordedStep& recorded, Bytes limit) {
  return PageOf({{"memory.json", MemoryJson(recorded, limit)}});
}

}  // namespace spillway
