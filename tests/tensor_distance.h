// How far what two runs of training left behind is apart.
#ifndef SPILLWAY_TESTS_TENSOR_DISTANCE_H_
#define SPILLWAY_TESTS_TENSOR_DISTANCE_H_

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <vector>

#include "tests/cpu_training.h"

namespace spillway {

// The largest difference, relative to the largest number.
inline double Distance(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  REQUIRE(a.size() == b.size());
  double most = 0, difference = 0;
  for (std::size_t at = 0; at < a.size(); at += sizeof(float)) {
    float x = 0, y = 0;
    std::memcpy(&x, &a[at], sizeof x);
    std::memcpy(&y, &b[at], sizeof y);
    most = std::max(most, std::abs(static_cast<double>(x)));
    difference = std::max(difference, std::abs(static_cast<double>(x) - static_cast<double>(y)));
  }
  return most == 0 ? difference : difference / most;
}

inline void CheckClose(const Trained& expected, const Trained& parts, double tolerance) {
  REQUIRE(Says(parts) == "");
  for (std::size_t k = 0; k < expected.losses.size(); ++k) {
    CHECK(std::abs(parts.losses[k] - expected.losses[k]) <= tolerance * std::abs(expected.losses[k]));
  }
  for (const auto& [name, bytes] : expected.tensors) {
    INFO(name);
    CHECK(Distance(bytes, parts.tensors.at(name)) <= tolerance);
  }
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_TENSOR_DISTANCE_H_
