// Execute() on the fake device: Programs of real networks run as simulated, span by span, and keep their values.
#include "sim/execute/execute.h"

#include <catch2/catch.hpp>
#include <set>

#include "model/step/accumulate.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/evaluate/evaluation.h"
#include "sim/execute/forwarding_device.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "sim/planning/strategy.h"
#include "sim/program/layout/layout.h"
#include "sim/program/lower/lower.h"
#include "sim/strategies/strategies.h"
#include "tests/random_plan.h"
#include "tests/reference_order.h"
#include "tests/sim/fake_run.h"
#include "tests/small_programs.h"

namespace spillway {
namespace {

// compute  |W 10|                    |R 10|
// d2h           |--20--|
// h2d                   |--20--|
// Two buffers at one address; every instruction named by what it does.
Program OutAndIn() {
  ProgramBuilder p;
  const BufferId x = p.Device(100), again = p.DeviceAt(0, 100), host = p.Host(100);
  p.Alloc(kCompute, x);                                // 0
  p.Kernel({Wr(x)});                                   // 1
  p.Wait(kOut, p.Record(kCompute), Cause::kProduced);  // 2, 3
  p.Copy(kOut, x, host);                               // 4
  p.Free(kOut, x);                                     // 5
  p.Wait(kIn, p.Record(kOut), Cause::kSwapOut);        // 6, 7
  p.Alloc(kIn, again);                                 // 8
  p.Copy(kIn, host, again);                            // 9
  p.Wait(kCompute, p.Record(kIn), Cause::kSwapIn);     // 10, 11
  p.Kernel({Rd(again)});                               // 12
  p.Free(kCompute, again);                             // 13
  return p.Build();
}
std::vector<Nanos> OutAndInDurations() { return {0, 10, 0, 0, 20, 0, 0, 0, 0, 20, 0, 0, 10, 0}; }

std::vector<std::array<Nanos, 3>> Rows(const std::vector<Span>& spans) {
  std::vector<std::array<Nanos, 3>> rows;
  for (const Span& span : spans) rows.push_back({static_cast<Nanos>(span.instruction), span.start, span.end});
  return rows;
}

TEST_CASE("a Program out of memory and back, by hand") {
  const ExecuteResult result = FakeRun(OutAndIn(), nullptr, {.durations = OutAndInDurations()},
                                       {.warm_up = 1, .iterations = 2, .instrumented = true, .debug = true});
  REQUIRE(Says(result) == "");
  CHECK(result.step_times == std::vector<Nanos>{60, 60});  // 10 + 20 + 20 + 10
  CHECK(Rows(result.timeline.spans) ==
        std::vector<std::array<Nanos, 3>>{{1, 0, 10}, {4, 10, 30}, {9, 30, 50}, {12, 50, 60}});
  CHECK(result.timeline.makespan == 60);
  CHECK(result.high_water == 100);
}

TEST_CASE("without debug and spans the device is told less") {
  FakeDevice device({.durations = OutAndInDurations()});
  const Program program = OutAndIn();
  const ExecuteResult result = Execute(program, nullptr, device, device, {});
  REQUIRE(Says(result) == "");
  CHECK(result.step_times == std::vector<Nanos>{60});
  CHECK(result.timeline.spans.empty());
  CHECK(result.high_water == 0);
  CHECK(device.calls().size() == program.code.size() - 4);  // two kAlloc, two kFree
  CHECK_FALSE(device.open());
}

TEST_CASE("what cannot run is refused before the device hears of it") {
  FakeDevice device;
  Program program = OutAndIn();
  const auto run = [&](const ExecuteOptions& options) { return Execute(program, nullptr, device, device, options); };
  ExecuteResult result = run({.arena_bytes = 99});
  REQUIRE(result.failure.has_value());
  CHECK(result.failure->fault == Fault::kNoMemory);
  CHECK(result.failure->message == "the Program needs 100 bytes of device memory, the arena has 99");
  CHECK(Says(run({.arena_bytes = 100})) == "");
  program.memory = ProgramMemory::kPool;
  CHECK(Says(run({})) == "only Programs laid out in an arena can be executed");
  program.memory = ProgramMemory::kArena;
  program.streams[2].device = 1;
  CHECK(Says(run({})) == "only Programs of one device can be executed");
}

// ---- the fake device as a third engine ------------------------------------------------------------------------------

// The same spans and the same end, ideal or with a host that takes its time.
void CheckAgainstRelax(const Program& program, const TrainingStep* step, const std::vector<Nanos>& durations,
                       const std::array<Nanos, kOpcodes>& host_cost) {
  Conditions conditions;
  conditions.host_cost = host_cost;
  Scratch scratch;
  Timeline predicted;
  const Simulated simulated = SimulateRelax(program, durations, conditions, scratch, &predicted);
  const ExecuteResult result = FakeRun(program, step, {.durations = durations, .host_cost = host_cost},
                                       {.iterations = 2, .instrumented = true, .debug = true});
  REQUIRE(Says(result) == "");
  REQUIRE(result.step_times == std::vector<Nanos>(2, simulated.makespan));
  REQUIRE(result.timeline.makespan == predicted.makespan);
  REQUIRE(Rows(result.timeline.spans) == Rows(predicted.spans));
}

std::vector<Nanos> RandomDurations(const Program& program, Random& random) {
  std::vector<Nanos> durations(program.code.size(), 0);
  for (std::size_t i = 0; i < durations.size(); ++i) {
    const Opcode opcode = program.code[i].opcode;
    if (opcode == Opcode::kKernel || opcode == Opcode::kCopy) durations[i] = random.Below(4) * random.Below(50);
  }
  return durations;
}

std::array<Nanos, kOpcodes> RandomHostCost(Random& random) {
  std::array<Nanos, kOpcodes> cost{};
  for (Nanos& nanos : cost) nanos = random.Below(8);
  return cost;
}

TEST_CASE("hand-written Programs take the time that the relaxing engine says") {
  const TrainingStep step = SmallStep::Build();
  Random random(1);
  for (const Program& program : {RecomputeProgram(), RecomputeChainProgram(), SwapStepProgram()}) {
    for (int k = 0; k < 100; ++k) {
      CheckAgainstRelax(program, &step, RandomDurations(program, random), {});
      CheckAgainstRelax(program, &step, RandomDurations(program, random), RandomHostCost(random));
    }
  }
}

struct Case {
  TrainingStep step;
  Machine machine = LoadMachine("unit");
  CostModel costs{machine};
  StepTables tables;
  explicit Case(const char* network, const StepOptions& options = StepOptionTable().front())
      : step(BuildTrainingStep(BuildZooNetwork(network, {.batch = 2}), options)), tables(step, costs) {}
  Program Lowered(const Plan& plan) const {
    Program program = Lower(plan, tables, 0).program;
    PlaceBuffers(program);
    return program;
  }
};
const char* const kNetworks[] = {"cifar-vgg", "cifar-alexnet", "cifar-resnet20"};
const Runtime kRuntimes[] = {{}, {.copy_streams = 1}, {.copy_chunk = 100 * kKiB}, {.barrier = Barrier::kOp}};

TEST_CASE("random plans take the time that the relaxing engine says, and keep their values") {
  Random random(3);
  for (const char* network : kNetworks) {
    for (const StepOptions& options : StepOptionTable()) {
      const Case c(network, options);
      for (const Runtime& runtime : kRuntimes) {
        Plan plan = RandomPlan(c.step, runtime, 10 + 10 * random.Below(9), random);
        AddRandomEntries(c.step, random, plan);
        const Program program = c.Lowered(plan);
        INFO(network << " " << options.name);
        CheckAgainstRelax(program, &c.step, Durations(program, c.costs), {});
        CheckAgainstRelax(program, &c.step, RandomDurations(program, random), RandomHostCost(random));
      }
    }
  }
}

// cifar-vgg at batch 64 needs 103 MB in-core; in 95 MB every strategy has to move something, or to cut the batch.
TEST_CASE("who looks on says of a device what it says itself") {
  class Gathering : public FakeDevice {
   public:
    using FakeDevice::FakeDevice;
    bool GathersOperands() const override { return true; }
  };
  Gathering gathering{FakeOptions{}};
  FakeDevice refusing{FakeOptions{}};
  CHECK(ForwardingDevice(gathering).GathersOperands());
  CHECK_FALSE(ForwardingDevice(refusing).GathersOperands());
}

TEST_CASE("every strategy's Program runs as evaluated") {
  const Machine machine = LoadMachine("unit");
  const CostModel costs(machine);
  StepsInParts parts(64, [](std::int64_t batch) {
    return BuildTrainingStep(BuildZooNetwork("cifar-vgg", {.batch = batch}), StepOptionsByName("chainer"));
  });
  int moved = 0;
  for (const Strategy& strategy : Strategies()) {
    Problem problem;
    problem.step = &parts.In(1).part;
    problem.in_parts = &parts;
    problem.costs = &costs;
    const std::string name = strategy.name;
    if (name.starts_with("unified-memory")) continue;  // simulated only
    if (name.starts_with("ooc-")) continue;            // tiles in place do not lie together: this device refuses them
    problem.capacity = name == "in-core" || name.starts_with("ucudnn-") ? 200 * kMB : 95 * kMB;
    problem.use_runtime = true;
    problem.runtime = RuntimeByName("arena");
    const Planned planned = PlanWithHeadroom(strategy, problem);
    INFO(strategy.name << " " << planned.reason);
    REQUIRE(planned.feasible);
    const TrainingStep& step = parts.In(planned.plan.accumulate).all.step;
    problem.step = &step;
    const Evaluation evaluation = Evaluate(planned.plan, problem);
    REQUIRE(evaluation.feasible);
    CheckAgainstRelax(evaluation.program, &step, Durations(evaluation.program, costs), {});
    for (std::uint64_t seed = 1; seed <= 3; ++seed) CHECK(Says(Shuffled(evaluation.program, &step, seed, 2)) == "");
    const ExecuteResult limited =
        FakeRun(evaluation.program, &step, {}, {.arena_bytes = problem.capacity, .debug = true});
    CHECK(Says(limited) == "");
    CHECK(limited.high_water <= problem.capacity);
    moved += evaluation.bytes_out > 0 ? 1 : 0;
  }
  CHECK(moved >= 3);
}

// ---- values ---------------------------------------------------------------------------------------------------------

// Notes who is asked for what; every tensor's bytes are its number and the iteration.
class Recorder : public StepValues {
 public:
  void Fill(int iteration, TensorId tensor, std::span<std::byte> bytes) override {
    filled.emplace_back(iteration, tensor);
    std::fill(bytes.begin(), bytes.end(), static_cast<std::byte>(16 * iteration + tensor));
  }
  void Take(TensorId tensor, std::span<const std::byte> bytes) override {
    taken.emplace_back(tensor, std::vector<std::byte>(bytes.begin(), bytes.end()));
  }
  bool Wants(TensorId tensor) const override { return tensor != unwanted; }
  TensorId unwanted = kNoTensor;
  std::vector<std::pair<int, TensorId>> filled;
  std::vector<std::pair<TensorId, std::vector<std::byte>>> taken;
};

TEST_CASE("values are brought before the first iteration, the batch before each, results taken at the end") {
  const TrainingStep step = SmallStep::Build();
  const auto results = [&](const Program& program, int iterations) {
    Recorder values;
    REQUIRE(Says(FakeRun(program, &step, {}, {.iterations = iterations, .debug = true, .values = &values})) == "");
    return values;
  };
  const Recorder two = results(SwapStepProgram(), 2);
  using S = SmallStep;
  CHECK(two.filled == std::vector<std::pair<int, TensorId>>{{0, S::in}, {0, S::w}, {0, S::m}, {1, S::in}});
  REQUIRE(two.taken.size() == 3);
  // Another way to the same step gives the same results; another number of steps does not; the input stays.
  CHECK(results(RecomputeProgram(), 2).taken == two.taken);
  const Recorder one = results(SwapStepProgram(), 1);
  CHECK(one.taken[1] != two.taken[1]);
  CHECK(one.taken[2] != two.taken[2]);
  CHECK(two.taken[1].second != two.taken[2].second);
}

TEST_CASE("what nobody wants is not taken") {
  const TrainingStep step = SmallStep::Build();
  Recorder values;
  values.unwanted = SmallStep::w;
  REQUIRE(Says(FakeRun(SwapStepProgram(), &step, {}, {.values = &values})) == "");
  REQUIRE(values.taken.size() == 2);
  CHECK(values.taken[0].first == SmallStep::in);
  CHECK(values.taken[1].first == SmallStep::m);
}

TEST_CASE("residents: where values lie before and after a step") {
  const TrainingStep step = SmallStep::Build();
  const std::vector<Resident> residents = FindResidents(SwapStepProgram(), step);
  REQUIRE(residents.size() == 3);
  CHECK(residents[0].tensor == SmallStep::in);
  CHECK(residents[0].first.kind == BufferKind::kHost);
  CHECK(residents[1].tensor == SmallStep::w);
  CHECK(residents[1].first.buffer == residents[1].last.buffer);
}

// w is used, swapped out, brought back to another address, and updated there; a workspace takes its old place.
//
//   f     w       -> y                   b0 w   [0, 8)    b1 y [8, 16)
//   u     w, y    -> w                   b2 w  [16, 24)   b3 workspace [0, 8)
Program MovedParameter() {
  ProgramBuilder p;
  const BufferId w = p.Device(8, 0), y = p.Device(8, 1), moved = p.Device(8, 0), host = p.Host(8, 0);
  const BufferId workspace = p.DeviceAt(0, 8);
  p.Alloc(kCompute, w);
  p.Alloc(kCompute, y);
  p.Kernel({Rd(w), Wr(y)}, 0);
  p.Wait(kOut, p.Record(kCompute), Cause::kProduced);
  p.Copy(kOut, w, host);
  p.Free(kOut, w);
  const EventId out = p.Record(kOut);
  p.Wait(kIn, out, Cause::kSwapOut);
  p.Alloc(kIn, moved);
  p.Copy(kIn, host, moved);
  const EventId in = p.Record(kIn);
  p.Wait(kCompute, in, Cause::kSwapIn);
  p.Alloc(kCompute, workspace);
  p.Kernel({Up(moved), Rd(y), Wr(workspace)}, 1);
  for (const BufferId b : {workspace, y, moved}) p.Free(kCompute, b);
  Program program = p.Build();
  program.buffers[workspace].kind = BufferKind::kWorkspace;
  return program;
}

TEST_CASE("a parameter that the Program moves is carried back before the next iteration") {
  StepBuilder s;
  s.Tensor("w", TensorClass::kParameter, 8);
  s.Tensor("y", TensorClass::kFeatureMap, 8);
  s.Op("f", {0}, {1});
  s.Op("u", {0, 1}, {0});
  const TrainingStep step = s.Build();
  const Program program = MovedParameter();
  const std::vector<Resident> residents = FindResidents(program, step);
  REQUIRE(residents.size() == 1);
  CHECK(residents[0].first.offset == 0);
  CHECK(residents[0].last.offset == 16);
  for (const int iterations : {1, 2, 3}) {
    CHECK(Says(FakeRun(program, &step, {}, {.iterations = iterations, .debug = true})) == "");
  }
}

// ---- orders ---------------------------------------------------------------------------------------------------------

TEST_CASE("shuffled orders keep to the partial order and differ") {
  Random random(7);
  const Case c("cifar-alexnet");
  const Program program = c.Lowered(RandomPlan(c.step, {.barrier = Barrier::kPhase}, 40, random));
  const auto earlier = HappensBeforeByClosure(program);
  std::set<std::vector<std::uint32_t>> orders;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<std::uint32_t> order = ShuffledOrder(program, seed);
    REQUIRE(order == ShuffledOrder(program, seed));
    orders.insert(order);
    std::vector<std::size_t> place(order.size(), order.size());
    for (std::size_t k = 0; k < order.size(); ++k) place[order[k]] = k;
    for (std::size_t b = 0; b < order.size(); ++b) {
      REQUIRE(place[b] < order.size());
      for (std::size_t a = 0; a < b; ++a) {
        if (earlier(b, a) && place[a] > place[b]) FAIL_CHECK(a << " must come before " << b);
      }
    }
  }
  CHECK(orders.size() == 20);
}

}  // namespace
}  // namespace spillway
