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
// Bytes that are held longer than ops read them (`held_until`): up to a forward op they are workspace of the ops in
// between, so that these may run again; up to a later op or the end that op reads them, and they are never moved.
//
// Tensors that a node needs on the device without reading them (`also`) count as read by it.
//
// A node may have another time when it runs again (`recompute_ns`), as batch norm whose statistics are known.
//
// Nodes that may not run again (Op::once):
//   - a node with `recompute: false`, one that draws random numbers which cannot be drawn again, a maker of `unseen`
//   - a node that writes a tensor which stays on the device, or writes in place and makes another tensor too
//   - a node that reads a tensor which a later forward op overwrites, or that makes two such tensors
// If a node makes one such tensor and others (batch norm with its statistics, then ReLU in place), the others stay on
// the device until their last use. TrainingStep::again_until follows: a tensor may be recomputed as long as each
// operand of its recomputation is on the device or may be recomputed too.
#ifndef SPILLWAY_MODEL_RECORDED_RECORDED_STEP_H_
#define SPILLWAY_MODEL_RECORDED_RECORDED_STEP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hw/text/document.h"
#include "hw/text/keys.h"
#include "model/cost/cost_model.h"
#include "model/profile/machine.h"
#include "model/recorded/carried_ways.h"
#include "model/step/training_step.h"

namespace spillway {

constexpr std::size_t kMostRecordedNodes = 50'000;
constexpr Bytes kMostRecordedBytes = 1'000'000 * kGB;     // of all values, results and fixed bytes together
constexpr Nanos kMostRecordedTime = 1'000'000 * kSecond;  // of all nodes together
constexpr double kMostRecordedRate = 1e15;                // of copies, bytes per second
constexpr double kMostCallTime = 1e9;                     // of the host for a call, nanoseconds
constexpr const char* kGraphFormat = "spillway-step";     // key `format` of version 2 and later
constexpr std::int64_t kGraphVersion = 2;  // the newest that is read; files without `format` are version 1

// One way to run a recorded op.
struct RecordedWay {
  std::string algorithm{};  // as the recording calls it; plans say "way1", "way2", ... (AlgorithmNames)
  Nanos time = 0;
  Bytes workspace = 0;
  Nanos recompute_time = 0;  // of a recomputation; `time`, unless the file says otherwise (Op::recompute_differs)
};

// How, on what device and on what machine a step was recorded. Texts are "", numbers 0 where the file does not say.
struct RecordedAbout {
  std::int64_t version = 1;
  std::string device_type{}, device{}, driver{}, precision = "fp32";  // "cuda", "NVIDIA A100-PCIE-40GB", ...
  std::string how{}, times{}, torch{}, python{}, date{};  // "run" or "calls"; "measured", "calls", "assumed"
  std::vector<std::string> notes{};
  Bytes memory = 0, memory_free = 0, host_memory = 0;
  double call_time = 0;     // nanoseconds of the host
  double carried_call = 0;  // nanoseconds of the host for a call under a carrier, beyond call_time; 0: not measured
  double copy_in = 0, copy_out = 0, both_in = 0, both_out = 0;  // bytes per nanosecond; `in`: to the device
  Bytes allocator_peak = 0;                                     // as the framework counted
};

// What else a recording says of a node.
struct RecordedCall {
  std::string op{}, module{};
  double flops = 0;  // of products and convolutions with known shapes, a multiply-add counts 2; 0: of no other op
  Bytes held = 0;    // of results that live on although no op reads them any more: part of each way's workspace
  Bytes element_bytes = 0;  // of an element of the tensor that it returned first; 0: the file does not say
  std::optional<std::vector<Launch>> launches{};  // what the call computes, in our kinds of ops (call_launches.h)
};

// What a tensor is for, in the words of those who train: by TensorId of the step.
enum class RecordedUse : std::uint8_t { kWeights, kGradients, kStates, kBuffers, kBatch, kSaved, kTemporaries };
constexpr std::size_t kRecordedUses = 7;
const char* RecordedUseName(RecordedUse use);  // "weights", ...

// The content of a recording file. It holds no pointers to other objects and is shared by all its users.
struct RecordedStep {
  TrainingStep step;
  std::vector<std::vector<RecordedWay>> ways;  // by op, at least one each
  Source source;                               // of the times
  double error = 0, shared_error = 0;          // of all times, as in Cost, and the part of it that they share
  std::uint64_t digest = 0;                    // digest of the file's text
  RecordedAbout about{};
  std::vector<RecordedCall> calls{};  // by op
  std::vector<RecordedUse> uses{};    // by tensor
  std::vector<OpId> makers{};         // by tensor: the op that makes it, kNoOp: it is there before the step
  bool unseen = false;  // something wrote tensors outside the recorded calls: no storage may be emptied under a reader
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
const KeyTable& GraphMadeKeys();
const KeyTable& GraphDeviceKeys();
const KeyTable& GraphMachineKeys();
const KeyTable& GraphOperandKeys();
const KeyTable& GraphVaryingKeys();

const std::vector<std::string>& GraphPassNames();         // "forward", "backward", "update": in this order a step runs
const std::vector<std::string>& GraphPlaceNames();        // "device", "host"
const std::vector<std::string>& GraphValueClassNames();   // "weight", ...
const std::vector<std::string>& GraphResultClassNames();  // "saved", ...
const std::vector<std::string>& GraphHowNames();
const std::vector<std::string>& GraphTimesNames();
const std::vector<std::string>& GraphDeviceNames();
const std::vector<std::string>& GraphPrecisionNames();

std::string RecordedDeviceName(const RecordedStep& recorded);  // "recorded-device" where the file has none

// The rates that the recording exceeds in a tenth of the time of such ops: flops and bytes per nanosecond; 0: no such op.
struct RecordedRates {
  double flops = 0, bytes = 0;
};
RecordedRates RatesOf(const RecordedStep& recorded);

// Costs of a recorded step: ops by the recording, copies and the host's part by the machine.
//
// A recorded op answers with its ways. Asked for none it takes the fastest within the workspace granted, or the one that
// wants least; where a scenario does not say how much is granted, all that it wants. On the recorded device its times are
// the file's, but for `emulate` of a scenario. Their error is the file's too, and shared_error of it is one for all ops.
// A recording does not tell by how much copies slow an op down: it runs as fast while they do. On another device ways and
// times are those of carried_ways.h.
class RecordedCosts : public CostModel {
 public:
  // The machine must outlive it. Throws UserError as CostModel does.
  RecordedCosts(const Machine& machine, const CostOptions& options, std::shared_ptr<const RecordedStep> recorded)
      : CostModel(machine, options),
        recorded_(std::move(recorded)),
        carried_(CarryWays(machine, options, *recorded_)) {}

  // Launches of other steps are the machine's.
  Cost Kernel(const Launch& launch, int device = 0) const override;
  std::vector<MenuEntry> Menu(const Launch& launch, int device = 0) const override;
  const CarriedTimes& carried() const { return carried_.times; }

 private:
  const std::vector<CarriedWay>& WaysOf(const Launch& launch) const;

  const std::shared_ptr<const RecordedStep> recorded_;
  const CarriedWays carried_;
};

}  // namespace spillway

#endif  // SPILLWAY_MODEL_RECORDED_RECORDED_STEP_H_
