// Plans from text: names become indices of the step's tensors and ops, mistakes are told with their lines.
#include <fmt/format.h>

#include <optional>

#include "sim/plan/plan.h"
#include "sim/plan/plan_keys.h"
#include "sim/plan/plan_lines.h"

namespace spillway {

namespace {

class Reader {
 public:
  Reader(const Document& document, const TrainingStep& step)
      : document_(document), step_(step), diagnostics_(document), lines_(step, diagnostics_) {}
  Plan Read();

 private:
  void ReadHead(MapReader& reader);
  Runtime ReadRuntime(const Node& node);
  void ReadGap(const Node& node);
  void ReadOp(const Node& node);
  SampleRange ReadSamples(MapReader& reader);
  void ReadEntry(const Node& node);
  void ReportMistakes();

  const Document& document_;
  const TrainingStep& step_;
  Diagnostics diagnostics_;
  PlanLines lines_;
  Plan plan_;
  std::vector<Mark> gap_marks_;    // by plan_.gaps
  std::vector<Mark> op_marks_;     // by plan_.ops
  std::vector<Mark> entry_marks_;  // by plan_.recompute
};

Plan Reader::Read() {
  MapReader reader(document_.root, diagnostics_, "plan", PlanKeys());
  ReadHead(reader);
  if (const Node* runtime = reader.Optional("runtime")) plan_.runtime = ReadRuntime(*runtime);
  for (const Node& item : lines_.Items(reader, "gaps")) ReadGap(item);
  for (const Node& item : lines_.Items(reader, "ops")) ReadOp(item);
  for (const Node& item : lines_.Items(reader, "recompute")) ReadEntry(item);
  reader.Finish();
  ReportMistakes();
  diagnostics_.ThrowIfAny();
  return std::move(plan_);
}

void Reader::ReadHead(MapReader& reader) {
  plan_.strategy = reader.StringOr("strategy", "");
  plan_.network = reader.RequiredString("network");
  if (!plan_.network.empty() && plan_.network != step_.network) {
    diagnostics_.Error(reader.Optional("network")->mark,
                       fmt::format("network: the plan is for '{}', not for '{}'", plan_.network, step_.network));
  }
  plan_.batch = reader.RequiredInteger("batch", 1, kAnyInteger);
  const Node* batch = reader.Optional("batch");
  if (batch != nullptr && plan_.batch != step_.batch && ParseInteger(batch->scalar)) {
    diagnostics_.Error(batch->mark, fmt::format("batch: the plan is for {}, not for {}", plan_.batch, step_.batch));
  }
  plan_.accumulate = reader.IntegerOr("accumulate", 1, 1, kAnyInteger);
  if (plan_.accumulate != step_.parts && plan_.batch == step_.batch) {
    if (const Node* accumulate = reader.Optional("accumulate")) {
      diagnostics_.Error(accumulate->mark, fmt::format("accumulate: the plan is for the batch in {}, not in {}",
                                                       plan_.accumulate, step_.parts));
    }
  }
  plan_.machine = reader.StringOr("machine", "");
  plan_.capacity = reader.BytesOr("capacity", 0);
  plan_.search = reader.StringOr("search", "");
  plan_.evaluations = reader.IntegerOr("evaluations", 0, 0, kAnyInteger);
}

Runtime Reader::ReadRuntime(const Node& node) {
  MapReader reader(node, diagnostics_, "runtime", RuntimeKeys());
  Runtime runtime;
  ReadRuntimeFields(reader, runtime);
  reader.Finish();
  return runtime;
}

void Reader::ReadGap(const Node& node) {
  lines_.BeginLine();
  MapReader reader(node, diagnostics_, "gap decision", GapKeys());
  GapDecision gap;
  gap.tensor = lines_.FindTensor(reader, "tensor");
  if (reader.Required("action") == nullptr) lines_.MakeBad();
  // Whoever edits a plan writes so of a map that is to stay, which is the same as no gap.
  const Node* const action = node.Find("action");
  const bool keeps = action != nullptr && action->scalar == "keep";
  if (!keeps) gap.action = static_cast<GapAction>(reader.ChoiceOr("action", GapActionNames(), 0));
  gap.after = lines_.Position(reader, "after");
  gap.before = lines_.GapEnd(reader, "before");
  const bool swap = gap.action == GapAction::kSwap;
  gap.out_after = lines_.PositionOr(reader, "out_after", swap ? gap.after : kNoOp);
  const bool known = gap.tensor != kNoTensor;
  const OpId end = gap.EndsInNextStep() && known ? FirstUse(step_, gap.tensor) : gap.before;
  gap.in_at = lines_.PositionOr(reader, "in_at", swap ? end : kNoOp);
  gap.keep_result = reader.BoolOr("keep_result", true);
  gap.keep_passed = reader.BoolOr("keep_passed", true);
  gap.leaves_after = lines_.LeavesAfter(reader);
  gap.reason = reader.StringOr("reason", "");
  gap.samples = ReadSamples(reader);
  reader.Finish();
  if (lines_.bad() || keeps) return;
  plan_.gaps.push_back(std::move(gap));
  gap_marks_.push_back(node.mark);
}

// "[64, 128]"
SampleRange Reader::ReadSamples(MapReader& reader) {
  const Node* const list = reader.Optional("samples");
  if (list == nullptr) return {};
  std::vector<std::int64_t> numbers;
  for (const Node& item : list->items) {
    const std::optional<std::int64_t> number = item.IsScalar() ? ParseInteger(item.scalar) : std::nullopt;
    if (number) numbers.push_back(*number);
  }
  const bool two = list->IsSequence() && list->items.size() == 2 && numbers.size() == 2;
  if (two && numbers[0] >= 0 && numbers[0] < numbers[1]) return {numbers[0], numbers[1]};
  lines_.MakeBad();
  reader.Check(false, "samples", "expected the first sample and the one behind the last, as in [0, 64]");
  return {};
}

void Reader::ReadOp(const Node& node) {
  lines_.BeginLine();
  OpDecision decision = ReadOpDecision(node, step_, lines_, diagnostics_);
  if (lines_.bad()) return;
  plan_.ops.push_back(std::move(decision));
  op_marks_.push_back(node.mark);
}

void Reader::ReadEntry(const Node& node) {
  lines_.BeginLine();
  MapReader reader(node, diagnostics_, "entry of recompute", RecomputationKeys());
  Recomputation entry;
  entry.before = lines_.FindOp(reader, "before");
  entry.run = lines_.FindOp(reader, "run");
  entry.keep = reader.BoolOr("keep", true);
  entry.leaves_after = lines_.LeavesAfter(reader);
  reader.Finish();
  if (lines_.bad()) return;
  plan_.recompute.push_back(entry);
  entry_marks_.push_back(node.mark);
}

// Network and batch have been compared where they stand; what is left belongs to a line of the file.
void Reader::ReportMistakes() {
  for (const PlanMistake& mistake : FindMistakes(plan_, step_)) {
    if (mistake.where == PlanMistake::Where::kGap) diagnostics_.Error(gap_marks_[mistake.index], mistake.message);
    if (mistake.where == PlanMistake::Where::kOp) diagnostics_.Error(op_marks_[mistake.index], mistake.message);
    if (mistake.where == PlanMistake::Where::kRecomputation) {
      diagnostics_.Error(entry_marks_[mistake.index], mistake.message);
    }
  }
}

}  // namespace

Plan ParsePlan(const std::string& text, const std::string& file, const TrainingStep& step) {
  const Document document = ParseDocument(text, file);
  return Reader(document, step).Read();
}

Plan LoadPlan(const std::string& path, const TrainingStep& step) {
  const Document document = LoadDocument(path);
  return Reader(document, step).Read();
}

}  // namespace spillway
