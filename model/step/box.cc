#include "model/step/box.h"

#include <algorithm>

namespace spillway {

std::array<std::int64_t, kAxes> Sizes(const Shape& shape) { return {shape.n, shape.c, shape.d, shape.h, shape.w}; }

std::int64_t Box::Elements() const {
  std::int64_t product = 1;
  for (std::size_t axis = 0; axis < kAxes; ++axis) product *= std::max<std::int64_t>(0, Size(axis));
  return product;
}

Shape Box::Shape() const {
  return {.n = Size(kBatchAxis),
          .c = Size(kChannelAxis),
          .d = Size(kDepthAxis),
          .h = Size(kHeightAxis),
          .w = Size(kWidthAxis)};
}

Box WholeOf(const Shape& shape) { return {.begin = {}, .end = Sizes(shape)}; }

Box WithRange(Box box, std::size_t axis, std::int64_t begin, std::int64_t end) {
  box.begin[axis] = begin;
  box.end[axis] = end;
  return box;
}

Box CentreOf(const Shape& whole, const Shape& size) {
  const std::array<std::int64_t, kAxes> all = Sizes(whole), part = Sizes(size);
  Box box;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    box.begin[axis] = (all[axis] - part[axis]) / 2;
    box.end[axis] = box.begin[axis] + part[axis];
  }
  return box;
}

bool Contains(const Box& outer, const Box& inner) {
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    if (inner.begin[axis] < outer.begin[axis] || inner.end[axis] > outer.end[axis]) return false;
  }
  return true;
}

Box Intersection(const Box& a, const Box& b) {
  Box both;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    both.begin[axis] = std::max(a.begin[axis], b.begin[axis]);
    both.end[axis] = std::max(both.begin[axis], std::min(a.end[axis], b.end[axis]));
  }
  return both;
}

// Axis by axis, what lies before the hole and what lies behind it; then on with what is between.
std::vector<Box> Without(const Box& box, const Box& hole) {
  const Box both = Intersection(box, hole);
  if (both.Elements() == 0) return {box};
  std::vector<Box> rest;
  Box left = box;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    if (left.begin[axis] < both.begin[axis]) rest.push_back(WithRange(left, axis, left.begin[axis], both.begin[axis]));
    if (both.end[axis] < left.end[axis]) rest.push_back(WithRange(left, axis, both.end[axis], left.end[axis]));
    left = WithRange(left, axis, both.begin[axis], both.end[axis]);
  }
  return rest;
}

std::string BoxText(const Box& box) {
  std::string text;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    text += (axis == 0 ? "[" : "x[") + std::to_string(box.begin[axis]) + ":" + std::to_string(box.end[axis]) + "]";
  }
  return text;
}

std::int64_t BoxRuns::Rows() const {
  std::int64_t rows = 1;
  for (const Loop& loop : loops) rows *= loop.count;
  return rows;
}

// From the innermost axis out: an axis is part of the run, or of the loop within it, as long as that one goes on without
// a hole on both sides.
BoxRuns RunsOf(const Tensor& tensor, const Box& from, const Box& to, const Box& box) {
  BoxRuns runs;
  const Bytes element = tensor.bytes / tensor.shape.Elements();
  runs.run = element;
  Bytes from_pitch = element, to_pitch = element;
  for (std::size_t axis = kAxes; axis-- > 0;) {
    const std::int64_t size = box.Size(axis);
    runs.from_offset += (box.begin[axis] - from.begin[axis]) * from_pitch;
    runs.to_offset += (box.begin[axis] - to.begin[axis]) * to_pitch;
    const bool first = runs.loops.empty();
    const Bytes from_next = first ? runs.run : runs.loops.back().count * runs.loops.back().from_pitch;
    const Bytes to_next = first ? runs.run : runs.loops.back().count * runs.loops.back().to_pitch;
    if (size == 1) {
      // nothing to go round
    } else if (from_pitch == from_next && to_pitch == to_next) {
      (first ? runs.run : runs.loops.back().count) *= size;
    } else {
      runs.loops.push_back({size, from_pitch, to_pitch});
    }
    from_pitch *= from.Size(axis);
    to_pitch *= to.Size(axis);
  }
  return runs;
}

Bytes BytesOf(const Tensor& tensor, const Box& box) { return tensor.bytes / tensor.shape.Elements() * box.Elements(); }

}  // namespace spillway
