// Whether two runs computed the same.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "calibrate/validate/numerics.h"
#include "tests/small_programs.h"

namespace spillway {
namespace {

std::vector<std::byte> Bits(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

struct Run {
  Run& Set(TensorId tensor, const std::vector<float>& values) {
    results.tensors[step.tensors[static_cast<std::size_t>(tensor)].name] = Bits(values);
    return *this;
  }
  TrainingStep step = SmallStep::Build();
  TrainingResults results;
};

Numerics Compare(const Run& actual, const Run& expected) { return CompareResults(actual.results, expected.results); }

TEST_CASE("equal bits, NaN among them, are bitwise") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Numerics same = Compare(Run().Set(SmallStep::w, {1, nan}), Run().Set(SmallStep::w, {1, nan}));
  CHECK(same.kind == Numerics::Kind::kBitwise);
}

TEST_CASE("differences are relative to the tensor's largest value") {
  const Numerics found = Compare(Run().Set(SmallStep::w, {8, 1}).Set(SmallStep::m, {1, 0}),
                                 Run().Set(SmallStep::w, {8, 2}).Set(SmallStep::m, {1, 0.0625F}));
  CHECK(found.kind == Numerics::Kind::kDiffers);
  CHECK(found.largest_difference == 0.125);  // of w; 0.0625 of m
  CHECK(found.tensor == "w");
  // 0 and -0 are equal numbers and different bits.
  const Numerics zeros = Compare(Run().Set(SmallStep::w, {0.0F, 1}), Run().Set(SmallStep::w, {-0.0F, 1}));
  CHECK(zeros.kind == Numerics::Kind::kDiffers);
  CHECK(zeros.largest_difference == 0);
}

TEST_CASE("a number against none is infinitely different") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isinf(Compare(Run().Set(SmallStep::w, {nan}), Run().Set(SmallStep::w, {1})).largest_difference));
}

TEST_CASE("losses count, and nothing to compare is skipped") {
  Run a, b;
  CHECK(Compare(a, b).kind == Numerics::Kind::kSkipped);
  a.results.losses = b.results.losses = {2.5, 2};
  CHECK(Compare(a, b).kind == Numerics::Kind::kBitwise);
  b.results.losses = {2.5, 1.6};
  const Numerics found = Compare(a, b);
  CHECK(found.tensor == "the loss");
  CHECK(found.largest_difference == Approx(0.4 / 2.5));
  b.results.losses = {2.5};  // a device that tells fewer
  CHECK(Compare(a, b).kind == Numerics::Kind::kSkipped);
}

}  // namespace
}  // namespace spillway
