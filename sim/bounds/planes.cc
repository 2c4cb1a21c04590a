#include "sim/bounds/planes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace spillway {

namespace {

constexpr double kSingular = 1e-12;

// slope . x - rise * height = value; a face of the cube has no rise.
using Equation = std::array<double, 5>;  // three slopes, -rise, value

std::vector<Equation> EquationsOf(const std::vector<Plane>& planes) {
  std::vector<Equation> equations;
  for (const Plane& p : planes) equations.push_back({p.slope[0], p.slope[1], p.slope[2], -1, -p.at_origin});
  for (std::size_t k = 0; k < 3; ++k) {
    for (const double face : {0.0, 1.0}) {
      Equation equation{0, 0, 0, 0, face};
      equation[k] = 1;
      equations.push_back(equation);
    }
  }
  return equations;
}

// Gaussian elimination. False: they do not meet in one point.
bool Meet(std::array<Equation, 4> rows, CubePoint& point) {
  for (std::size_t column = 0; column < 4; ++column) {
    std::size_t pivot = column;
    for (std::size_t r = column + 1; r < 4; ++r) {
      if (std::abs(rows[r][column]) > std::abs(rows[pivot][column])) pivot = r;
    }
    if (std::abs(rows[pivot][column]) < kSingular) return false;
    std::swap(rows[column], rows[pivot]);
    for (std::size_t r = 0; r < 4; ++r) {
      const double share = r == column ? 0 : rows[r][column] / rows[column][column];
      for (std::size_t k = column; k < 5 && share != 0; ++k) rows[r][k] -= share * rows[column][k];
    }
  }
  for (std::size_t k = 0; k < 3; ++k) point[k] = std::clamp(rows[k][4] / rows[k][k], 0.0, 1.0);
  return true;
}

double LowestAt(const std::vector<Plane>& planes, const CubePoint& point) {
  double lowest = planes.front().At(point);
  for (const Plane& plane : planes) lowest = std::min(lowest, plane.At(point));
  return lowest;
}

}  // namespace

HighestPoint HighestBelow(const std::vector<Plane>& planes) {
  const std::vector<Equation> all = EquationsOf(planes);
  HighestPoint best{{0.5, 0.5, 0.5}, 0};
  best.height = LowestAt(planes, best.point);
  const std::size_t count = all.size();
  for (std::size_t a = 0; a < planes.size(); ++a) {
    for (std::size_t b = a + 1; b < count; ++b) {
      for (std::size_t c = b + 1; c < count; ++c) {
        for (std::size_t d = c + 1; d < count; ++d) {
          CubePoint point;
          if (!Meet({all[a], all[b], all[c], all[d]}, point)) continue;
          const double height = LowestAt(planes, point);
          if (height > best.height) best = {point, height};
        }
      }
    }
  }
  return best;
}

}  // namespace spillway
