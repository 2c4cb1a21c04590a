// Measuring several Programs in turns, on a device in virtual time.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "calibrate/validate/measure.h"
#include "model/profile/launch_text.h"
#include "model/stats/quantile.h"
#include "tests/scripted_device.h"
#include "tests/small_programs.h"

namespace spillway {
namespace {

// One kernel.
Program OneKernel() {
  ProgramBuilder p;
  const BufferId x = p.Device(100);
  p.Alloc(kCompute, x);
  p.Kernel({Wr(x)});
  p.Free(kCompute, x);
  return p.Build();
}

// Kernels of `a` take 10 ns, those of all others 30; each session of a Program takes `drift` longer than the one before.
ScriptedDevice::Times TenOrThirty(const Program& a, Nanos drift, int& sessions) {
  return [&a, drift, &sessions](const Program& program) {
    std::vector<Nanos> times(program.code.size(), 0);
    times[1] = (&program == &a ? 10 : 30) + drift * sessions++;
    return times;
  };
}

TEST_CASE("every program gets its steps, spread over rounds") {
  const Program a = OneKernel(), b = OneKernel();
  int sessions = 0;
  ScriptedDevice device(TenOrThirty(a, 0, sessions));
  const std::vector<TimedProgram> candidates = {{.program = &a}, {.program = &b}};
  int done = 0;
  const MeasureOptions options{.steps = 7, .rounds = 3, .session_done = [&] { ++done; }};
  const std::vector<Measurement> found = MeasureInterleaved(candidates, device, device, options);
  REQUIRE(found.size() == 2);
  CHECK(found[0].step_times == Rounds(3, {10, 10, 10}));  // 7 in 3 rounds: 3 each
  CHECK(found[1].step_times == Rounds(3, {30, 30, 30}));
  REQUIRE(found[0].timelines.size() == 3);
  CHECK(found[0].timelines[2].makespan == 10);
  CHECK(found[1].timelines[0].spans.size() == 1);
  CHECK(done == 2 * SessionsOf(options));
  CHECK(SessionsOf(options) == 6);
  for (const ScriptedDevice::Seen& s : device.sessions()) CHECK(s.steps == (s.instrumented ? 2 : 4));  // one to warm up
}

TEST_CASE("a round holds each program once with and once without instruments, in an order of its own") {
  const Program a = OneKernel(), b = OneKernel(), c = OneKernel();
  int sessions = 0;
  ScriptedDevice device(TenOrThirty(a, 0, sessions));
  const std::vector<TimedProgram> candidates = {{.program = &a}, {.program = &b}, {.program = &c}};
  MeasureInterleaved(candidates, device, device, {.steps = 8, .rounds = 8, .instrumented_rounds = 8});
  std::set<std::vector<std::pair<const Program*, bool>>> orders;
  for (std::size_t first = 0; first < 48; first += 6) {
    std::vector<std::pair<const Program*, bool>> order;
    for (std::size_t k = first; k < first + 6; ++k) {
      order.emplace_back(device.sessions()[k].program, device.sessions()[k].instrumented);
    }
    CHECK(std::set(order.begin(), order.end()).size() == 6);
    orders.insert(order);
  }
  CHECK(orders.size() > 4);
}

TEST_CASE("a machine that gets slower and slower treats all alike") {
  const Program a = OneKernel(), b = OneKernel();
  int sessions = 0;
  ScriptedDevice device(TenOrThirty(a, 100, sessions));
  const std::vector<TimedProgram> candidates = {{.program = &a}, {.program = &b}};
  const std::vector<Measurement> found =
      MeasureInterleaved(candidates, device, device, {.steps = 40, .rounds = 20, .instrumented_rounds = 0});
  // One after the other they would differ by 2000; 20 is the truth.
  CHECK(Median(Flat(found[1].step_times)) - Median(Flat(found[0].step_times)) == Approx(20).margin(120));
}

TEST_CASE("each round knows its moment, and somebody is asked between rounds") {
  const Program a = OneKernel();
  int sessions = 0;
  ScriptedDevice device(TenOrThirty(a, 100, sessions));
  const std::vector<TimedProgram> candidates = {{.program = &a}};
  std::vector<std::pair<int, Nanos>> between;
  const auto look = [&](int rounds) { between.emplace_back(rounds, device.Now()); };
  const std::vector<Measurement> found = MeasureInterleaved(
      candidates, device, device, {.steps = 3, .rounds = 3, .instrumented_rounds = 0, .between = look});
  REQUIRE(between.size() == 4);
  REQUIRE(found[0].moments.size() == 3);
  for (std::size_t round = 0; round < 3; ++round) {
    CHECK(between[round].first == static_cast<int>(round));
    // A step to warm up and one that counts, each 10 ns and 100 for every session before.
    CHECK(between[round + 1].second - between[round].second == 2 * (10 + 100 * static_cast<Nanos>(round)));
    CHECK(found[0].moments[round] == (between[round].second + between[round + 1].second) / 2);
  }
}

TEST_CASE("somebody looks right before and right behind each session without instruments, once between two") {
  const Program a = OneKernel(), b = OneKernel();
  int sessions = 0;
  ScriptedDevice device(TenOrThirty(a, 0, sessions));
  const std::vector<TimedProgram> candidates = {{.program = &a}, {.program = &b}};
  std::vector<std::size_t> looks;  // sessions that had ended
  const auto look = [&] { looks.push_back(device.sessions().size()); };
  MeasureInterleaved(candidates, device, device,
                     {.steps = 40, .rounds = 40, .instrumented_rounds = 20, .beside = look});
  const std::set<std::size_t> once(looks.begin(), looks.end());
  REQUIRE(device.sessions().size() == 120);
  for (std::size_t k = 0; k < 120; ++k) {
    if (device.sessions()[k].instrumented) continue;
    CHECK(once.contains(k));
    CHECK(once.contains(k + 1));
  }
  for (std::size_t k = 1; k < 120; ++k) {  // not where nothing that counts is beside it
    const bool counts = !device.sessions()[k - 1].instrumented || !device.sessions()[k].instrumented;
    CHECK(once.contains(k) == counts);
  }
  // Twice in one place only between rounds, where something may have taken long.
  for (const std::size_t k : once) {
    const bool begins = k % 4 == 0 && k <= 80;
    const bool begins_later = k >= 80 && k % 2 == 0;
    CHECK(std::count(looks.begin(), looks.end(), k) <= (begins || begins_later ? 2 : 1));
  }
}

TEST_CASE("what fails is left alone afterwards") {
  const Program a = OneKernel();
  Program broken = OneKernel();
  broken.memory = ProgramMemory::kPool;
  int sessions = 0;
  ScriptedDevice device(TenOrThirty(a, 0, sessions));
  const std::vector<TimedProgram> candidates = {{.program = &broken}, {.program = &a}};
  const std::vector<Measurement> found = MeasureInterleaved(candidates, device, device, {.steps = 5});
  REQUIRE(found[0].failure.has_value());
  CHECK(found[0].failure->message == "only Programs laid out in an arena can be executed");
  CHECK_FALSE(found[1].failure.has_value());
  CHECK(found[1].step_times.size() == 5);
}

TEST_CASE("launches run with the algorithm that was predicted") {
  Machine machine = LoadMachine("unit");
  Program program;
  Launch convolution;
  convolution.kind = OpKind::kConvolution;
  convolution.shape.in = convolution.shape.out = Shape{2, 16, 1, 8, 8};
  convolution.shape.window = {1, 3, 3};
  convolution.shape.pad = {0, 1, 1};
  convolution.workspace = 4096;
  Launch relu;
  relu.kind = OpKind::kRelu;
  relu.shape.in = relu.shape.out = Shape{2, 16, 1, 8, 8};
  program.launches = {convolution, relu};
  const Program before = program;
  FixAlgorithms(CostModel(machine), program);  // knows of no algorithms
  CHECK(program.launches == before.launches);
  MeasuredOp measured = MeasuredOpOf(convolution);
  measured.algorithm = "winograd";
  measured.time = 5;
  measured.workspace = 4096;
  machine.devices[0].measured = {measured};
  const CostModel costs(machine);
  FixAlgorithms(costs, program);
  CHECK(program.launches[0].algorithm == costs.Kernel(convolution).algorithm);
  CHECK(program.launches[0].algorithm != 0);
  CHECK(program.launches[0].workspace == 4096);
  CHECK(program.launches[1].algorithm == 0);
  CHECK(costs.Kernel(program.launches[0]).time == 5);
}

}  // namespace
}  // namespace spillway
