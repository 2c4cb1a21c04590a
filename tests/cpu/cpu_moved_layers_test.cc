// Kernels of the CPU device that move elements, add numbers to planes, and add to scores: against formulas, and every
// backward against its forward.
#include <catch2/catch.hpp>
#include <cmath>

#include "model/step/rearrangement.h"
#include "tests/cpu_reference.h"

namespace spillway {
namespace {

struct Move {
  const char* name;
  Rearrangement how;
  Shape in, out;
};

const std::vector<Move>& Moves() {
  static const std::vector<Move> moves = {
      {"in order", {}, {.n = 2, .c = 3, .h = 4, .w = 2}, {.n = 2, .c = 2, .h = 1, .w = 12}},
      {"cut",
       {.form = RearrangementForm::kStrided, .begin = {1, 0, 0, 1}, .step = {1, 1, 2, 1}},
       {.n = 2, .c = 3, .h = 4, .w = 5},
       {.n = 2, .c = 2, .h = 2, .w = 3}},
      {"padded",
       {.form = RearrangementForm::kStrided, .begin = {0, -1, 0, -2}},
       {.n = 2, .c = 3, .d = 2, .h = 2, .w = 3},
       {.n = 2, .c = 3, .d = 4, .h = 2, .w = 6}},
      {"rolled",
       {.form = RearrangementForm::kRolled, .shift = {1, -2, 3}},
       {.n = 2, .c = 2, .d = 3, .h = 3, .w = 4},
       {.n = 2, .c = 2, .d = 3, .h = 3, .w = 4}},
      {"windows",
       {.form = RearrangementForm::kWindows, .block = {2, 1, 3}},
       {.n = 2, .c = 2, .d = 2, .h = 3, .w = 6},
       {.n = 2, .c = 2, .h = 6, .w = 6}},
      {"merged windows",
       {.form = RearrangementForm::kMergedWindows, .block = {2, 1, 3}},
       {.n = 2, .c = 2, .h = 6, .w = 6},
       {.n = 2, .c = 2, .d = 2, .h = 3, .w = 6}},
      {"pixels out",
       {.form = RearrangementForm::kPixelsOut, .block = {1, 2, 3}},
       {.n = 2, .c = 12, .h = 2, .w = 2},
       {.n = 2, .c = 2, .h = 4, .w = 6}},
      {"pixels in",
       {.form = RearrangementForm::kPixelsIn, .block = {1, 2, 3}},
       {.n = 2, .c = 2, .h = 4, .w = 6},
       {.n = 2, .c = 12, .h = 2, .w = 2}},
      {"channels",
       {.form = RearrangementForm::kChannels, .groups = 3},
       {.n = 2, .c = 6, .w = 2},
       {.n = 2, .c = 6, .w = 2}},
      {"permuted",
       {.form = RearrangementForm::kPermuted, .order = {2, 0, 3, 1}},
       {.n = 2, .c = 2, .d = 3, .h = 4, .w = 5},
       {.n = 2, .c = 4, .d = 2, .h = 5, .w = 3}}};
  return moves;
}

double Dot(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

Values Added(const Values& before, const Values& more) {
  Values sum = before;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
  return sum;
}

// A linear forward has the gradient of which dot(forward(x), dy) = dot(x, gradient) holds; accumulating adds that.
void CheckLinear(CpuKernels& kernels, OpCall backward, const Values& x, const Values& y, const Values& dy) {
  const Values before = RandomValues(x.size(), 5), dx = Result(kernels, backward, {dy}, RandomValues(x.size(), 6));
  CHECK(Dot(y, dy) == Approx(Dot(x, dx)).epsilon(1e-4).margin(1e-4));
  backward.launch.accumulate = true;
  CHECK(Difference(Result(kernels, backward, {dy}, before), Added(before, dx)) < 1e-6);
}

}  // namespace

TEST_CASE("elements move as their sources say, and gradients move back") {
  CpuKernels kernels;
  for (const Move& move : Moves()) {
    INFO(move.name);
    const auto call = [&](Pass pass) {
      OpCall one = Call(OpKind::kRearrange, pass, {.in = move.in, .out = move.out});
      one.details.rearrangement = move.how;
      return one;
    };
    const Values x = RandomValues(move.in, 1), dy = RandomValues(move.out, 2);
    const Values y = Result(kernels, call(Pass::kForward), {x}, Values(Count(move.out), NAN));
    const std::vector<std::int64_t> sources = SourcesOf(move.how, move.in, move.out);
    REQUIRE(2 * sources.size() == y.size());
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const bool zero = sources[i] == kZeroElement;
      CHECK(y[i] == (zero ? 0.0f : x[static_cast<std::size_t>(sources[i])]));
      const std::size_t second = Count(move.in) / 2 + static_cast<std::size_t>(zero ? 0 : sources[i]);
      CHECK(y[sources.size() + i] == (zero ? 0.0f : x[second]));
    }
    CheckLinear(kernels, call(Pass::kBackward), x, y, dy);
  }
}

TEST_CASE("a number per plane is added to all of it, and gets the plane's sum") {
  CpuKernels kernels;
  const Shape shape{.n = 2, .c = 3, .h = 2, .w = 2};
  const OpShape s{.in = shape, .out = shape, .operands = 2};
  const Values x = RandomValues(shape, 1), numbers = RandomValues(6, 2), dy = RandomValues(shape, 3);
  const Values y = Result(kernels, Call(OpKind::kPlaneAdd, Pass::kForward, s), {x, numbers}, Values(x.size(), NAN));
  CHECK(y[13] == x[13] + numbers[3]);
  const Values without = Result(kernels, Call(OpKind::kPlaneAdd, Pass::kForward, s), {Values(x.size(), 0.0f), numbers},
                                Values(x.size(), NAN));
  CheckLinear(kernels, Call(OpKind::kPlaneAdd, Pass::kBackward, s), numbers, without, dy);
}

// Two heads of four features, three windows of two positions in a row of six, of which the last holds both ends.
TEST_CASE("scores get a number for their distance, and lose what must not be seen") {
  CpuKernels kernels;
  const Shape scores{.n = 2, .c = 2, .d = 3, .h = 2, .w = 2};
  const auto call = [&](Pass pass, std::int64_t shift) {
    OpCall one = Call(OpKind::kScoreBias, pass, {.in = scores, .out = scores});
    one.details.heads = {.heads = 2, .kv_heads = 2, .size = 4, .queries = 2, .keys = 2, .rows = 3};
    one.details.windows = {.window = {1, 1, 2}, .relative = {1, 1, 2}, .image = {1, 1, 6}, .shift = {0, 0, shift}};
    return one;
  };
  const Values x = RandomValues(scores, 1), table = RandomValues(6, 2), dy = RandomValues(scores, 3);
  const Values y = Result(kernels, call(Pass::kForward, 0), {x, table}, Values(x.size(), NAN));
  const std::size_t at = 12 + 4;  // second head of the first sample, second window
  CHECK(y[at] == Approx(x[at] + 2 * table[2 + 1]));
  CHECK(y[at + 1] == Approx(x[at + 1] + 2 * table[1]));
  CHECK(y[at + 2] == Approx(x[at + 2] + 2 * table[4 + 1]));
  const Values shifted = Result(kernels, call(Pass::kForward, 1), {x, table}, Values(x.size(), NAN));
  CHECK(shifted[at + 1] == y[at + 1]);
  CHECK(shifted[at + 4] == y[at + 4]);
  CHECK(shifted[at + 5] == Approx(y[at + 5] - 200));
  const Values alone = Result(kernels, call(Pass::kForward, 0), {Values(x.size(), 0.0f), table}, Values(x.size(), NAN));
  CheckLinear(kernels, call(Pass::kBackwardBias, 1), table, alone, dy);
}

}  // namespace spillway
