#include "model/step/window_grid.h"

#include <cstddef>

#include "model/step/rearrangement.h"

namespace spillway {
namespace {

std::array<std::int64_t, 3> PlaceIn(const std::array<std::int64_t, 3>& sizes, std::int64_t number) {
  return {number / (sizes[1] * sizes[2]), number / sizes[2] % sizes[1], number % sizes[2]};
}

// Along an axis: before the last window, in its first part, in the part that the roll has brought from the beginning.
int RegionAlong(const WindowGrid& grid, std::size_t axis, std::int64_t at) {
  const std::int64_t size = grid.image[axis];
  if (grid.shift[axis] == 0 || at < size - grid.window[axis]) return 0;
  return at < size - grid.shift[axis] ? 1 : 2;
}

}  // namespace

std::vector<std::int64_t> RelativeRows(const WindowGrid& grid, std::int64_t positions) {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < positions; ++i) {
    const auto query = PlaceIn(grid.relative, i);
    for (std::int64_t j = 0; j < positions; ++j) {
      const auto key = PlaceIn(grid.relative, j);
      std::int64_t row = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        row = row * (2 * grid.relative[k] - 1) + query[k] - key[k] + grid.relative[k] - 1;
      }
      rows.push_back(row);
    }
  }
  return rows;
}

std::vector<int> RegionsOf(const WindowGrid& grid) {
  std::vector<int> regions;
  if (!grid.Shifted()) return regions;
  const Shape image{.d = grid.image[0], .h = grid.image[1], .w = grid.image[2]};
  const std::int64_t positions = grid.window[0] * grid.window[1] * grid.window[2];
  for (std::int64_t window = 0; window < image.Spatial() / positions; ++window) {
    const auto block = PlaceIn(ImageBlocks(image, grid.window), window);
    for (std::int64_t i = 0; i < positions; ++i) {
      const auto within = PlaceIn(grid.window, i);
      int region = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        region = 3 * region + RegionAlong(grid, k, block[k] * grid.window[k] + within[k]);
      }
      regions.push_back(region);
    }
  }
  return regions;
}

}  // namespace spillway
