#include "model/cost/library_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "model/cost/model_cost.h"

namespace spillway {

namespace {

constexpr int kFirstMajor = 9, kFirstMinor = 3;  // cuDNN 9.3 takes large tensors

// Elements of a sample of the largest tensor.
std::int64_t LargestSample(const Launch& launch) {
  return LargestTensor(launch) / std::max<std::int64_t>(1, launch.shape.in.n);
}

}  // namespace

const std::vector<LibraryLimit>& LibraryLimits() {
  static const std::vector<LibraryLimit> table{
      {"cuDNN", OpKind::kConvolution, "before 9.3", LargeTensors::kRefused,
       "pytorch/pytorch#22496 and #31379: CUDNN_STATUS_NOT_SUPPORTED from 2^31 elements on, a documented restriction"},
      {"cuDNN", OpKind::kConvolution, "9.3 and later", LargeTensors::kTaken, "pytorch/pytorch#134890"},
      {"cuDNN", OpKind::kBatchNorm, "before 9.3", LargeTensors::kUnknown,
       "pytorch/pytorch#51776 reports failures of 3-D batch norm; at which sizes is not told"},
      {"cuDNN", std::nullopt, "all", LargeTensors::kUnknown, "no report was found"},
      {"cuBLAS", std::nullopt, "all", LargeTensors::kUnknown,
       "its sizes are 32-bit, one for each axis of a matrix; for tensors as a whole no limit was found"},
      {"oneDNN", std::nullopt, "all", LargeTensors::kUnknown, "no report was found"},
  };
  return table;
}

const char* LargeTensorsName(LargeTensors large) {
  constexpr const char* kNames[] = {"refused", "taken", "unknown"};
  return kNames[static_cast<std::size_t>(large)];
}

std::int64_t LargestTensor(const Launch& launch) {
  return std::max(launch.shape.in.Elements(), launch.shape.out.Elements());
}

bool IsLarge(const Launch& launch) {
  return AsConvolution(launch).kind == OpKind::kConvolution && LargestTensor(launch) > kMostIndexed;
}

// "9.3.0" and "9.10" are not before 9.3, "8.9" and what is no version are.
bool TakesLargeTensors(const std::string& version) {
  int major = 0, minor = 0;
  const char* const end = version.data() + version.size();
  const auto [dot, wrong] = std::from_chars(version.data(), end, major);
  if (wrong != std::errc{}) return false;
  if (dot != end && *dot == '.') std::from_chars(dot + 1, end, minor);
  return major != kFirstMajor ? major > kFirstMajor : minor >= kFirstMinor;
}

const std::string& CudnnVersion(const Device& device) {
  return device.cudnn.empty() ? device.measured_with.cudnn : device.cudnn;
}

bool RefusesLargeTensors(const Device& device) {
  const bool known = !device.models.empty() && PlatformOf(device) == Platform::kGpu;
  return known && !TakesLargeTensors(CudnnVersion(device));
}

std::string LargeTensorRefusal(const Launch& launch, const std::string& version, const std::string& name) {
  if (!IsLarge(launch) || TakesLargeTensors(version)) return "";
  return fmt::format(
      "library_limit: {}a tensor of {} elements; cuDNN before 9.3 takes convolutions of up to {}: {} of {} "
      "samples in one call{}",
      name.empty() ? "" : name + " has ", LargestTensor(launch), kMostIndexed, kMostIndexed / LargestSample(launch),
      launch.shape.in.n, version.empty() ? " (no version is named: one before 9.3 is assumed)" : "");
}

std::int64_t SamplesOfDividedCall(const Launch& launch) {
  const int bits = launch.pass == Pass::kForward ? 28 : launch.pass == Pass::kBackwardData ? 27 : 29;
  const std::int64_t sample = LargestSample(launch);
  if (sample >= kMostIndexed) return 0;
  return std::max<std::int64_t>(1, (std::int64_t{1} << bits) / std::max<std::int64_t>(1, sample));
}

}  // namespace spillway
