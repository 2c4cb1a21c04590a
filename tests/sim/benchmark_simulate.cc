// Speed of the simulator on train_chain (4N ops an evaluation), beside a plain std::priority_queue engine and the least
// lines that relax it: those that can do any list of ops, and those that can do nothing else.
// items_per_second counts train_chain ops. Compare ratios within one run; absolute figures follow the machine's load.
#include <benchmark/benchmark.h>

#include "sim/engine/simulate.h"
#include "tests/sim/flat_lines.h"
#include "tests/sim/reference_engine.h"
#include "tests/sim/relaxation_lines.h"
#include "tests/sim/train_chain.h"

namespace spillway {
namespace {

void CountOps(benchmark::State& state) { state.SetItemsProcessed(state.iterations() * state.range(0) * 4); }

using Simulator = Simulated (*)(const TrainChain&, const Conditions&, Scratch&);

Simulated WithPeak(const TrainChain& chain, const Conditions& conditions, Scratch& scratch) {
  return Simulate(chain.program, chain.durations, conditions, scratch);
}
Simulated TimesAlone(const TrainChain& chain, const Conditions& conditions, Scratch& scratch) {
  return SimulateTimes(chain.program, chain.durations, conditions, scratch);
}

Conditions Contention() {
  Conditions conditions;
  conditions.host_cost = {5000, 5000, 0, 0, 1000, 1000, 5000};
  conditions.duplex_factor = {{0.85, 0.85}};
  conditions.copy_slowdown = {1.03};
  return conditions;
}

template <Simulator kSimulator>
void BM_TrainChain(benchmark::State& state) {
  const TrainChain chain = MakeTrainChain(static_cast<int>(state.range(0)));
  Scratch scratch;
  for (auto _ : state) benchmark::DoNotOptimize(kSimulator(chain, {}, scratch).makespan);
  CountOps(state);
}

template <Simulator kSimulator>
void BM_TrainChainContention(benchmark::State& state) {
  const TrainChain chain = MakeTrainChain(static_cast<int>(state.range(0)));
  const Conditions conditions = Contention();
  Scratch scratch;
  for (auto _ : state) benchmark::DoNotOptimize(kSimulator(chain, conditions, scratch).makespan);
  CountOps(state);
}

void BM_TrainChainPriorityQueue(benchmark::State& state) {
  ReferenceEngine engine(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(engine.Run().makespan);
  CountOps(state);
}

template <bool kPeak>
void BM_TrainChainFlatLines(benchmark::State& state) {
  FlatLines<3> lines = FlatTrainChain(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    benchmark::DoNotOptimize(lines.Run<kPeak>());
    if constexpr (kPeak) benchmark::DoNotOptimize(lines.Peak());
  }
  CountOps(state);
}

// Of the chain and nothing else: the ceiling.
template <bool kPeak>
void BM_TrainChainLines(benchmark::State& state) {
  RelaxationLines lines(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    benchmark::DoNotOptimize(lines.Run<kPeak>());
    if constexpr (kPeak) benchmark::DoNotOptimize(lines.Peak());
  }
  CountOps(state);
}

void BM_TrainChainTimeline(benchmark::State& state) {
  const TrainChain chain = MakeTrainChain(static_cast<int>(state.range(0)));
  Scratch scratch;
  Timeline timeline;
  for (auto _ : state) {
    benchmark::DoNotOptimize(Simulate(chain.program, chain.durations, {}, scratch, &timeline).makespan);
  }
  CountOps(state);
}

BENCHMARK(BM_TrainChain<WithPeak>)->Arg(50)->Arg(200)->Arg(1000)->Arg(10000);
BENCHMARK(BM_TrainChain<TimesAlone>)->Arg(50)->Arg(200)->Arg(1000)->Arg(10000);
BENCHMARK(BM_TrainChainContention<WithPeak>)->Arg(50)->Arg(200)->Arg(1000)->Arg(10000);
BENCHMARK(BM_TrainChainContention<TimesAlone>)->Arg(50)->Arg(200)->Arg(1000)->Arg(10000);
BENCHMARK(BM_TrainChainPriorityQueue)->Arg(50)->Arg(200)->Arg(1000)->Arg(10000);
BENCHMARK(BM_TrainChainFlatLines<true>)->Arg(50)->Arg(200)->Arg(1000)->Arg(10000);
BENCHMARK(BM_TrainChainFlatLines<false>)->Arg(50)->Arg(200)->Arg(1000)->Arg(10000);
BENCHMARK(BM_TrainChainLines<true>)->Arg(50)->Arg(200)->Arg(1000)->Arg(10000);
BENCHMARK(BM_TrainChainLines<false>)->Arg(50)->Arg(200)->Arg(1000)->Arg(10000);
BENCHMARK(BM_TrainChainTimeline)->Arg(1000);

}  // namespace
}  // namespace spillway
