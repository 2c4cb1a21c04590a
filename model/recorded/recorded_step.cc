#include "model/recorded/recorded_step.h"

#include <algorithm>

#include "hw/text/file_kind.h"
#include "hw/text/lists.h"
#include "model/recorded/recorded_graph.h"
#include "model/util/hash.h"

namespace spillway {

namespace {

// By tensor: who writes it and when it is read last.
struct TensorHistory {
  OpId last_forward_writer = kNoOp, last_use = kNoOp;
  OpId overwritten = 0;  // the first op behind forward that writes it; as many as there are ops: none
};

std::vector<TensorHistory> HistoriesOf(const TrainingStep& step) {
  const auto ops = static_cast<OpId>(step.ops.size());
  std::vector<TensorHistory> all(step.tensors.size(), {.overwritten = ops});
  for (OpId op = 0; op < ops; ++op) {
    for (const TensorId t : step.ops[Index(op)].reads) all[Index(t)].last_use = op;
    for (const TensorId t : step.ops[Index(op)].writes) {
      TensorHistory& history = all[Index(t)];
      history.last_use = op;
      if (step.IsForward(op)) history.last_forward_writer = op;
      if (!step.IsForward(op)) history.overwritten = std::min(history.overwritten, op);
    }
  }
  return all;
}

// Whether a forward op changes something for good when it runs, or finds what it reads changed when it runs again.
bool RunsOnce(const TrainingStep& step, const std::vector<TensorHistory>& all, OpId op) {
  const Op& o = step.ops[Index(op)];
  const bool alone = o.writes.size() == 1;
  int unfinished = 0;
  for (const TensorId t : o.writes) {
    if (step.tensors[Index(t)].Traits().resident) return true;
    if (!alone && Contains(o.reads, t)) return true;
    unfinished += all[Index(t)].last_forward_writer > op ? 1 : 0;
  }
  if (!alone && unfinished > 1) return true;
  return std::any_of(o.reads.begin(), o.reads.end(), [&](TensorId t) {
    return all[Index(t)].last_forward_writer > op && !(alone && t == o.writes.front());
  });
}

// Batch norm with its statistics, then ReLU in place: to run the first again for the sake of the statistics would spoil what
// the second has made. So they stay, and are not computed again by themselves.
void KeepBeside(TensorId unfinished, const Op& op, TrainingStep& step) {
  for (const TensorId t : op.writes) {
    if (t == unfinished) continue;
    step.tensors[Index(t)].use = TensorClass::kAuxiliary;
    step.again_until[Index(t)] = kNoOp;
    std::erase(step.maps, t);
  }
}

// Forward ops come in order, so that what an op reads is known before what it writes.
void FindWhatRunsAgain(TrainingStep& step) {
  const std::vector<TensorHistory> all = HistoriesOf(step);
  const auto ops = static_cast<OpId>(step.ops.size());
  step.again_until.assign(step.tensors.size(), ops);
  for (OpId op = 0; op < ops && step.IsForward(op); ++op) {
    Op& o = step.ops[Index(op)];
    o.once = o.once || RunsOnce(step, all, op);
    OpId until = o.once ? kNoOp : ops;
    for (const TensorId t : o.reads) {
      if (Contains(o.writes, t)) continue;
      const TensorTraits& traits = step.tensors[Index(t)].Traits();
      const bool always = traits.resident || traits.on_host;
      const OpId there = always ? ops : std::max(all[Index(t)].last_use, step.again_until[Index(t)]);
      until = std::min({until, there, all[Index(t)].overwritten});
    }
    for (const TensorId t : o.writes) until = std::min(until, all[Index(t)].overwritten);  // it would be spoilt
    for (const TensorId t : o.writes) {
      OpId& known = step.again_until[Index(t)];
      known = step.tensors[Index(t)].use == TensorClass::kAuxiliary ? kNoOp : std::min(known, until);
    }
    for (const TensorId t : o.writes) {
      if (!o.once && all[Index(t)].last_forward_writer > op) KeepBeside(t, o, step);
    }
  }
}

constexpr RecordedUse kValueUses[] = {RecordedUse::kWeights, RecordedUse::kGradients, RecordedUse::kStates,
                                      RecordedUse::kBuffers, RecordedUse::kBatch};
constexpr RecordedUse kResultUses[] = {RecordedUse::kSaved, RecordedUse::kTemporaries, RecordedUse::kGradients,
                                       RecordedUse::kStates};

// Of results whose use the file does not say. A gradient that an update reads, or that outlives backward, is a
// parameter's; others are on their way through backward.
RecordedUse UseOf(const TrainingStep& step, TensorId t, OpId maker, OpId last_use) {
  if (step.IsForward(maker)) {
    const bool saved = last_use >= step.first_backward && step.tensors[Index(t)].use != TensorClass::kTransient;
    return saved ? RecordedUse::kSaved : RecordedUse::kTemporaries;
  }
  return maker < step.first_update && last_use >= step.first_update ? RecordedUse::kGradients
                                                                    : RecordedUse::kTemporaries;
}

std::vector<RecordedUse> UsesOf(const RecordedGraph& graph, const UnrolledGraph& unrolled) {
  const TrainingStep& step = unrolled.step;
  std::vector<RecordedUse> uses(step.tensors.size(), RecordedUse::kWeights);
  const std::size_t fixed = graph.fixed_bytes > 0 ? 1 : 0;
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    const RecordedValue& value = graph.values[v];
    const RecordedUse usual = value.on_host ? RecordedUse::kBatch : RecordedUse::kWeights;
    uses[fixed + v] = value.use < 0 ? usual : kValueUses[value.use];
  }
  const std::vector<TensorHistory> all = HistoriesOf(step);
  for (std::size_t t = fixed + graph.values.size(); t < uses.size(); ++t) {
    const int said = unrolled.result_uses[t];
    uses[t] =
        said >= 0 ? kResultUses[said] : UseOf(step, static_cast<TensorId>(t), unrolled.makers[t], all[t].last_use);
  }
  return uses;
}

}  // namespace

const char* RecordedUseName(RecordedUse use) {
  constexpr const char* kNames[kRecordedUses] = {"weights", "gradients", "states",     "buffers",
                                                 "batch",   "saved",     "temporaries"};
  return kNames[static_cast<std::size_t>(use)];
}

std::shared_ptr<const RecordedStep> ReadRecordedStep(const Document& document) {
  Diagnostics diagnostics(document);
  RecordedGraph graph = ReadRecordedGraph(document.root, diagnostics);
  auto recorded = std::make_shared<RecordedStep>();
  UnrolledGraph unrolled = StepOfGraph(graph, diagnostics);
  diagnostics.ThrowIfAny();
  ApplyHolds(unrolled.holds, unrolled.step, graph.nodes);
  FindWhatRunsAgain(unrolled.step);
  recorded->uses = UsesOf(graph, unrolled);
  recorded->step = std::move(unrolled.step);
  recorded->makers = std::move(unrolled.makers);
  recorded->about = std::move(graph.about);
  for (RecordedNode& node : graph.nodes) {
    recorded->ways.push_back(std::move(node.ways));
    recorded->calls.push_back(std::move(node.call));
  }
  recorded->step.blocks = BlocksOfModules(recorded->calls);
  recorded->source = std::move(graph.source);
  recorded->unseen = !graph.unseen.empty();
  recorded->error = graph.error;
  recorded->shared_error = graph.shared_error;
  recorded->digest = Hasher().Add(document.text).Value();
  return recorded;
}

std::shared_ptr<const RecordedStep> LoadRecordedStep(const std::string& path) {
  const Document document = LoadDocument(path);
  MustBeOfKind(FileKind::kGraph, document);
  return ReadRecordedStep(document);
}

}  // namespace spillway
