#include "calibrate/ops/op_call.h"

#include <algorithm>

namespace spillway {

OpCall CallOf(const Op& op) { return {LaunchOf(op), op.details}; }

OpCall CallOf(const Launch& launch) {
  OpCall call{.launch = launch};
  if (launch.kind == OpKind::kSlice) {
    call.details = {.slices = {{0, CentreOf(launch.shape.in, launch.shape.out)}}, .whole = launch.shape.in};
    return call;
  }
  const bool concat = launch.kind == OpKind::kConcat;
  if (launch.kind != OpKind::kAdd && !concat) return call;
  OpDetails& details = call.details;
  const Shape& out = launch.shape.out;
  if (concat) details.whole = out;
  const std::int64_t operands = launch.accumulate && !concat ? 1 : std::max<std::int64_t>(launch.shape.operands, 1);
  for (std::int64_t k = 0; k < operands; ++k) {
    Box box = WholeOf(out);
    if (concat) box = WithRange(box, kChannelAxis, out.c * k / operands, out.c * (k + 1) / operands);
    details.slices.push_back({.operand = static_cast<std::size_t>(k), .box = box});
  }
  return call;
}

}  // namespace spillway
