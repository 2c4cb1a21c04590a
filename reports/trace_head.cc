#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "reports/dump_json.h"
#include "reports/map_words.h"
#include "reports/trace.h"

namespace spillway {

namespace {

// What the plan says about the gap, "" where it says nothing.
std::string ReasonOf(const Plan& plan, TensorId map, OpId before) {
  for (const GapDecision& gap : plan.gaps) {
    if (gap.tensor == map && gap.before == before) return gap.reason;
  }
  return "";
}

std::size_t PartsOf(const Plan& plan, const std::vector<OpId>& writers) {
  std::size_t parts = 1;
  for (const OpDecision& decision : plan.ops) {
    for (const OpId op : writers) {
      if (decision.op == op) parts = std::max(parts, decision.parts.size());
    }
  }
  return parts;
}

DumpObject MapObject(const TraceSubject& subject, const Uses& uses, TensorId map,
                     const std::optional<GapAction>& action) {
  const TrainingStep& step = *subject.step;
  const Tensor& tensor = step.tensors[Index(map)];
  const MapGap gap = ForwardBackwardGap(step, uses, map);
  const std::vector<OpId>& writers = uses.writers[Index(map)];
  const auto name = [&](OpId op) { return op == kNoOp ? std::string("start") : step.ops[Index(op)].name; };
  return {{"name", tensor.name},
          {"bytes", tensor.bytes},
          {"shape", ShapeText(tensor.shape)},
          {"class", GapClassName(action)},
          {"reason", ReasonOf(*subject.plan, map, gap.before)},
          {"copy_out_ns", subject.costs->Copy(tensor.bytes, Direction::kDeviceToHost).time},
          {"copy_in_ns", subject.costs->Copy(tensor.bytes, Direction::kHostToDevice).time},
          {"again_ns", ComputedAgain(step, uses, map, *subject.costs)},
          {"after", name(gap.after)},
          {"before", gap.before == kNoOp ? DumpObject(nullptr) : DumpObject(name(gap.before))},
          {"parts", PartsOf(*subject.plan, writers)}};
}

}  // namespace

std::string TraceHead(const TraceSubject& subject) {
  const ResultRow& row = *subject.row;
  DumpObject head = {{"format", "spillway-trace"},
                     {"version", kTraceVersion},
                     {"scenario", row.scenario},
                     {"network", row.network},
                     {"batch", row.batch},
                     {"machine", row.machine},
                     {"strategy", subject.plan->strategy},  // its row may be called by a file, which may be renamed
                     {"point", row.point},
                     {"memory_limit_bytes", row.memory_limit},
                     {"step_time_ns", row.step_time},
                     {"lower_bound_ns", row.lower_bound}};
  DumpObject maps = DumpObject::array();
  const Uses uses(*subject.step);
  const std::vector<std::optional<GapAction>> actions = MapActions(*subject.plan, *subject.step);
  for (std::size_t i = 0; i < actions.size(); ++i) {
    maps.push_back(MapObject(subject, uses, subject.step->maps[i], actions[i]));
  }
  head["maps"] = std::move(maps);
  return DumpLine(head);
}

}  // namespace spillway
