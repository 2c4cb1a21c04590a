// A recorded training step: the ops that a framework ran, in order, each with the tensors that it read and made, and
// its time. Spillway does not know what such an op computes. So it can plan any network that can be recorded:
// transformers, 3-D networks, and networks that are not modelled yet.
//
//   {"graph": "two layers", "samples": 8, "source": {"measured": "where, when, how"}, "error": 0.05, "fixed_bytes": 4096,
//    "values": [{"id": "x", "bytes": 1000, "where": "host"}],
//    "nodes": [
//      {"id": "a", "op": "linear", "ns": 5000, "deps": ["x"], "results": [{"id": "a.y", "bytes": 2000}]},
//      {"id": "relu", "op": "relu_", "ns": 100, "deps": ["a.y"], "results": [{"id": "relu.y", "in_place": "a.y"}]},
//      {"id": "a:back", "op": "linear backward", "pass": "backward", "ns": 9000, "deps": ["x", "relu.y"]}]}
//
// The format, for those who write a recorder: model/recorded/README.md; every key: `spillway help graph`. JSON is read as
// the YAML that it is, through hw/text/document.h: mistakes are UserErrors with their places, all of a file at once.
//
// The recording becomes a TrainingStep like any other: strategies, bounds, engines and verify see ops of kind
// kRecorded.
//   - A result is a tensor, unless it is an alias (another name for what it is made from) or made in place (a further
//     writer of the same tensor). What backward reads of forward is a feature map.
//   - `values` on the host are the step's inputs; those on the device, and fixed_bytes, stay there throughout, as parameters
//     do.
//   - Each op is a layer of its own unless the file says otherwise: what is recomputed is recomputed right before its use.
//   - Ops run whole: there are no samples to divide, and no device can run them.
//
// Nodes that may not run again (Op::once):
//   - a node with `recompute: false`
//   - a node that writes a tensor which stays on the device, or writes in place and makes another tensor too
//   - a node that reads a tensor which a later forward op overwrites, or that makes two such tensors
// If a node makes one such tensor and others (batch norm with its statistics, then ReLU in place), the others stay on
// the device until their last use. TrainingStep::again_until follows: a tensor may be recomputed as long as each
// operand of its recomputation is on the device or may be recomputed too.
#ifndef SPILLWAY_MODEL_RECORDED_RECORDED_STEP_H_
#define SPILLWAY_MODEL_RECORDED_RECORDED_STEP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hw/text/document.h"
#include "hw/text/keys.h"
#include "model/cost/cost_model.h"
#include "model/profile/machine.h"
#include "model/step/training_step.h"

namespace spillway {

constexpr std::size_t kMostRecordedNodes = 20'000;
constexpr Bytes kMostRecordedBytes = 1'000'000 * kGB;     // of all values, results and fixed bytes together
constexpr Nanos kMostRecordedTime = 1'000'000 * kSecond;  // of all nodes together

// One way to run a recorded op.
struct RecordedWay {
  std::string algorithm{};  // as the recording calls it; plans say "way1", "way2", ... (AlgorithmNames)
  Nanos time = 0;
  Bytes workspace = 0;
};

// The content of a recording file. It holds no pointers to other objects and is shared by all its users.
struct RecordedStep {
  TrainingStep step;
  std::vector<std::vector<RecordedWay>> ways;  // by op, at least one each
  Source source;                               // of the times
  double error = 0, shared_error = 0;          // of all times, as in Cost, and the part of it that they share
  std::uint64_t digest = 0;                    // digest of the file's text
};

// Throws UserError with every mistake in the file: text that is no JSON or YAML, unknown keys, ids that come twice,
// deps that are unknown, made later (cycles included) or overwritten, times that are missing or negative, sizes and
// numbers of nodes beyond the limits above, passes out of order. Takes seconds at most for any file.
std::shared_ptr<const RecordedStep> LoadRecordedStep(const std::string& path);
std::shared_ptr<const RecordedStep> ReadRecordedStep(const Document& document);

// The keys of the file: `spillway help graph` prints them.
const KeyTable& GraphKeys();
const KeyTable& GraphValueKeys();
const KeyTable& GraphNodeKeys();
const KeyTable& GraphWayKeys();
const KeyTable& GraphResultKeys();

const std::vector<std::string>& GraphPassNames();   // "forward", "backward", "update": in this order a step runs
const std::vector<std::string>& GraphPlaceNames();  // "device", "host"

// Costs of a recorded step: ops by the recording, copies and the host's part by the machine.
//
// A recorded op answers with its ways. Asked for none it takes the fastest within the workspace granted, or the one that
// wants least; where a scenario does not say how much is granted, all that it wants. Its times are the file's, whatever
// the machine computes, but for `emulate` of a scenario. Their error is the file's too, and shared_error of it is one for
// all ops. A recording does not tell by how much copies slow an op down: it runs as fast while they do.
class RecordedCosts : public CostModel {
 public:
  // The machine must outlive it. Throws UserError as CostModel does.
  RecordedCosts(const Machine& machine, const CostOptions& options, std::shared_ptr<const RecordedStep> recorded)
      : CostModel(machine, options), recorded_(std::move(recorded)) {}

  // Launches of other steps are the machine's.
  Cost Kernel(const Launch& launch, int device = 0) const override;
  std::vector<MenuEntry> Menu(const Launch& launch, int device = 0) const override;

 private:
  Cost CostOf(const RecordedWay& way, std::int32_t algorithm) const;

  const std::shared_ptr<const RecordedStep> recorded_;
};

}  // namespace spillway

#endif  // SPILLWAY_MODEL_RECORDED_RECORDED_STEP_H_
