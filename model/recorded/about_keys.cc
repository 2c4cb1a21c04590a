// Keys of a recording that say how, where and of what it was made.
#include "hw/text/keys.h"
#include "model/recorded/recorded_graph.h"
#include "model/recorded/recorded_step.h"

namespace spillway {

namespace {

std::string BytesValue() { return WholeNumberFrom(0, kMostRecordedBytes); }
std::string RateValue() { return NumberFrom(0, kMostRecordedRate); }
constexpr const char* kNotKnown = "not known";

}  // namespace

const std::vector<std::string>& GraphHowNames() {
  static const std::vector<std::string> kNames = {"run", "calls"};
  return kNames;
}

const std::vector<std::string>& GraphTimesNames() {
  static const std::vector<std::string> kNames = {"measured", "calls", "assumed"};
  return kNames;
}

const std::vector<std::string>& GraphDeviceNames() {
  static const std::vector<std::string> kNames = {"cpu", "cuda"};
  return kNames;
}

const std::vector<std::string>& GraphPrecisionNames() {
  static const std::vector<std::string> kNames = {"fp32", "tf32", "fp16", "bf16", "amp-fp16", "amp-bf16"};
  return kNames;
}

const KeyTable& GraphMadeKeys() {
  static const KeyTable kTable{
      .title = "how a recording was made",
      .keys = {{"how", OneOf(GraphHowNames()), "run", "run: a step ran; calls: a step was listed without memory"},
               {"times", OneOf(GraphTimesNames()), "measured",
                "measured: in the step; calls: each distinct call alone; assumed: no call was timed"},
               {"steps", WholeNumberFrom(0, 1'000'000), kNotKnown, "number of steps that ran"},
               {"torch", kAnyText, kNotKnown, "version of PyTorch"},
               {"python", kAnyText, kNotKnown, "version of Python"},
               {"date", kAnyText, kNotKnown, "when it was made"},
               {"notes", "a list of texts", "none", "for readers"}}};
  return kTable;
}

const KeyTable& GraphDeviceKeys() {
  static const KeyTable kTable{
      .title = "device of a recording",
      .keys = {{"type", OneOf(GraphDeviceNames()), kRequiredKey.data(), "cpu: a processor; cuda: a GPU"},
               {"name", kAnyText, kNotKnown, "as the driver calls it, such as NVIDIA A100-PCIE-40GB"},
               {"driver", kAnyText, kNotKnown, "version of the driver"},
               {"precision", OneOf(GraphPrecisionNames()), "fp32", "in which products are computed"}},
      .note = "On another device the times are scaled and marked as assumed."};
  return kTable;
}

const KeyTable& GraphMachineKeys() {
  static const KeyTable kTable{
      .title = "machine of a recording",
      .keys = {
          {"memory_bytes", BytesValue(), kNotKnown, "memory of the device"},
          {"memory_free_bytes", BytesValue(), kNotKnown, "the part that was free"},
          {"host_memory_bytes", BytesValue(), kNotKnown, "memory of the host"},
          {"call_ns", NumberFrom(0, kMostCallTime), kNotKnown, "the host's time for a call, in nanoseconds"},
          {"carried_call_ns", NumberFrom(0, kMostCallTime), kNotKnown,
           "the host's time for a call under a carrier, beyond call_ns (measure_carrier of spillway_torch.py)"},
          {"copy_in_bytes_per_s", RateValue(), kNotKnown, "rate of copies from pinned memory to the device, alone"},
          {"copy_out_bytes_per_s", RateValue(), kNotKnown, "rate of copies to pinned memory, alone"},
          {"both_in_bytes_per_s", RateValue(), "as alone", "the first while copies run in both directions"},
          {"both_out_bytes_per_s", RateValue(), "as alone", "the second while copies run in both directions"}}};
  return kTable;
}

const KeyTable& GraphOperandKeys() {
  static const KeyTable kTable{.title = "shape of an operand",
                               .keys = {{"shape", "a list of whole numbers", kRequiredKey.data(), "its sizes"},
                                        {"stride", "a list of whole numbers", "contiguous", "its strides, in elements"},
                                        {"type", kAnyText, kNotKnown, "of its elements, such as float32"}}};
  return kTable;
}

const KeyTable& GraphVaryingKeys() {
  static const KeyTable kTable{
      .title = "argument that varies",
      .keys = {{"node", kAnyText, kRequiredKey.data(), "id of the node"},
               {"argument", WholeNumberFrom(0, 1000), kRequiredKey.data(), "place of the argument, from 0"},
               {"values", "a list", "none", "its values in the steps that ran"}}};
  return kTable;
}

}  // namespace spillway
