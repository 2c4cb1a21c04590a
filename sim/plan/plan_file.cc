// Plans from text: names become indices of the step's tensors and ops, mistakes are told with their lines.
#include <fmt/format.h>

#include <map>
#include <optional>

#include "model/cost/kernel_form.h"
#include "sim/plan/plan.h"
#include "sim/plan/plan_keys.h"

namespace spillway {

namespace {

// Index by name, and all names for "did you mean".
class Names {
 public:
  template <typename Items>
  explicit Names(const Items& items) {
    for (const auto& item : items) {
      index_.emplace(item.name, static_cast<std::int32_t>(all_.size()));
      all_.push_back(item.name);
    }
  }
  std::int32_t Find(const std::string& name) const {
    const auto found = index_.find(name);
    return found == index_.end() ? -1 : found->second;
  }
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::map<std::string, std::int32_t> index_;
  std::vector<std::string> all_;
};

class Reader {
 public:
  Reader(const Document& document, const TrainingStep& step)
      : document_(document), step_(step), diagnostics_(document), tensors_(step.tensors), ops_(step.ops) {}
  Plan Read();

 private:
  void ReadHead(MapReader& reader);
  Runtime ReadRuntime(const Node& node);
  void ReadGap(const Node& node);
  void ReadOp(const Node& node);
  void ReadPart(const Node& node, OpDecision& decision);
  void ReadAgain(MapReader& reader, OpDecision& decision);
  void ReadTiles(MapReader& reader, OpDecision& decision);
  void ReadStreamed(MapReader& reader, OpDecision& decision);
  SampleRange ReadSamples(MapReader& reader);
  void ReadEntry(const Node& node);
  // The items of a list of decisions; a value that is no list is reported.
  const std::vector<Node>& Items(MapReader& reader, std::string_view key);
  // The index of the name that `key` holds; a name that is not there is reported and makes the line `bad_`.
  std::int32_t Lookup(MapReader& reader, std::string_view key, const Names& names, const char* noun);
  std::int32_t Algorithm(MapReader& reader, OpId id);
  OpId Position(MapReader& reader, std::string_view key);
  OpId PositionOr(MapReader& reader, std::string_view key, OpId fallback);
  OpId LeavesAfter(MapReader& reader);
  void ReportMistakes();

  const Document& document_;
  const TrainingStep& step_;
  Diagnostics diagnostics_;
  const Names tensors_;
  const Names ops_;
  Plan plan_;
  std::vector<Mark> gap_marks_;    // by plan_.gaps
  std::vector<Mark> op_marks_;     // by plan_.ops
  std::vector<Mark> entry_marks_;  // by plan_.recompute
  bool bad_ = false;
};

Plan Reader::Read() {
  MapReader reader(document_.root, diagnostics_, "plan", PlanKeys());
  ReadHead(reader);
  if (const Node* runtime = reader.Optional("runtime")) plan_.runtime = ReadRuntime(*runtime);
  for (const Node& item : Items(reader, "gaps")) ReadGap(item);
  for (const Node& item : Items(reader, "ops")) ReadOp(item);
  for (const Node& item : Items(reader, "recompute")) ReadEntry(item);
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

const std::vector<Node>& Reader::Items(MapReader& reader, std::string_view key) {
  static const std::vector<Node> kNothing;
  const Node* list = reader.Optional(key);
  if (list == nullptr) return kNothing;
  if (!list->IsSequence()) diagnostics_.Error(list->mark, fmt::format("{}: expected a list of decisions", key));
  return list->items;
}

void Reader::ReadGap(const Node& node) {
  bad_ = false;
  MapReader reader(node, diagnostics_, "gap decision", GapKeys());
  GapDecision gap;
  gap.tensor = Lookup(reader, "tensor", tensors_, "tensor");
  if (reader.Required("action") == nullptr) bad_ = true;
  gap.action = static_cast<GapAction>(reader.ChoiceOr("action", GapActionNames(), 0));
  gap.after = Position(reader, "after");
  gap.before = Lookup(reader, "before", ops_, "op");
  const bool swap = gap.action == GapAction::kSwap;
  gap.out_after = PositionOr(reader, "out_after", swap ? gap.after : kNoOp);
  gap.in_at = PositionOr(reader, "in_at", swap ? gap.before : kNoOp);
  gap.keep_result = reader.BoolOr("keep_result", true);
  gap.keep_passed = reader.BoolOr("keep_passed", true);
  gap.leaves_after = LeavesAfter(reader);
  gap.reason = reader.StringOr("reason", "");
  gap.samples = ReadSamples(reader);
  reader.Finish();
  if (bad_) return;
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
  bad_ = true;
  reader.Check(false, "samples", "expected the first sample and the one behind the last, as in [0, 64]");
  return {};
}

void Reader::ReadOp(const Node& node) {
  bad_ = false;
  MapReader reader(node, diagnostics_, "op decision", OpDecisionKeys());
  OpDecision decision;
  decision.op = Lookup(reader, "op", ops_, "op");
  decision.algorithm = Algorithm(reader, decision.op);
  decision.workspace = reader.BytesOr("workspace", 0);
  for (const Node& part : Items(reader, "parts")) ReadPart(part, decision);
  ReadAgain(reader, decision);
  ReadTiles(reader, decision);
  ReadStreamed(reader, decision);
  reader.Finish();
  if (bad_) return;
  plan_.ops.push_back(std::move(decision));
  op_marks_.push_back(node.mark);
}

void Reader::ReadAgain(MapReader& reader, OpDecision& decision) {
  const Node* const node = reader.Optional("again");
  if (node == nullptr) return;
  MapReader again(*node, diagnostics_, "again of an op", OpAgainKeys());
  decision.again = OpAgain{.algorithm = Algorithm(again, decision.op), .workspace = again.BytesOr("workspace", 0)};
  again.Finish();
}

void Reader::ReadTiles(MapReader& reader, OpDecision& decision) {
  const Node* const node = reader.Optional("tiles");
  if (node == nullptr) return;
  MapReader tiles(*node, diagnostics_, "tiles of an op", OpTilesKeys());
  decision.tiles.in_channels = tiles.IntegerOr("in_channels", 1, 1, kAnyInteger);
  decision.tiles.out_channels = tiles.IntegerOr("out_channels", 1, 1, kAnyInteger);
  decision.tiles.rows = tiles.IntegerOr("rows", 1, 1, kAnyInteger);
  tiles.Finish();
}

void Reader::ReadStreamed(MapReader& reader, OpDecision& decision) {
  for (const std::string& name : reader.StringsOrNone("streamed")) {
    decision.streamed.push_back(tensors_.Find(name));
    if (decision.streamed.back() >= 0) continue;
    bad_ = true;
    diagnostics_.Error(reader.MarkOf("streamed"),
                       fmt::format("streamed: the step has no tensor '{}'{}", name, DidYouMean(name, tensors_.all())));
  }
  decision.depth = static_cast<int>(reader.IntegerOr("depth", kTilesDeep, 1, kMostTilesDeep));
  decision.fused = reader.BoolOr("fused", false);
}

void Reader::ReadPart(const Node& node, OpDecision& decision) {
  MapReader reader(node, diagnostics_, "part of an op", OpPartKeys());
  OpPart part;
  part.samples = reader.RequiredInteger("samples", 1, kAnyInteger);
  part.algorithm = Algorithm(reader, decision.op);
  part.workspace = reader.BytesOr("workspace", 0);
  const std::int64_t times = reader.IntegerOr("times", 1, 1, kAnyInteger);
  const bool within = times <= step_.batch - static_cast<std::int64_t>(decision.parts.size());
  reader.Check(within, "times",
               fmt::format("expected no more parts than the batch's {} samples, found {} times", step_.batch, times));
  reader.Finish();
  bad_ = bad_ || !within;
  decision.parts.insert(decision.parts.end(), bad_ ? 0 : static_cast<std::size_t>(times), part);
}

void Reader::ReadEntry(const Node& node) {
  bad_ = false;
  MapReader reader(node, diagnostics_, "entry of recompute", RecomputationKeys());
  Recomputation entry;
  entry.before = Lookup(reader, "before", ops_, "op");
  entry.run = Lookup(reader, "run", ops_, "op");
  entry.keep = reader.BoolOr("keep", true);
  entry.leaves_after = LeavesAfter(reader);
  reader.Finish();
  if (bad_) return;
  plan_.recompute.push_back(entry);
  entry_marks_.push_back(node.mark);
}

// By name; 0 = the library's choice.
std::int32_t Reader::Algorithm(MapReader& reader, OpId id) {
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

std::int32_t Reader::Lookup(MapReader& reader, std::string_view key, const Names& names, const char* noun) {
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

OpId Reader::Position(MapReader& reader, std::string_view key) {
  const Node* value = reader.Optional(key);
  if (value != nullptr && value->IsScalar() && value->scalar == kPlanStart) return kNoOp;
  return Lookup(reader, key, ops_, "op");
}

OpId Reader::PositionOr(MapReader& reader, std::string_view key, OpId fallback) {
  return reader.Optional(key) == nullptr ? fallback : Position(reader, key);
}

// An op: not `start`, where nothing is there to stay.
OpId Reader::LeavesAfter(MapReader& reader) {
  return reader.Optional("leaves_after") == nullptr ? kNoOp : Lookup(reader, "leaves_after", ops_, "op");
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

void ReadRuntimeFields(MapReader& reader, Runtime& r) {
  r.copy_streams = static_cast<int>(reader.IntegerOr("copy_streams", r.copy_streams, 1, 2));
  r.memory = static_cast<MemoryModel>(reader.ChoiceOr("memory", RuntimeWords("memory"), static_cast<int>(r.memory)));
  r.barrier = static_cast<Barrier>(reader.ChoiceOr("barrier", RuntimeWords("barrier"), static_cast<int>(r.barrier)));
  r.host_syncs =
      static_cast<HostSyncs>(reader.ChoiceOr("host_syncs", RuntimeWords("host_syncs"), static_cast<int>(r.host_syncs)));
  r.framework_time = reader.DurationOr("framework_time", r.framework_time);
  reader.Check(r.framework_time <= kMostFrameworkTime, "framework_time",
               fmt::format("expected at most 1 s per op, found {}", FormatDurationExact(r.framework_time)));
  r.copy_chunk = reader.BytesOr("copy_chunk", r.copy_chunk);
  reader.Check(
      r.copy_chunk == 0 || r.copy_chunk >= kLeastCopyChunk, "copy_chunk",
      fmt::format("expected 0 B (copies in one piece) or at least 64 KiB, found {}", FormatBytesExact(r.copy_chunk)));
  r.pool = static_cast<PoolKind>(reader.ChoiceOr("pool", RuntimeWords("pool"), static_cast<int>(r.pool)));
  reader.Check(r.pool == PoolKind::kBytes || r.memory == MemoryModel::kPool, "pool",
               "only for a runtime with memory: pool");
  r.blocking_copies = static_cast<BlockingCopies>(
      reader.ChoiceOr("blocking_copies", RuntimeWords("blocking_copies"), static_cast<int>(r.blocking_copies)));
  r.swap_in_waits = static_cast<SwapInWaits>(
      reader.ChoiceOr("swap_in_waits", RuntimeWords("swap_in_waits"), static_cast<int>(r.swap_in_waits)));
  r.collection_time = reader.DurationOr("collection_time", r.collection_time);
  reader.Check(r.collection_time <= kMostCollectionTime, "collection_time",
               fmt::format("expected at most 1 s, found {}", FormatDurationExact(r.collection_time)));
  r.backward_units = static_cast<BackwardUnits>(
      reader.ChoiceOr("backward_units", RuntimeWords("backward_units"), static_cast<int>(r.backward_units)));
  r.part_waits =
      static_cast<PartWaits>(reader.ChoiceOr("part_waits", RuntimeWords("part_waits"), static_cast<int>(r.part_waits)));
  r.workspaces = static_cast<Workspaces>(
      reader.ChoiceOr("workspaces", RuntimeWords("workspaces"), static_cast<int>(r.workspaces)));
  r.host_percent = static_cast<int>(reader.IntegerOr("host_percent", r.host_percent, 1, 100));
}

Plan LoadPlan(const std::string& path, const TrainingStep& step) {
  const Document document = LoadDocument(path);
  return Reader(document, step).Read();
}

}  // namespace spillway
