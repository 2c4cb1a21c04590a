#include "model/kernels/cpu_conv.h"

namespace spillway {
namespace {

constexpr std::int64_t kImageChannels = 3;

CpuOperand OperandOf(const Shape& shape, std::int64_t groups, bool all_together) {
  const auto positions = static_cast<double>(shape.n * shape.Spatial());
  const double channels =
      all_together ? static_cast<double>(shape.c) : static_cast<double>(groups) * WholeVectors(shape.c / groups);
  CpuOperand operand{.plain = 4 * static_cast<double>(shape.c) * positions, .blocked = 4 * channels * positions};
  const bool whole = all_together ? shape.c == kVector || shape.Spatial() == kVector : shape.c / groups % kVector == 0;
  operand.slow = !whole;
  return operand;
}

}  // namespace

CpuOperands CpuOperandsOf(const Launch& launch, bool all_together) {
  const OpShape& s = launch.shape;
  const std::int64_t in = s.in.c / s.groups, out = s.out.c / s.groups;
  CpuOperands operands{.in = OperandOf(s.in, s.groups, all_together), .out = OperandOf(s.out, s.groups, all_together)};
  const bool one_tap = s.window[0] * s.window[1] * s.window[2] == 1;
  const bool image = s.groups == 1 && in <= kImageChannels && !one_tap && launch.pass != Pass::kBackwardData;
  if (image && launch.pass == Pass::kBackwardFilter) operands.in.blocked = 0;
  const double channels = image || all_together ? static_cast<double>(in) : WholeVectors(in);
  operands.filter = 4 * static_cast<double>(s.groups) * channels * WholeVectors(out) *
                    static_cast<double>(s.window[0] * s.window[1] * s.window[2]);
  return operands;
}

double CpuReorderTime(const CpuOperands& operands, const Launch& launch, const Chip& chip,
                      ParameterValues<kCpuReorderRows> p) {
  const double touched = operands.in.Moved() + operands.out.Moved();
  double time = 0;
  for (const CpuOperand* operand : {&operands.in, &operands.out}) {
    time += CpuTraffic(operand->Moved(), touched, chip, p["reorder_bandwidth"], p) *
            (operand->slow ? 1 + p["slow_reorder"] : 1);
  }
  const double added = ConvLaunchOf(launch).accumulated_bytes;
  return time + CpuTraffic(added, added, chip, p["reorder_bandwidth"], p);
}

}  // namespace spillway
