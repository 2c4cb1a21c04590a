// A training step that some framework ran and somebody wrote down: ops in the order in which they ran, what each read and
// made, how long it took. Spillway knows nothing of what such an op computes, so that any network can be planned that can be
// recorded: transformers, 3-D networks, what is not modelled yet.
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
// What becomes of it is a TrainingStep like any other: strategies, bounds, engines and verify see ops of kind kRecorded.
//   - A result is a tensor, unless it is an alias (another name for what it is made from) or made in place (a further
//     writer of the same tensor). What backward reads of forward is a feature map.
//   - `values` on the host are the step's inputs; those on the device, and fixed_bytes, stay there throughout, as parameters
//     do.
//   - Each op is a layer of its own unless the file says otherwise: what is recomputed is recomputed right before its use.
//   - Ops run whole: there are no samples to divide, and no device can run them.
//
// What may not run again (Op::once): a node with `recompute: false`; one that writes what stays on the device, or in place
// beside something else; one that reads what a later forward op overwrites, or makes two such tensors. Of one such tensor and
// others (batch norm, its statistics, then ReLU in place) the others stay on the device until their last use.
// TrainingStep::again_until follows: a tensor may be computed again as long as all that this takes is there, or may itself be
// computed again.
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

// What was read from a file. Nothing in it points elsewhere; shared by all that refers to it.
struct RecordedStep {
  TrainingStep step;
  std::vector<std::vector<RecordedWay>> ways;  // by op, at least one each
  Source source;                               // of the times
  double error = 0, shared_error = 0;          // as in Cost: of all of them; the part that they share
  std::uint64_t digest = 0;                    // of the file's text
};

// Throws UserError with every mistake in the file: what is no JSON or YAML, unknown keys, ids that come twice, deps that
// are unknown, made later (a cycle is one) or overwritten, times that are missing or negative, sizes and numbers of nodes
// beyond the limits above, passes out of order. Seconds at most, whatever the file.
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
