// Attention within windows of an image (Liu et al. 2021, arXiv 2103.14030): a learned number for each distance of two
// places, and which places of a window must not see each other since a roll has brought them together.
#ifndef SPILLWAY_MODEL_STEP_WINDOW_GRID_H_
#define SPILLWAY_MODEL_STEP_WINDOW_GRID_H_

#include <array>
#include <cstdint>
#include <vector>

namespace spillway {

struct WindowGrid {
  std::array<std::int64_t, 3> window{1, 1, 1};    // positions of a row: depth, height, width
  std::array<std::int64_t, 3> relative{1, 1, 1};  // distances known are less than these; 1: none is learned
  std::array<std::int64_t, 3> image{1, 1, 1};     // that the windows divide; of a shift alone
  std::array<std::int64_t, 3> shift{0, 0, 0};     // by which the image was rolled towards its beginning
  bool HasTable() const { return relative != std::array<std::int64_t, 3>{1, 1, 1}; }
  bool Shifted() const { return shift != std::array<std::int64_t, 3>{0, 0, 0}; }
  std::int64_t Distances() const {  // rows of the table
    return (2 * relative[0] - 1) * (2 * relative[1] - 1) * (2 * relative[2] - 1);
  }
  bool operator==(const WindowGrid&) const = default;
};

// By query and key of a window: the table's row. Position i is place i, in row-major order, of a block of size `relative`;
// of a smaller window, too, as MONAI has it.
std::vector<std::int64_t> RelativeRows(const WindowGrid& grid, std::int64_t positions);

// By window and position: which region it is from. Positions of one window see each other where the regions are the same.
// Empty: all see all.
std::vector<int> RegionsOf(const WindowGrid& grid);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_STEP_WINDOW_GRID_H_
