#include "calibrate/sample/sample.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace spillway {

std::string LayerKey(const Sample& sample) {
  if (sample.what == SampleKind::kOther) return sample.op;
  if (sample.what == SampleKind::kCopy) {
    return fmt::format("copy {} {} {} {} {}", sample.direction, sample.kind, sample.bytes, sample.row_bytes,
                       sample.pitch_bytes);
  }
  OpShape shape = sample.launch.shape;
  shape.in.n = shape.out.n = 1;
  return fmt::format("{} {} {} window {} stride {} pad {} groups {}", OpKindName(sample.launch.kind),
                     ShapeText(shape.in), ShapeText(shape.out), fmt::join(shape.window, "x"),
                     fmt::join(shape.stride, "x"), fmt::join(shape.pad, "x"), shape.groups);
}

}  // namespace spillway
