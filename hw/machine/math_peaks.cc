#include "hw/machine/math_peaks.h"

namespace spillway {

const char* MathModeName(MathMode mode) {
  switch (mode) {
    case MathMode::kFp32:
      return "fp32";
    case MathMode::kTf32:
      return "tf32";
    case MathMode::kFp16:
      return "fp16";
    case MathMode::kBf16:
      return "bf16";
  }
  return "?";
}

std::optional<MathMode> MathModeByName(std::string_view name) {
  for (const MathMode mode : {MathMode::kFp32, MathMode::kTf32, MathMode::kFp16, MathMode::kBf16}) {
    if (name == MathModeName(mode)) return mode;
  }
  return std::nullopt;
}

double MathPeaks::Of(MathMode mode) const {
  switch (mode) {
    case MathMode::kFp32:
      return 0;
    case MathMode::kTf32:
      return tf32;
    case MathMode::kFp16:
      return fp16;
    case MathMode::kBf16:
      return bf16;
  }
  return 0;
}

}  // namespace spillway
