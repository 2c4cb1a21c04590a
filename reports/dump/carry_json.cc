// A carried plan as JSON, with the calls and values of its recording.
#include <fmt/format.h>

#include <algorithm>

#include "hw/text/document.h"
#include "reports/dump/carry.h"
#include "reports/dump/dump_json.h"
#include "sim/plan/carried.h"
#include "sim/program/program.h"

namespace spillway {

namespace {

// ["out", "conv1.y"], ["again", "17:relu"], ...
DumpObject ActionObject(const CarryAction& action, const TrainingStep& step) {
  const std::string& name =
      action.kind == CarryKind::kAgain ? step.ops[Index(action.op)].name : step.tensors[Index(action.tensor)].name;
  return {CarryKindName(action.kind), name};
}

DumpObject ActionObjects(const std::vector<CarryAction>& actions, const TrainingStep& step) {
  DumpObject list = DumpObject::array();
  for (const CarryAction& action : actions) list.push_back(ActionObject(action, step));
  return list;
}

// By the name of the next call, "end" after all of them; calls without actions are left out.
DumpObject BeforeObject(const Carried& carried, const TrainingStep& step) {
  DumpObject before = DumpObject::object();
  for (std::size_t k = 0; k < carried.before.size(); ++k) {
    if (carried.before[k].empty()) continue;
    before[k < step.ops.size() ? step.ops[k].name : "end"] = ActionObjects(carried.before[k], step);
  }
  return before;
}

// A list of maps of the recording, each with those of `keys` that it has.
DumpObject Kept(const DumpObject& recording, const char* list, std::initializer_list<const char*> keys) {
  DumpObject kept = DumpObject::array();
  for (const DumpObject& from : recording.value(list, DumpObject::array())) {
    DumpObject& to = kept.emplace_back(DumpObject::object());
    for (const char* key : keys) {
      if (from.contains(key)) to[key] = from[key];
    }
  }
  return kept;
}

// By call: when it ends, as predicted; calls that are run again do not count.
std::vector<Nanos> EndsOf(const Evaluation& evaluation, std::size_t ops) {
  std::vector<Nanos> ends(ops, 0);
  const Program& program = evaluation.program;
  for (const Span& span : evaluation.timeline.spans) {
    const Instruction& in = program.code[span.instruction];
    if (in.opcode != Opcode::kKernel || program.kernels[in.arg].recomputation) continue;
    ends[Index(program.kernels[in.arg].op)] = span.end;
  }
  return ends;
}

DumpObject ReadRecording(const std::string& text, std::size_t kind) {
  DumpObject recording = DumpObject::parse(text, nullptr, false);
  if (recording.is_discarded()) {
    throw UserError("the recording is YAML: expected JSON, as a recorder writes it, for a plan to be carried out");
  }
  return kind == 0 ? recording : recording["more"].at(kind - 1);
}

}  // namespace

std::string CarryJson(const Evaluation& evaluation, const Plan& plan, const TrainingStep& step,
                      const std::string& recording, std::size_t kind, const DumpedPoint& point) {
  const DumpObject recorded = ReadRecording(recording, kind);
  const bool unseen = !recorded.value("unseen", DumpObject::array()).empty();  // then only saved tensors may leave
  const CarriedGaps gaps = std::max(plan.runtime.gaps, unseen ? CarriedGaps::kSaved : CarriedGaps::kAll);
  if (const std::string why = NotCarried(gaps, plan, step); !why.empty()) {
    throw UserError(fmt::format("this plan cannot be carried out in PyTorch: {}; --runtime {} plans what can be", why,
                                unseen ? "torch-saved" : "torch"));
  }
  const Carried carried = CarriedOut(evaluation.program, step);
  DumpObject document = DumpHead("carry", point.network, step.batch, point.machine);
  document["strategy"] = plan.strategy;
  document["capacity_bytes"] = point.capacity;
  document["peak_bytes"] = evaluation.live_peak_bytes;
  document["step_time_ns"] = evaluation.step_time;
  document["host_bytes"] = carried.host_bytes;
  document["unseen"] = recorded.value("unseen", DumpObject::array());
  document["live_bytes"] = carried.live;
  document["end_ns"] = EndsOf(evaluation, step.ops.size());
  DumpObject& held = document["held"] = DumpObject::array();
  for (const TensorId t : carried.held) held.push_back(step.tensors[Index(t)].name);
  document["before"] = BeforeObject(carried, step);
  document["values"] = Kept(recorded, "values", {"id", "bytes", "class", "name", "where"});
  document["calls"] = Kept(recorded, "nodes", {"id", "op", "pass", "module", "deps", "results", "inputs"});
  return DumpText(document);
}

std::string JoinCarried(const std::vector<std::string>& kinds) {
  if (kinds.size() == 1) return kinds.front();
  DumpObject first = DumpObject::parse(kinds.front());
  for (std::size_t kind = 1; kind < kinds.size(); ++kind) first["more"].push_back(DumpObject::parse(kinds[kind]));
  return DumpText(first);
}

}  // namespace spillway
