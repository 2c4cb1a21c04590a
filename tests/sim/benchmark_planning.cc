// Planning time and peak memory of every strategy on three networks that do not fit, and the steps of the way from a
// ResNet-50 plan to its figures. `peak_MB` is the most heap memory that one call had in use at once.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/evaluate/oracle.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "sim/planning/strategy.h"
#include "sim/program/layout/layout.h"
#include "sim/program/lower/lower.h"
#include "sim/strategies/best/annealing.h"
#include "sim/strategies/best/gap_model.h"
#include "sim/strategies/strategies.h"
#include "sim/strategies/ucudnn/configurations.h"
#include "sim/strategies/ucudnn/workspace_division.h"
#include "sim/verify/verify.h"

namespace {
std::size_t heap_live = 0, heap_peak = 0;
}  // namespace

// Not inlined: gcc would see free() meet operator new.
__attribute__((noinline)) void* operator new(std::size_t bytes) {
  void* memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  heap_live += malloc_usable_size(memory);
  heap_peak = std::max(heap_peak, heap_live);
  return memory;
}
__attribute__((noinline)) void operator delete(void* memory) noexcept {
  if (memory != nullptr) heap_live -= malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace spillway {
namespace {

struct Case {
  TrainingStep step;
  Machine machine = LoadMachine("v100-x86-pcie3");
  CostModel costs{machine};
  Problem problem;

  Case(const char* network, const ZooOptions& options)
      : step(BuildTrainingStep(BuildZooNetwork(network, options), StepOptionsByName("chainer"))) {
    problem.step = &step;
    problem.costs = &costs;
    problem.capacity = machine.devices[0].UsableMemory();
  }
};

struct NetworkRow {
  const char* label;
  const char* name;
  ZooOptions options;
};
const NetworkRow kNetworks[] = {
    {"resnet50_b512", "resnet50", {.batch = 512}},
    {"resnet152_b256", "resnet152", {.batch = 256}},
    {"resnet1001_b32", "resnet1001", {.batch = 32}},
    {"resnext101_3d_42GB", "resnext101-3d", {.batch = 1, .image = 448, .frames = 128}},
};

void Plan(benchmark::State& state, const NetworkRow& network, const Strategy& strategy) {
  const Case c(network.name, network.options);
  std::size_t peak = 0;
  for (auto _ : state) {
    const std::size_t before = heap_live;
    heap_peak = before;
    benchmark::DoNotOptimize(strategy.plan(c.problem).feasible);
    peak = std::max(peak, heap_peak - before);
  }
  state.counters["peak_MB"] = static_cast<double>(peak) / 1e6;
}

// A pooch plan for ResNet-50 at batch 512 in our own runtime.
struct Resnet50Plan : Case {
  StepTables tables;
  spillway::Plan plan;
  Lowered lowered;

  Resnet50Plan() : Case("resnet50", {.batch = 512}), tables(step, costs) {
    problem.use_runtime = true;
    problem.runtime = RuntimeByName("arena");
    plan = PlanWithHeadroom(StrategyByName("pooch-released"), problem).plan;
    lowered = Lower(plan, tables, problem.capacity);
    PlaceBuffers(lowered.program, problem.capacity);
  }
};

void BM_StepTables(benchmark::State& state) {
  const Resnet50Plan c;
  for (auto _ : state) benchmark::DoNotOptimize(StepTables(c.step, c.costs).launches.size());
}

void BM_Lower(benchmark::State& state) {
  const Resnet50Plan c;
  for (auto _ : state) benchmark::DoNotOptimize(Lower(c.plan, c.tables, c.problem.capacity).list_peak);
}

void BM_Layout(benchmark::State& state) {
  const Resnet50Plan c;
  const Program program = Lower(c.plan, c.tables, c.problem.capacity).program;
  for (auto _ : state) {
    state.PauseTiming();
    Program copy = program;
    state.ResumeTiming();
    benchmark::DoNotOptimize(PlaceBuffers(copy, c.problem.capacity));
  }
}

void BM_Verify(benchmark::State& state) {
  const Resnet50Plan c;
  for (auto _ : state) benchmark::DoNotOptimize(Verify(c.lowered.program, &c.step).size());
}

void BM_SimulatePlan(benchmark::State& state) {
  const Resnet50Plan c;
  const std::vector<Nanos> durations = Durations(c.lowered.program, c.costs);
  Conditions conditions = ConditionsOf(c.lowered.program, c.costs, c.plan.runtime, c.problem.capacity);
  if (state.range(0) == 0) {
    conditions.duplex_factor.clear();
    conditions.copy_slowdown.clear();
  }
  Scratch scratch;
  for (auto _ : state) {
    benchmark::DoNotOptimize(Simulate(c.lowered.program, durations, conditions, scratch).makespan);
  }
  state.SetLabel(state.range(0) == 0 ? "no contention" : "contention");
}

// best's search, by what its model is asked; with and without copies, which take a clock.
void BM_Judge(benchmark::State& state) {
  const Resnet50Plan c;
  const Oracle oracle = OracleOf(c.problem);
  const GapTables tables(oracle.facts(), c.problem.runtime.backward_units, c.problem.capacity,
                         c.problem.capacity / 4096);
  const OpenChoices open(tables, {.swap = state.range(0) != 0});
  GapModel model(tables, c.problem.runtime, c.problem.capacity);
  const GapChoices kept = AllKept(tables);
  std::uint64_t seed = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(Anneal(model, open, kept, {.judgements = 20'000, .seed = seed++}).time);
  }
  state.SetLabel(state.range(0) != 0 ? "all" : "no copies");
  state.SetItemsProcessed(model.judgements());
}

void BM_LowerBounds(benchmark::State& state) {
  const Resnet50Plan c;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        LowerBounds(c.step, c.costs, c.problem.capacity, {.copy_streams = c.plan.runtime.copy_streams}).memory);
  }
}

// One cost answer that was given before, as a strategy asks for it.
void BM_CostAnswer(benchmark::State& state) {
  const Case c("resnet50", {.batch = 512});
  std::vector<Launch> launches;
  for (const Op& op : c.step.ops) launches.push_back(LaunchOf(op));
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(c.costs.Kernel(launches[next]).time);
    if (++next == launches.size()) next = 0;
  }
}

// The same, asked for the first time: every algorithm's law is worked out.
void BM_FirstCostAnswer(benchmark::State& state) {
  Case c("resnet50", {.batch = 512});
  Launch launch = LaunchOf(
      *std::find_if(c.step.ops.begin(), c.step.ops.end(), [](const Op& op) { return op.shape.window[1] == 3; }));
  for (auto _ : state) {
    ++launch.workspace;  // never asked before
    benchmark::DoNotOptimize(c.costs.Kernel(launch).time);
  }
}

// micro-cuDNN's WR: AlexNet's convolutions in turn at batch 256, every micro-batch; costs included.
void BM_UcudnnReuse(benchmark::State& state) {
  const Case c("alexnet", {.batch = 256});
  std::vector<Launch> launches;
  for (const Op& op : c.step.ops) {
    if (op.kind == OpKind::kConvolution) launches.push_back(LaunchOf(op));
  }
  std::size_t next = 0;
  for (auto _ : state) {
    const auto kernels = ucudnn::MicroKernelsOf(c.costs, launches[next], ucudnn::BatchPolicy::kAll, 64 * kMiB);
    benchmark::DoNotOptimize(ucudnn::FastestConfiguration(kernels, 64 * kMiB)->time);
    if (++next == launches.size()) next = 0;
  }
}

// Its dynamic program alone, of a kernel whose first part has times of its own.
void BM_UcudnnReuseAlone(benchmark::State& state) {
  const Case c("alexnet", {.batch = 256});
  const auto filter = std::find_if(c.step.ops.begin(), c.step.ops.end(), [](const Op& op) {
    return op.kind == OpKind::kConvolution && op.pass == Pass::kBackwardFilter;
  });
  const auto kernels = ucudnn::MicroKernelsOf(c.costs, LaunchOf(*filter), ucudnn::BatchPolicy::kAll, 64 * kMiB);
  for (auto _ : state) benchmark::DoNotOptimize(ucudnn::FastestConfiguration(kernels, 64 * kMiB)->time);
}

// Its WD: ResNet-50 at batch 128 with fronts of all kernels, each found once.
void BM_UcudnnDivision(benchmark::State& state) {
  const Case c("resnet50", {.batch = 128});
  const Bytes total = state.range(1) * kMiB;
  const auto policy = static_cast<ucudnn::BatchPolicy>(state.range(0));
  std::int64_t choices = 0, states = 0;
  for (auto _ : state) {
    std::vector<std::pair<Launch, std::vector<ucudnn::Choice>>> known;
    std::vector<std::vector<ucudnn::Choice>> kernels;
    for (const Op& op : c.step.ops) {
      if (op.kind != OpKind::kConvolution) continue;
      const Launch launch = LaunchOf(op);
      auto found = std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.first == launch; });
      if (found == known.end()) {
        found = known.insert(known.end(), {launch, {}});
        for (const ucudnn::Configuration& one :
             ucudnn::ConfigurationFront(ucudnn::MicroKernelsOf(c.costs, launch, policy, total), total)) {
          found->second.push_back({one.workspace, one.time});
        }
      }
      kernels.push_back(found->second);
    }
    const auto division = ucudnn::DivideWorkspace(kernels, total);
    states = division->states;
    choices = 0;
    for (const auto& one : kernels) choices += static_cast<std::int64_t>(one.size());
    benchmark::DoNotOptimize(division->time);
    if (division->bound < division->time) state.SkipWithError("not optimal");
  }
  state.counters["choices"] = static_cast<double>(choices);
  state.counters["states"] = static_cast<double>(states);
}

BENCHMARK(BM_Judge)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_UcudnnReuse)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_UcudnnReuseAlone)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_UcudnnDivision)->ArgsProduct({{1, 2}, {8, 64, 512, 4096}})->Unit(benchmark::kMillisecond);
BENCHMARK(BM_CostAnswer)->Unit(benchmark::kNanosecond);
BENCHMARK(BM_FirstCostAnswer)->Unit(benchmark::kNanosecond);
BENCHMARK(BM_StepTables)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Lower)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Layout)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Verify)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_SimulatePlan)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_LowerBounds)->Unit(benchmark::kMillisecond);

// Static, so that benchmark_main finds them.
const bool registered = [] {
  for (const NetworkRow& network : kNetworks) {
    for (const Strategy& strategy : Strategies()) {
      const std::string name = std::string("Plan/") + network.label + "/" + strategy.name;
      benchmark::RegisterBenchmark(name.c_str(), [&](benchmark::State& state) {
        Plan(state, network, strategy);
      })->Unit(benchmark::kMillisecond);
    }
  }
  return true;
}();

}  // namespace
}  // namespace spillway
