// Kernels of the CPU device that move and combine whole tensors: expected values by hand.
#include <catch2/catch.hpp>

#include "tests/cpu_reference.h"

namespace spillway {
namespace {

OpShape Same(const Shape& shape, std::int64_t operands = 1) {
  return {.in = shape, .out = shape, .operands = operands};
}

}  // namespace

TEST_CASE("add") {
  CpuKernels kernels;
  const Shape pair{.n = 1, .c = 2};
  OpCall call = Call(OpKind::kAdd, Pass::kForward, Same(pair, 3));
  CHECK(Result(kernels, call, {{1, 2}, {10, 20}, {100, 200}}, Values(2)) == Values{111, 222});
  call.details.slices = {{.operand = 1}, {.operand = 1}, {.operand = 0}};  // b + b + a
  CHECK(Result(kernels, call, {{1, 2}, {10, 20}}, Values(2)) == Values{21, 42});
  CHECK(Result(kernels, Call(OpKind::kAdd, Pass::kForward, Same(pair, 1)), {{1, 2}}, Values(2)) == Values{1, 2});
  Values first{1, 2}, second{10, 20};
  const std::array<void*, 2> reads{first.data(), second.data()};
  kernels.Prepare(Call(OpKind::kAdd, Pass::kForward, Same(pair, 2)))
      .Run({.reads = reads, .writes = {reads.data(), 1}});  // over the first input
  CHECK(first == Values{11, 22});
}

TEST_CASE("add to a gradient") {
  CpuKernels kernels;
  const OpCall call = Call(OpKind::kAdd, Pass::kBackward, Same({.n = 1, .c = 2}), true);
  Values part{1, 2}, sum{10, 20};
  const std::array<void*, 2> reads{part.data(), sum.data()};
  kernels.Prepare(call).Run({.reads = reads, .writes = {reads.data() + 1, 1}});
  CHECK(sum == Values{11, 22});
}

TEST_CASE("concat, and the slices of its gradient") {
  CpuKernels kernels;
  // Two images of two pixels; one channel and two channels.
  const Shape out{2, 3, 1, 1, 2};
  const Box first = WithRange(WholeOf(out), kChannelAxis, 0, 1), second = WithRange(WholeOf(out), kChannelAxis, 1, 3);
  OpCall call{.launch = {.kind = OpKind::kConcat, .shape = {.in = {2, 1, 1, 1, 2}, .out = out, .operands = 2}},
              .details = {.slices = {{0, first}, {1, second}}, .whole = out}};
  const Values a{1, 2, 3, 4}, b{10, 20, 30, 40, 50, 60, 70, 80}, whole{1, 2, 10, 20, 30, 40, 3, 4, 50, 60, 70, 80};
  CHECK(Result(kernels, call, {a, b}, Values(12)) == whole);
  call.launch.pass = Pass::kBackward;
  std::vector<Values> parts{Values(4), Values(8)};
  RunCall(kernels, call, {whole}, parts);
  CHECK(parts == std::vector<Values>{a, b});
  // The second input's share alone, added to what is there.
  call.details.slices = {{0, second}};
  call.launch.accumulate = true;
  CHECK(Result(kernels, call, {whole}, Values(8, 1.0f)) == Values{11, 21, 31, 41, 51, 61, 71, 81});
}

TEST_CASE("dropout: a mask of the stated rate, repeated by its number") {
  CpuKernels kernels;
  const Shape shape{.n = 10, .c = 1000};
  const Values x(Count(shape), 1.0f);
  OpCall call = Call(OpKind::kDropout, Pass::kForward, Same(shape));
  call.details.dropout_rate = 0.2;
  const auto run = [&](std::uint64_t stream) {
    std::vector<Values> writes{Values(x.size()), Values(x.size() / 4)};  // a byte of mask an element
    RunCall(kernels, call, {x}, writes, {.random_stream = stream});
    return writes;
  };
  const std::uint64_t number = RandomStream(1, 0, 3);
  const std::vector<Values> first = run(number);
  double kept = 0;
  for (const float value : first[0]) {
    CHECK((value == 0.0f || value == Approx(1.25f)));  // 1 / (1 - 0.2)
    kept += value == 0.0f ? 0 : 1;
  }
  // Binomial: 10000 x 0.8 with a standard deviation of sqrt(10000 x 0.8 x 0.2) = 40.
  CHECK(kept == Approx(8000).margin(200));
  const std::vector<Values> again = run(number), other = run(RandomStream(1, 1, 3));
  CHECK(again[0] == first[0]);
  CHECK(std::memcmp(again[1].data(), first[1].data(), x.size()) == 0);
  CHECK(other[0] != first[0]);

  OpCall backward = call;
  backward.launch.pass = Pass::kBackward;
  CHECK(Result(kernels, backward, {first[1], x}, Values(x.size())) == first[0]);  // of ones: the factors again
  backward.launch.accumulate = true;
  const Values sum = Result(kernels, backward, {first[1], x}, x);
  for (std::size_t i = 0; i < sum.size(); ++i) REQUIRE(sum[i] == 1 + first[0][i]);
}

TEST_CASE("random streams differ by seed, iteration and layer") {
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    for (std::uint64_t iteration = 0; iteration < 4; ++iteration) {
      for (LayerId layer = 0; layer < 4; ++layer) numbers.push_back(RandomStream(seed, iteration, layer));
    }
  }
  std::sort(numbers.begin(), numbers.end());
  CHECK(std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end());
}

TEST_CASE("update: SGD with and without momentum") {
  CpuKernels kernels;
  const Shape pair{.n = 1, .c = 2};
  Values gradient{1, -2}, parameter{10, 20}, velocity{4, 8};
  const std::array<void*, 3> reads{gradient.data(), parameter.data(), velocity.data()};
  const CpuArguments arguments{
      .reads = reads, .writes = {reads.data() + 1, 2}, .learning_rate = 0.5f, .momentum = 0.25f};
  kernels.Prepare(Call(OpKind::kUpdate, Pass::kUpdate, Same(pair, 3))).Run(arguments);
  CHECK(velocity == Values{2, 0});    // 0.25 x 4 + 1, 0.25 x 8 - 2
  CHECK(parameter == Values{9, 20});  // 10 - 0.5 x 2, 20 - 0.5 x 0
  CpuArguments plain = arguments;
  plain.reads = {reads.data(), 2};
  plain.writes = {reads.data() + 1, 1};
  kernels.Prepare(Call(OpKind::kUpdate, Pass::kUpdate, Same(pair, 2))).Run(plain);
  CHECK(parameter == Values{8.5f, 21});  // 9 - 0.5 x 1, 20 + 0.5 x 2
}

TEST_CASE("copy") {
  CpuKernels kernels;
  const OpCall call = Call(OpKind::kCopy, Pass::kBackward, Same({.n = 1, .c = 3}));
  CHECK(Result(kernels, call, {{1, 2, 3}}, Values(3)) == Values{1, 2, 3});
}

}  // namespace spillway
