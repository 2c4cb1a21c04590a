#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "calibrate/fit/curve.h"

namespace spillway {
namespace {

using Points = std::vector<TransferCurve::Point>;

TransferCurve CurveThrough(Points points) {
  TransferCurve curve;
  curve.points = std::move(points);
  return curve;
}

// 10 us up to 4 KiB, then 20 us more to 1 MiB, 970 to 64 MiB, 29000 to 1 GiB: each stretch with a rate of its own.
TransferCurve FourPoints() {
  return CurveThrough({{4 * kKiB, 10000}, {kMiB, 30000}, {64 * kMiB, 1000000}, {kGiB, 30000000}});
}

// Powers of two.
std::vector<Bytes> Sizes(Bytes from, Bytes to) {
  std::vector<Bytes> sizes;
  for (Bytes bytes = from; bytes <= to; bytes *= 2) sizes.push_back(bytes);
  return sizes;
}

std::vector<TimedCopy> Timed(const TransferCurve& curve, const std::vector<Bytes>& sizes) {
  std::vector<TimedCopy> copies;
  for (const Bytes bytes : sizes) copies.push_back({bytes, static_cast<double>(curve.Time(bytes)), 0});
  return copies;
}

double LargestError(const Points& points, const std::vector<TimedCopy>& copies) {
  const TransferCurve curve = CurveThrough(points);
  double largest = 0;
  for (const TimedCopy& copy : copies) {
    if (copy.bytes < 64 * kKiB) continue;
    largest = std::max(largest, std::abs(static_cast<double>(curve.Time(copy.bytes)) / copy.nanos - 1));
  }
  return largest;
}

std::vector<double> LeftOutErrors(const std::vector<TimedCopy>& copies, const CurveFitOptions& options = {}) {
  std::vector<double> errors;
  for (const LeftOutCopy& copy : PredictLeftOut(copies, options)) errors.push_back(copy.Error());
  return errors;
}

void CheckShape(const Points& points) {
  REQUIRE(points.size() >= 2);
  for (std::size_t i = 1; i < points.size(); ++i) {
    CHECK(points[i].bytes > points[i - 1].bytes);
    CHECK(points[i].time >= points[i - 1].time);
  }
  CHECK(points.back().time > points[points.size() - 2].time);  // or the largest copies would be for nothing
}

TEST_CASE("A curve of known points is found again, points and all") {
  const TransferCurve truth = FourPoints();
  const Points found = FitCurve(Timed(truth, Sizes(4 * kKiB, kGiB)));
  REQUIRE(found.size() == truth.points.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i].bytes == truth.points[i].bytes);
    CHECK(found[i].time == Approx(truth.points[i].time).epsilon(1e-3));  // times are whole nanoseconds
  }
}

TEST_CASE("Two bends are found wherever they lie: points that were good alone move when another one comes") {
  const std::vector<Bytes> sizes = Sizes(64 * kKiB, kGiB);
  for (std::size_t first = 1; first + 2 < sizes.size(); ++first) {
    for (std::size_t second = first + 1; second + 1 < sizes.size(); ++second) {
      // 10 us and then 2, 10 and 5 bytes per nanosecond.
      Points points{{sizes[0], 10000}, {sizes[first], 0}, {sizes[second], 0}, {sizes.back(), 0}};
      const Bytes rates[] = {0, 2, 10, 5};
      for (std::size_t i = 1; i < 4; ++i) {
        points[i].time = points[i - 1].time + (points[i].bytes - points[i - 1].bytes) / rates[i];
      }
      INFO(first << ' ' << second);
      const std::vector<TimedCopy> copies = Timed(CurveThrough(points), sizes);
      CHECK(LargestError(FitCurve(copies, {.max_points = 4}), copies) < 0.01);
    }
  }
}

TEST_CASE("Small copies bend no curve of large ones") {
  const TransferCurve truth = CurveThrough({{64 * kKiB, 20000}, {64 * kMiB, 10000000}});
  std::vector<TimedCopy> copies = Timed(truth, Sizes(64 * kKiB, 64 * kMiB));
  const std::vector<TimedCopy> large = copies;
  for (const Bytes bytes : Sizes(kKiB, 32 * kKiB)) copies.push_back({bytes, 60000, 0});  // the line: 10 us
  CHECK(LargestError(FitCurve(copies, {.max_points = 2}), large) < 0.3);
  CHECK(LargestError(FitCurve(copies, {.max_points = 2, .judged_from = 1}), large) > 0.5);
}

TEST_CASE("A latency and a rate are two points, however many sizes were measured") {
  const TransferCurve truth = CurveThrough({{4 * kKiB, 5000}, {kGiB, 5000 + (kGiB - 4 * kKiB) / 8}});
  const std::vector<TimedCopy> copies = Timed(truth, Sizes(4 * kKiB, kGiB));
  CHECK(FitCurve(copies).size() == 2);
  for (const double error : LeftOutErrors(copies)) CHECK(error < 1e-3);
}

TEST_CASE("Noise makes a curve neither wrong nor long") {
  const TransferCurve truth = FourPoints();
  const std::vector<Bytes> sizes = Sizes(4 * kKiB, kGiB);
  const std::vector<TimedCopy> exact = Timed(truth, sizes);
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    std::vector<TimedCopy> noisy;
    for (int repeated = 0; repeated < 3; ++repeated) {
      for (TimedCopy copy : exact) {
        copy.nanos *= 1 + 0.03 * (static_cast<double>(random()) / 2147483648.0 - 1);  // up to 3 % either way
        noisy.push_back(copy);
      }
    }
    INFO(seed);
    const Points found = FitCurve(noisy);
    CheckShape(found);
    CHECK(found.size() <= 8);
    CHECK(LargestError(found, exact) < 0.03);
  }
}

TEST_CASE("A curve has no more points than asked for, and more of them fit better") {
  TransferCurve bent;
  for (Bytes bytes = 4 * kKiB; bytes <= kGiB; bytes *= 2) {
    // 10 us and a rate that grows from 1 to 12 bytes/ns: a bend at every size.
    const double size = static_cast<double>(bytes);
    bent.points.push_back({bytes, std::llround(1e4 + size / (1 + 11 * size / (size + 4e6)))});
  }
  const std::vector<TimedCopy> copies = Timed(bent, Sizes(4 * kKiB, kGiB));
  double before = 1e9;
  for (const int most : {2, 3, 4, 6, 9}) {
    const Points found = FitCurve(copies, {.max_points = most});
    INFO(most);
    CheckShape(found);
    CHECK(found.size() <= static_cast<std::size_t>(most));
    const double error = LargestError(found, copies);
    CHECK(error <= before);
    before = error;
  }
  CHECK(before < 0.03);
}

TEST_CASE("A size that scattered counts less than one that did not") {
  std::vector<TimedCopy> copies =
      Timed(CurveThrough({{64 * kKiB, 10000}, {64 * kMiB, 10000000}}), Sizes(64 * kKiB, 64 * kMiB));
  copies[5].nanos *= 1.5;
  const Points fooled = FitCurve(copies, {.max_points = 2});
  copies[5].deviation = 0.5;
  const Points wise = FitCurve(copies, {.max_points = 2});
  const double truth = 10000000;
  CHECK(std::abs(static_cast<double>(wise.back().time) - truth) <
        0.2 * std::abs(static_cast<double>(fooled.back().time) - truth));
}

TEST_CASE("Times that fall with the size give a curve that does not") {
  // As published for one machine: 2 MiB took longer than 4 MiB, and the largest two the same.
  const std::vector<TimedCopy> copies{{kMiB, 104e3, 0},      {2 * kMiB, 263e3, 0},  {4 * kMiB, 256e3, 0},
                                      {8 * kMiB, 582e3, 0},  {16 * kMiB, 900e3, 0}, {32 * kMiB, 1700e3, 0},
                                      {64 * kMiB, 1700e3, 0}};
  const Points found = FitCurve(copies);
  CheckShape(found);
  CHECK(LargestError(found, copies) < 0.5);
}

TEST_CASE("Where no small copy was measured, the line through the first two goes on") {
  // 5 us and 10 bytes per nanosecond, from 1 MiB on: 4 KiB take 5.4 us.
  const std::vector<Bytes> sizes = Sizes(kMiB, 64 * kMiB);
  std::vector<TimedCopy> copies;
  for (const Bytes bytes : sizes) copies.push_back({bytes, 5000 + static_cast<double>(bytes) / 10, 0});
  const TransferCurve found = CurveThrough(FitCurve(copies));
  CHECK(found.points.front().bytes == 4 * kKiB);
  CHECK(found.points.front().time == Approx(5410).epsilon(1e-3));
  CHECK(found.Time(512 * kKiB) == Approx(5000 + 52429).epsilon(1e-3));
  // A rate that falls with the size would leave less than nothing.
  copies = {{kMiB, 50e3, 0}, {2 * kMiB, 150e3, 0}};
  CHECK(FitCurve(copies).front().time == 1000);
}

TEST_CASE("Left-out errors are those of sizes that the fit has not seen") {
  // A line with one size off by a third: no fit to the others finds it, and all others are found.
  std::vector<TimedCopy> copies =
      Timed(CurveThrough({{64 * kKiB, 10000}, {64 * kMiB, 10000000}}), Sizes(64 * kKiB, 64 * kMiB));
  copies[4].nanos *= 4.0 / 3;
  const std::vector<double> errors = LeftOutErrors(copies, {.max_points = 2});
  REQUIRE(errors.size() == 11);
  CHECK(errors[4] == Approx(0.25).margin(0.01));  // 1 - 3/4
  copies.resize(3);
  CHECK(LeftOutErrors(copies).empty());
}

}  // namespace
}  // namespace spillway
