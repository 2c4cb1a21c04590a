// Where the elements of a result come from, for ops that move elements and compute nothing: rolls, windows, shuffles of
// pixels and channels, permutations, strided slices, padding. Samples are rearranged alike and apart.
#ifndef SPILLWAY_MODEL_STEP_REARRANGEMENT_H_
#define SPILLWAY_MODEL_STEP_REARRANGEMENT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/step/tensor.h"

namespace spillway {

// A place of a sample: channel, depth, height, width.
constexpr std::size_t kSampleAxes = 4;
using SamplePlace = std::array<std::int64_t, kSampleAxes>;
constexpr const char* kSampleAxisNames[kSampleAxes] = {"channels", "depth", "height", "width"};

enum class RearrangementForm : std::uint8_t {
  kInOrder,  // element by element in another shape
  kStrided,  // from `begin` on every `step`-th place; zeros outside of the input
  kRolled,   // image places moved on by `shift`; what leaves at one end comes in at the other
  kWindows,  // image -> height: which block of the image, width: which place of the block, both in row-major order
  kMergedWindows,  // the reverse
  kPixelsOut,      // channel k * |block| + i becomes place i of channel k's blocks (pixel shuffle)
  kPixelsIn,       // the reverse
  kChannels,       // channel k comes from channel (k mod groups) * channels / groups + k / groups (channel shuffle)
  kPermuted,       // axis k is the input's axis order[k]
};

struct Rearrangement {
  RearrangementForm form = RearrangementForm::kInOrder;
  SamplePlace begin{}, step{1, 1, 1, 1};
  std::array<std::int64_t, 3> shift{}, block{1, 1, 1};
  std::int64_t groups = 1;
  std::array<std::size_t, kSampleAxes> order{0, 1, 2, 3};
  bool operator==(const Rearrangement&) const = default;
};

constexpr std::int64_t kZeroElement = -1;

// By element of a sample of `out`: which element of the same sample of `in` it is, or kZeroElement. No element of `in`
// is there twice. REQUIRES: shapes that the form fits; of kInOrder any.
std::vector<std::int64_t> SourcesOf(const Rearrangement& rearrangement, const Shape& in, const Shape& out);

// Blocks of an image along each axis. REQUIRES: they divide it.
std::array<std::int64_t, 3> ImageBlocks(const Shape& image, const std::array<std::int64_t, 3>& block);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_STEP_REARRANGEMENT_H_
