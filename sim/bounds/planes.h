// The highest point of the unit cube below planes: where Kelley's method looks next. Three variables and a handful of planes,
// so that every vertex is tried: the same answer every time, whatever is degenerate.
#ifndef SPILLWAY_SIM_BOUNDS_PLANES_H_
#define SPILLWAY_SIM_BOUNDS_PLANES_H_

#include <array>
#include <vector>

namespace spillway {

using CubePoint = std::array<double, 3>;

struct Plane {
  double at_origin = 0;
  CubePoint slope{};
  double At(const CubePoint& point) const {
    return at_origin + slope[0] * point[0] + slope[1] * point[1] + slope[2] * point[2];
  }
};

struct HighestPoint {
  CubePoint point{};
  double height = 0;  // the lowest plane there
};

// REQUIRES: at least one plane. Time grows with the fourth power of their number: 0.2 ms for ten.
HighestPoint HighestBelow(const std::vector<Plane>& planes);

}  // namespace spillway

#endif  // SPILLWAY_SIM_BOUNDS_PLANES_H_
