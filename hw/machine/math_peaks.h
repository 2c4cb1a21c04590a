// How numbers are multiplied, and a device's peak for each way.
//
// Tensor cores multiply rounded numbers at several times the fp32 rate. Data sheets state that rate once dense and once
// "with sparsity", which is double. Peaks here are dense, and products are summed in fp32.
#ifndef SPILLWAY_HW_MACHINE_MATH_PEAKS_H_
#define SPILLWAY_HW_MACHINE_MATH_PEAKS_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace spillway {

enum class MathMode : std::uint8_t { kFp32, kTf32, kFp16, kBf16 };
const char* MathModeName(MathMode mode);  // "fp32", "tf32", "fp16", "bf16"
std::optional<MathMode> MathModeByName(std::string_view name);

// Peaks of the modes other than fp32, in operations per nanosecond; a multiply-add counts 2. 0: not stated.
struct MathPeaks {
  double tf32 = 0, fp16 = 0, bf16 = 0;
  double Of(MathMode mode) const;  // 0 for fp32, whose peak every device has by itself
  bool Any() const { return tf32 > 0 || fp16 > 0 || bf16 > 0; }
  bool operator==(const MathPeaks&) const = default;
};

}  // namespace spillway

#endif  // SPILLWAY_HW_MACHINE_MATH_PEAKS_H_
