#include "reports/dump/dump_json.h"
#include "sim/plan/plan_keys.h"

namespace spillway {

namespace {

// "start" is before the first op, as in plan files.
DumpObject OpName(const TrainingStep& step, OpId op) {
  return op == kNoOp ? DumpObject("start") : DumpObject(step.ops[Index(op)].name);
}

// Every key of a plan file's runtime, in its order (cli_dump_test).
DumpObject RuntimeObject(const Runtime& r) {
  return {{"copy_streams", r.copy_streams},
          {"memory", RuntimeWord(r, "memory")},
          {"barrier", RuntimeWord(r, "barrier")},
          {"host_syncs", RuntimeWord(r, "host_syncs")},
          {"framework_time_ns", r.framework_time},
          {"copy_chunk_bytes", r.copy_chunk},
          {"pool", RuntimeWord(r, "pool")},
          {"blocking_copies", RuntimeWord(r, "blocking_copies")},
          {"swap_in_waits", RuntimeWord(r, "swap_in_waits")},
          {"collection_time_ns", r.collection_time},
          {"backward_units", RuntimeWord(r, "backward_units")},
          {"part_waits", RuntimeWord(r, "part_waits")},
          {"workspaces", RuntimeWord(r, "workspaces")},
          {"host_percent", r.host_percent},
          {"gaps", RuntimeWord(r, "gaps")}};
}

// Of what stays for a while.
void AddLeaves(OpId leaves_after, const TrainingStep& step, DumpObject& object) {
  if (leaves_after == kNoOp) return;
  object["leaves_after"] = OpName(step, leaves_after);
  object["leaves_after_id"] = leaves_after;
}

DumpObject EndName(const GapDecision& gap, const TrainingStep& step) {
  if (gap.EndsInNextStep()) return kPlanNextStep;
  return gap.IsOpen() ? DumpObject(kPlanNone) : OpName(step, gap.before);
}

DumpObject GapObject(const GapDecision& gap, const TrainingStep& step) {
  const bool swap = gap.action == GapAction::kSwap;
  DumpObject object = {{"tensor", step.tensors[Index(gap.tensor)].name},
                       {"tensor_id", gap.tensor},
                       {"action", GapActionNames()[static_cast<std::size_t>(gap.action)]},
                       {"after", OpName(step, gap.after)},
                       {"after_id", gap.after},
                       {"before", EndName(gap, step)},
                       {"before_id", gap.before}};
  if (swap) {
    object["out_after"] = OpName(step, gap.out_after);
    object["out_after_id"] = gap.out_after;
    object["in_at"] = OpName(step, gap.in_at);
    object["in_at_id"] = gap.in_at;
  } else {
    object["keep_result"] = gap.keep_result;
    object["keep_passed"] = gap.keep_passed;
  }
  AddLeaves(gap.leaves_after, step, object);
  if (!gap.samples.IsWhole()) object["samples"] = {gap.samples.begin, gap.samples.end};
  object["reason"] = gap.reason;
  return object;
}

// `again`, `parts`, `tiles`, and `streamed` with its `depth`, only where there are any.
DumpObject DecisionObject(const OpDecision& decision, const TrainingStep& step) {
  const Op& op = step.ops[Index(decision.op)];
  DumpObject object = {{"op", op.name},
                       {"op_id", decision.op},
                       {"algorithm", AlgorithmObject(op.kind, op.pass, decision.algorithm)},
                       {"workspace_bytes", decision.workspace}};
  DumpObject ways = DumpObject::array();
  for (const OpAgain& way : decision.again) {
    ways.push_back(
        {{"algorithm", AlgorithmObject(op.kind, op.pass, way.algorithm)}, {"workspace_bytes", way.workspace}});
  }
  if (!ways.empty()) object["again"] = ways.size() == 1 ? ways.front() : ways;
  for (const OpPart& part : decision.parts) {
    object["parts"].push_back({{"samples", part.samples},
                               {"algorithm", AlgorithmObject(op.kind, op.pass, part.algorithm)},
                               {"workspace_bytes", part.workspace}});
  }
  if (decision.tiles.Any()) {
    object["tiles"] = {{"in_channels", decision.tiles.in_channels},
                       {"out_channels", decision.tiles.out_channels},
                       {"rows", decision.tiles.rows}};
  }
  for (const TensorId tensor : decision.streamed) {
    object["streamed"].push_back({{"tensor", step.tensors[Index(tensor)].name}, {"tensor_id", tensor}});
  }
  if (!decision.streamed.empty()) object["depth"] = decision.depth;
  return object;
}

}  // namespace

std::string PlanJson(const Plan& plan, const TrainingStep& step) {
  DumpObject document = DumpHead("plan", plan.network, plan.batch, plan.machine);
  document["strategy"] = plan.strategy;
  document["accumulate"] = plan.accumulate;
  document["capacity_bytes"] = plan.capacity;
  document["search"] = plan.search;
  document["evaluations"] = plan.evaluations;
  document["runtime"] = RuntimeObject(plan.runtime);
  DumpObject& gaps = document["gaps"] = DumpObject::array();
  for (const GapDecision& gap : plan.gaps) gaps.push_back(GapObject(gap, step));
  DumpObject& ops = document["ops"] = DumpObject::array();
  for (const OpDecision& decision : plan.ops) ops.push_back(DecisionObject(decision, step));
  DumpObject& entries = document["recompute"] = DumpObject::array();
  for (const Recomputation& entry : plan.recompute) {
    entries.push_back({{"before", OpName(step, entry.before)},
                       {"before_id", entry.before},
                       {"run", OpName(step, entry.run)},
                       {"run_id", entry.run},
                       {"keep", entry.keep}});
    AddLeaves(entry.leaves_after, step, entries.back());
  }
  return DumpText(document);
}

}  // namespace spillway
