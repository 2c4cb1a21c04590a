#include "model/samples/sample.h"

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
                     fmt::join(shape.stride, "x"), fmt::join(shape.PadBegin(), "x"), shape.groups);
}

Chip ChipOf(const ChipFigures& figures) {
  return {.peak_flops = figures.peak_flops,
          .memory_bandwidth = figures.memory_bandwidth,
          .multiprocessors = static_cast<double>(figures.multiprocessors),
          .l2_bytes = static_cast<double>(figures.l2_cache)};
}

}  // namespace spillway
