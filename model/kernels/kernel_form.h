// Cost laws of kernels: the form of each law is code, its parameters are numbers of a machine profile.
//
// A form describes one algorithm of one library: how much it computes and moves for a launch, how that falls into tiles
// and waves over the multiprocessors, what workspace it needs and what it can run at all. The parameters are rates,
// efficiencies and latencies as fractions of the chip's figures wherever that makes sense, so that what was learnt on
// one device carries to another through the physics. Fitting them is calibrate/fit/fit.h's work.
//
// Forms of GPUs' libraries and forms of processors' are two families: a device is fitted with those of its own.
//
// To add a form: one file in model/kernels/, written as law.h there says, and one line in its table.inc.
#ifndef SPILLWAY_MODEL_KERNELS_KERNEL_FORM_H_
#define SPILLWAY_MODEL_KERNELS_KERNEL_FORM_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/step/launch.h"

namespace spillway {

// The figures of a device that laws read. Rates in operations and bytes per nanosecond.
struct Chip {
  double peak_flops = 1;  // fp32 multiply-adds count 2
  double memory_bandwidth = 1;
  double multiprocessors = 1;
  double l2_bytes = 4 << 20;
  MathPeaks math_peaks{};  // of other arithmetic. A model's rates are shares of peak_flops, whatever its math mode
  bool operator==(const Chip&) const = default;
};

// Parameters are positive and fitted as logarithms. `start` is a sensible value for an unknown device of today. A fit
// stays within [lower, upper] and is drawn towards its prior: `start`, unless another device taught better.
struct FormParameter {
  const char* name = "";     // as in the profile: "gemm_efficiency"
  const char* meaning = "";  // with its unit: "fraction of peak reached by large tiles"
  double start = 1, lower = 1, upper = 1;
  double prior_spread = 0.5;  // of the logarithm: how far devices differ
};

enum class Platform : std::uint8_t { kGpu, kCpu };

struct KernelForm {
  const char* name;  // "winograd_nonfused"
  const char* description;
  std::span<const FormParameter> parameters{};
  // The library's algorithms that this form describes for that op and pass, as AlgorithmNames has them; each gets a
  // KernelModel with parameters of its own. One empty name where the op has no choice of algorithm ({""}), none where
  // the form does not serve the op or pass.
  std::span<const char* const> (*algorithms)(OpKind, Pass) = nullptr;
  // True: the library has the algorithm for a launch of an op and pass that the form serves, whatever the chip.
  bool (*runs)(const Launch&) = [](const Launch&) { return true; };
  // Nanoseconds of the kernels of one call, launch gaps of the host not included. `parameters` as in the table above.
  double (*time)(const Launch&, const Chip&, std::span<const double> parameters) = nullptr;
  // Bytes of scratch the library asks for.
  Bytes (*workspace)(const Launch&) = [](const Launch&) -> Bytes { return 0; };
  Platform platform = Platform::kGpu;

  // True: the form serves the launch's op and pass, and its algorithm runs the launch.
  bool Applies(const Launch& launch) const { return !algorithms(launch.kind, launch.pass).empty() && runs(launch); }
};

// One each, from the form's own file.
#define KERNEL_FORM(FORM) KernelForm FORM();
#include "model/kernels/table.inc"
#undef KERNEL_FORM

const std::vector<KernelForm>& KernelForms();  // of all platforms
std::span<const KernelForm> KernelForms(Platform platform);
const KernelForm* FindKernelForm(std::string_view name);  // nullptr: none

// Algorithms by pass, of all libraries: index + 1 is Launch::algorithm. Which of them a device has is for its models and
// measurements to say. Empty for ops without a choice. Of recorded ops "way1" to "way32", the ways of the recording in its
// order.
constexpr std::size_t kMostRecordedWays = 32;
std::span<const char* const> AlgorithmNames(OpKind kind, Pass pass);
// The name of a Launch::algorithm; "" for 0 and for a number that the op does not have.
const char* AlgorithmName(OpKind kind, Pass pass, std::int32_t algorithm);
// Its inverse: 0 for "" or an unknown name.
std::int32_t AlgorithmByName(OpKind kind, Pass pass, std::string_view name);
// For messages: the name, or "algorithm 12".
std::string AlgorithmText(OpKind kind, Pass pass, std::int32_t algorithm);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_KERNELS_KERNEL_FORM_H_
