#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reports/dump/dump_json.h"
#include "reports/tables/tables.h"
#include "reports/trace/trace.h"

namespace spillway {

namespace {

// What a plan says of a step's gaps and ops, to be looked up.
struct Decided {
  explicit Decided(const Plan& plan) {
    for (const GapDecision& gap : plan.gaps) gaps.try_emplace({gap.tensor, gap.before}, &gap);
    for (const OpDecision& decision : plan.ops) parts.try_emplace(decision.op, decision.parts.size());
  }
  const GapDecision* Gap(TensorId map, OpId before) const {  // nullptr: it says nothing
    const auto found = gaps.find({map, before});
    return found == gaps.end() ? nullptr : found->second;
  }
  std::size_t Parts(const std::vector<OpId>& writers) const {
    std::size_t most = 1;
    for (const OpId op : writers) {
      if (const auto found = parts.find(op); found != parts.end()) most = std::max(most, found->second);
    }
    return most;
  }
  std::map<std::pair<TensorId, OpId>, const GapDecision*> gaps;  // the plan's
  std::map<OpId, std::size_t> parts;
};

DumpObject MapObject(const TraceSubject& subject, const Uses& uses, const Decided& decided, TensorId map,
                     const std::optional<GapAction>& action) {
  const TrainingStep& step = *subject.step;
  const Tensor& tensor = step.tensors[Index(map)];
  const MapGap gap = ForwardBackwardGap(step, uses, map);
  const std::vector<OpId>& writers = uses.writers[Index(map)];
  const auto name = [&](OpId op) { return op == kNoOp ? std::string("start") : step.ops[Index(op)].name; };
  const GapDecision* const decision = decided.Gap(map, gap.before);
  DumpObject object = {{"name", tensor.name},
                       {"bytes", tensor.bytes},
                       {"shape", ShapeText(tensor.shape)},
                       {"class", GapClassName(action)},
                       {"reason", decision != nullptr ? decision->reason : ""},
                       {"copy_out_ns", subject.costs->Copy(tensor.bytes, Direction::kDeviceToHost).time},
                       {"copy_in_ns", subject.costs->Copy(tensor.bytes, Direction::kHostToDevice).time},
                       {"again_ns", ComputedAgain(step, uses, map, *subject.costs)},
                       {"after", name(gap.after)},
                       {"before", gap.before == kNoOp ? DumpObject(nullptr) : DumpObject(name(gap.before))},
                       {"parts", decided.Parts(writers)}};
  if (decision != nullptr && decision->leaves_after != kNoOp) object["leaves_after"] = name(decision->leaves_after);
  return object;
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
                     {"step_time_ns", row.times.step},
                     {"lower_bound_ns", row.bounds.lower}};
  if (subject.measured != nullptr) head["measured_step_ns"] = subject.measured->makespan;
  DumpObject maps = DumpObject::array();
  const Uses uses(*subject.step);
  const Decided decided(*subject.plan);
  const std::vector<std::optional<GapAction>> actions = MapActions(*subject.plan, *subject.step);
  for (std::size_t i = 0; i < actions.size(); ++i) {
    maps.push_back(MapObject(subject, uses, decided, subject.step->maps[i], actions[i]));
  }
  head["maps"] = std::move(maps);
  return DumpLine(head);
}

}  // namespace spillway
