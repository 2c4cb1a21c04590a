// What a profile knows of kernels: laws, fitted models, measured launches, and what samples of them hold beside.
#include "model/profile/machine.h"
#include "model/profile/profile_text.h"

namespace spillway {

namespace {

constexpr const char* kRequired = "required";

KeyRow SlowdownRow() {
  return {"copy_slowdown", NumberFrom(1, kMostSlowdown), "1", "factor on the kernel's time while a copy runs"};
}

}  // namespace

const KeyTable& LawKeys() {
  static const KeyTable kTable{
      .title = "law",
      .keys = {OpRow("convolution, batch_norm, ..."),
               PassRow(),
               {"window", "sizes such as 3x3, or grouped", "every window",
                "height x width, with the depth in front where the window or its data have one: 3x3x3; 1x1 always is "
                "a single voxel; grouped: convolutions in groups, whatever their window"},
               {"flop_fraction", NumberFrom(0, kMostFraction), kRequired, "of the peak; 0: does not bind"},
               {"bandwidth_fraction", NumberFrom(0, kMostFraction), kRequired,
                "of the memory bandwidth; 0: does not bind"},
               {"fixed", kADuration, "0 ns", "what every launch takes"},
               {"workspace", kASize, "0 B", "scratch that the op wants"},
               ErrorRow("error", "0.3", "relative, one standard deviation"),
               SlowdownRow(),
               SourceRow()},
      .note =
          "A roofline for ops without a kernel model: fixed + the larger of arithmetic and memory. Op, pass and "
          "window are unique, and something takes time."};
  return kTable;
}

const KeyTable& CallFloorKeys() {
  static const KeyTable kTable{
      .title = "call floor",
      .keys = {{"harness", kAnyText, kRequired, "what measured the samples"},
               OpRow("convolution, linear, ..."),
               {"pass", kAnyText, "every pass", "forward, ..."},
               {"math", kAnyText, "every math mode", "fp32, ..."},
               {"added", kADuration, "0 ns", "what the harness adds to each call"},
               {"floor", kADuration, kRequired, "least that the harness measures of any call"}},
      .note = "What a harness adds to the kernels that it measured; not part of a prediction."};
  return kTable;
}

const KeyTable& StackKeys() {
  const auto factor = [](const char* name, const char* meaning) {
    return KeyRow{name, NumberFrom(1 / kMostFactor, kMostFactor), "1", meaning};
  };
  static const KeyTable kTable{
      .title = "stack",
      .keys = {{"name", kAnyText, kRequired, "of the software stack"},
               OpRow("convolution, ..."),
               PassRow(),
               {"math", kAnyText, "fp32", "fp32, tf32, ..."},
               factor("arithmetic", "how fast arithmetic is, against the stack that `models` are of"),
               factor("memory", "likewise memory"),
               factor("special", "likewise shapes for which libraries have kernels of their own")},
      .note =
          "How fast another software stack runs the kernels of one op; for samples of that stack, no part of a "
          "prediction."};
  return kTable;
}

const KeyTable& ModelWorkKeys() {
  static const KeyTable kTable{.title = "work of a model",
                               .keys = {{"least", NumberFrom(0, kMostWork), kRequired, "of the smallest sample"},
                                        {"most", NumberFrom(0, kMostWork), kRequired, "of the largest"}},
                               .note = "Range of the samples in flops, or bytes where there are next to no flops."};
  return kTable;
}

const KeyTable& KernelModelKeys() {
  static const KeyTable kTable{
      .title = "model",
      .keys = {{"form", kAnyText, kRequired, "the law; forms and their parameters: model/kernels/kernel_form.h"},
               OpRow("convolution, batch_norm, ..."),
               PassRow(),
               {"algorithm", kAnyText, "the op has no choice", "implicit_gemm, winograd, ..."},
               {"math", kAnyText, "fp32", "fp32, tf32, ..."},
               {"parameters", "a map of numbers", kRequired, "those of the form, by name"},
               ErrorRow("shared_error", "0.1", "of all kernels of this model alike; one standard deviation"),
               ErrorRow("own_error", "0.2", "of each kernel by itself"),
               SlowdownRow(),
               {"work", "a map", "not known", "range of the samples", {&ModelWorkKeys()}},
               SourceRow()},
      .note = "A fitted law of one algorithm; `spillway fit` and `spillway calibrate` write them."};
  return kTable;
}

const KeyTable& MeasuredSoftwareKeys() {
  static const KeyTable kTable{.title = "software of measured launches",
                               .keys = {{"driver", kAnyText, "not known", "of the device, as it states its version"},
                                        {"cuda", kAnyText, "not known, or not a CUDA device", "the runtime"},
                                        {"cudnn", kAnyText, "not known, or not a CUDA device", "the library"}},
                               .note = "`validate` warns where the device has other software than this."};
  return kTable;
}

const KeyTable& MeasuredKeys() {
  static const KeyTable kTable{
      .title = "measured launches",
      .keys = {SourceRow(),
               {"operands", OneOf(OperandStateNames()), "as the source's text says (older files), else step",
                "how each launch found what it reads: as a training step leaves it, all in memory, or in the caches as "
                "far as it fits; `calibrate --protocol`"},
               {"software",
                "a map",
                "not known; without `operands` as the source's text says",
                "versions that it was timed with",
                {&MeasuredSoftwareKeys()}},
               {"ops", "a list of texts", kRequired,
                "one for each launch: \"OP PASS SHAPE, algorithm NAME, math fp32, precision fp32, layout nchw, "
                "accumulate yes, time DURATION, error 0.02, workspace SIZE, copy_slowdown 1\", all but the time "
                "optional after the first comma"}},
      .note = "Launches that were timed on this very machine; never taken over by models_from."};
  return kTable;
}

}  // namespace spillway
