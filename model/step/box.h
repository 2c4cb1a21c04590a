// Parts of tensors, and where they lie in memory.
//
// A Box is a range of places in each dimension of a tensor: a batch range of a feature map, some channels of a
// concatenation, the rows that a tile of a convolution reads. A box may reach beyond its tensor: those places are the
// padding of a tile.
//
//     tensor n x c x h x w, dense        box [n0, n1) x [c0, c1) x all rows      runs of (c1 - c0) * h * w elements,
//     |nnnnnnnnnn|nnnnnnnnnn|...           ####......|####......|                n1 - n0 of them, c * h * w apart
#ifndef SPILLWAY_MODEL_STEP_BOX_H_
#define SPILLWAY_MODEL_STEP_BOX_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/step/tensor.h"

namespace spillway {

// The dimensions of a Shape, from the outermost on, whatever they mean for the tensor.
enum Axis : std::size_t { kBatchAxis, kChannelAxis, kDepthAxis, kHeightAxis, kWidthAxis };
constexpr std::size_t kAxes = 5;
std::array<std::int64_t, kAxes> Sizes(const Shape& shape);

struct Box {
  std::array<std::int64_t, kAxes> begin{}, end{};  // [begin, end) by Axis
  std::int64_t Size(std::size_t axis) const { return end[axis] - begin[axis]; }
  std::int64_t Elements() const;  // 0 if it is empty in any dimension
  spillway::Shape Shape() const;  // its sizes
  bool operator==(const Box&) const = default;
};
Box WholeOf(const Shape& shape);
// The same places in all dimensions but one.
Box WithRange(Box box, std::size_t axis, std::int64_t begin, std::int64_t end);
// As large as `size`, as far from one end of `whole` as from the other; nearer to the beginning by one where that cannot be.
Box CentreOf(const Shape& whole, const Shape& size);
bool Contains(const Box& outer, const Box& inner);
Box Intersection(const Box& a, const Box& b);  // empty: Elements() is 0
// What of `box` is not in `hole`: at most ten boxes that do not overlap.
std::vector<Box> Without(const Box& box, const Box& hole);
std::string BoxText(const Box& box);  // "[0:16]x[0:64]x[0:1]x[8:16]x[0:56]"

// How the bytes of a box are copied between two dense buffers: runs that lie together on both sides, in loops around
// loops. With the same buffer on both sides: how the box lies there.
struct BoxRuns {
  struct Loop {
    std::int64_t count = 1;
    Bytes from_pitch = 0, to_pitch = 0;
  };
  Bytes from_offset = 0, to_offset = 0;  // of the first run, from the beginning of the buffer
  Bytes run = 0;
  std::vector<Loop> loops;  // the innermost first; none where the box is one run
  std::int64_t Rows() const;
  Bytes Total() const { return run * Rows(); }
};
// `from`, `to`: what of the tensor the buffers hold. REQUIRES: both contain `box`, which is not empty; every element of
// the tensor has as many bytes as any other.
BoxRuns RunsOf(const Tensor& tensor, const Box& from, const Box& to, const Box& box);
Bytes BytesOf(const Tensor& tensor, const Box& box);

// Calls f(from, to, bytes) for every run of a copy, offsets from the beginning of each buffer; of the `within` innermost
// loops, which the caller goes round by itself, for the first run only.
template <typename F>
void ForEachRun(const BoxRuns& runs, F f, std::size_t within = 0) {
  std::int64_t rows = 1;
  for (std::size_t k = within; k < runs.loops.size(); ++k) rows *= runs.loops[k].count;
  for (std::int64_t row = 0; row < rows; ++row) {
    Bytes from = runs.from_offset, to = runs.to_offset;
    std::int64_t rest = row;
    for (std::size_t k = within; k < runs.loops.size(); ++k) {
      const BoxRuns::Loop& loop = runs.loops[k];
      from += rest % loop.count * loop.from_pitch;
      to += rest % loop.count * loop.to_pitch;
      rest /= loop.count;
    }
    f(from, to, runs.run);
  }
}

}  // namespace spillway

#endif  // SPILLWAY_MODEL_STEP_BOX_H_
