#include "scenarios/run/precision_warning.h"

#include <fmt/format.h>

#include "hw/text/lists.h"
#include "model/network/precision.h"

namespace spillway {

namespace {

const char* NameOf(MathMode mode) {
  if (mode == MathMode::kTf32) return "tf32";
  return mode == MathMode::kBf16 ? "bf16" : "fp16";
}

}  // namespace

std::string PrecisionWarning(const std::string& precision, const Machine& machine) {
  const Precision* const row = FindByName(PrecisionTable(), precision);
  if (row == nullptr || machine.devices[0].StatesPeakOf(row->math)) return "";
  return fmt::format("precision {}: {} states no peak of {}, so products are taken at that of fp32{}", precision,
                     machine.name, NameOf(row->math),
                     row->math == MathMode::kBf16 ? "; PyTorch 2 emulates bf16 on such a card, 1.13 refuses it" : "");
}

}  // namespace spillway
