#include "sim/plan/plan_lines.h"

#include <fmt/format.h>

#include "model/kernels/kernel_form.h"
#include "sim/plan/plan_keys.h"

namespace spillway {

const std::vector<Node>& PlanLines::Items(MapReader& reader, std::string_view key) {
  static const std::vector<Node> kNoItems;
  const Node* list = reader.Optional(key);
  if (list == nullptr) return kNoItems;
  if (!list->IsSequence()) diagnostics_.Error(list->mark, fmt::format("{}: expected a list of decisions", key));
  return list->items;
}

std::int32_t PlanLines::Lookup(MapReader& reader, std::string_view key, const Names& names, const char* noun) {
  const std::string name = reader.RequiredString(key);
  const std::int32_t index = names.Find(name);
  if (index >= 0) return index;
  bad_ = true;
  if (!name.empty()) {  // else it has been reported
    diagnostics_.Error(reader.Optional(key)->mark,
                       fmt::format("{}: the step has no {} '{}'{}", key, noun, name, DidYouMean(name, names.all())));
  }
  return -1;
}

OpId PlanLines::Position(MapReader& reader, std::string_view key) {
  const Node* value = reader.Optional(key);
  if (value != nullptr && value->IsScalar() && value->scalar == kPlanStart) return kNoOp;
  return FindOp(reader, key);
}

OpId PlanLines::GapEnd(MapReader& reader, std::string_view key) {
  const Node* value = reader.Optional(key);
  if (value != nullptr && value->IsScalar() && value->scalar == kPlanNone) return kNoOp;
  if (value != nullptr && value->IsScalar() && value->scalar == kPlanNextStep) return kNextStep;
  return FindOp(reader, key);
}

OpId PlanLines::PositionOr(MapReader& reader, std::string_view key, OpId fallback) {
  return reader.Optional(key) == nullptr ? fallback : Position(reader, key);
}

// An op: not `start`, where nothing is there to stay.
OpId PlanLines::LeavesAfter(MapReader& reader) {
  return reader.Optional("leaves_after") == nullptr ? kNoOp : FindOp(reader, "leaves_after");
}

std::vector<TensorId> PlanLines::FindTensors(MapReader& reader, std::string_view key) {
  std::vector<TensorId> found;
  for (const std::string& name : reader.StringsOrNone(key)) {
    found.push_back(tensors_.Find(name));
    if (found.back() >= 0) continue;
    bad_ = true;
    diagnostics_.Error(reader.MarkOf(key),
                       fmt::format("{}: the step has no tensor '{}'{}", key, name, DidYouMean(name, tensors_.all())));
  }
  return found;
}

std::int32_t PlanLines::Algorithm(MapReader& reader, OpId id) {
  const std::string name = reader.StringOr("algorithm", "0");
  if (name == "0" || id < 0) return 0;
  const Op& op = step_.ops[Index(id)];
  const std::int32_t algorithm = AlgorithmByName(op.kind, op.pass, name);
  if (algorithm != 0) return algorithm;
  bad_ = true;
  const auto names = AlgorithmNames(op.kind, op.pass);
  diagnostics_.Error(reader.Optional("algorithm")->mark,
                     names.empty() ? fmt::format("algorithm: op '{}' has no choice of algorithm", op.name)
                                   : fmt::format("algorithm: op '{}' has none called '{}'{} (one of {}; or 0, the "
                                                 "library's choice)",
                                                 op.name, name, DidYouMean(name, {names.begin(), names.end()}),
                                                 fmt::join(names, ", ")));
  return 0;
}

}  // namespace spillway
