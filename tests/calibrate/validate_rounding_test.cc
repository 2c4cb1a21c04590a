// Training values rounded once more.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "calibrate/validate/numerics.h"
#include "model/unroll/unroll.h"
#include "tests/small_networks.h"

namespace spillway {
namespace {

struct Filled {
  std::vector<float> values;
  std::uint64_t identity;
};

// How many floats further, up or down; 9 for more than eight.
int UnitsApart(float from, float to) {
  int units = 0;
  for (; from != to && std::abs(units) < 9; from = std::nextafter(from, to)) units += to > from ? 1 : -1;
  return units;
}

Filled Fill(StepValues& from, const Tensor& tensor, TensorId id, int iteration) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.bytes));
  from.Fill(iteration, id, bytes);
  Filled filled{std::vector<float>(bytes.size() / sizeof(float)), from.Identity(iteration, id)};
  std::memcpy(filled.values.data(), bytes.data(), filled.values.size() * sizeof(float));
  return filled;
}

TEST_CASE("images and weights are off by eight units of their last place at most, everything else by nothing") {
  const TrainingStep step = BuildTrainingStep(ResNet());
  TrainingValues values(step, 7);
  RoundedValues one(values, step, 1), again(values, step, 1), other(values, step, 2);
  int moved = 0, still = 0;
  std::array<int, 17> times{};  // by units, -8 to 8
  for (std::size_t t = 0; t < step.tensors.size(); ++t) {
    const Tensor& tensor = step.tensors[t];
    const auto id = static_cast<TensorId>(t);
    if (!tensor.Traits().resident && tensor.use != TensorClass::kInput) continue;
    INFO(tensor.name);
    const Filled whole = Fill(values, tensor, id, 0), off = Fill(one, tensor, id, 0);
    std::size_t differ = 0, beyond = 0;
    for (std::size_t i = 0; i < whole.values.size(); ++i) {
      const float is = off.values[i], was = whole.values[i];
      differ += is != was ? 1 : 0;
      const int units = UnitsApart(was, is);
      beyond += std::abs(units) > kMostPlaces ? 1 : 0;
      if (std::abs(units) <= kMostPlaces && was != 0) ++times[static_cast<std::size_t>(units + kMostPlaces)];
    }
    CHECK(beyond == 0);
    const bool drawn = tensor.name.ends_with(":weight") || tensor.use == TensorClass::kInput;
    CHECK((differ > 0) == (drawn || tensor.name.ends_with(":scale")));
    (differ > 0 ? moved : still) += 1;
    CHECK(off.identity != whole.identity);
    CHECK(Fill(again, tensor, id, 0).values == off.values);
    if (drawn) CHECK(Fill(other, tensor, id, 0).values != off.values);
  }
  CHECK(std::count(times.begin(), times.end(), 0) == 0);
  CHECK(moved > 3);
  CHECK(still > 3);
}

}  // namespace
}  // namespace spillway
