// Where libraries may differ in the backward pass of max pooling and both be right: a window whose maximum is there more
// than once gives its gradient to one of them, and none says which. Behind a ReLU most windows of zeros are such.
#ifndef SPILLWAY_TESTS_CUDA_MAX_POOL_TIES_H_
#define SPILLWAY_TESTS_CUDA_MAX_POOL_TIES_H_

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "model/step/training_step.h"

namespace spillway {

// Calls with every output position of one image and channel, and [begin, end) of its window on each axis.
template <typename Use>
void EachWindow(const OpShape& s, Use use) {
  const std::array<std::int64_t, 3> in{s.in.d, s.in.h, s.in.w}, out{s.out.d, s.out.h, s.out.w};
  std::array<std::array<std::int64_t, 2>, 3> window{};
  for (std::int64_t position = 0; position < out[0] * out[1] * out[2]; ++position) {
    const std::array<std::int64_t, 3> at{position / (out[1] * out[2]), position / out[2] % out[1], position % out[2]};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t begin = at[axis] * s.stride[axis] - s.pad[axis].begin;
      window[axis] = {std::max<std::int64_t>(begin, 0), std::min(begin + s.window[axis], in[axis])};
    }
    use(window);
  }
}

// Of each element of the input x, whether it is a maximum that its window has more than once.
inline std::vector<bool> TiedMaxima(const OpShape& s, std::span<const float> x) {
  std::vector<bool> tied(x.size());
  std::vector<std::size_t> largest;
  for (std::int64_t plane = 0; plane < s.in.n * s.in.c; ++plane) {
    EachWindow(s, [&](const auto& window) {
      largest.clear();
      for (std::int64_t z = window[0][0]; z < window[0][1]; ++z) {
        for (std::int64_t y = window[1][0]; y < window[1][1]; ++y) {
          for (std::int64_t w = window[2][0]; w < window[2][1]; ++w) {
            const auto i = static_cast<std::size_t>(((plane * s.in.d + z) * s.in.h + y) * s.in.w + w);
            if (!largest.empty() && x[i] > x[largest.front()]) largest.clear();
            if (largest.empty() || x[i] == x[largest.front()]) largest.push_back(i);
          }
        }
      }
      for (const std::size_t i : largest) tied[i] = tied[i] || largest.size() > 1;
    });
  }
  return tied;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_CUDA_MAX_POOL_TIES_H_
