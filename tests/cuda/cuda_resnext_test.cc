// ResNeXt-101 for video on the CUDA device over the stand-in: small clips, all 33 blocks.
#include <map>
#include <set>

#include "calibrate/measure/profile.h"
#include "model/profile/profile_text.h"
#include "model/samples/file.h"
#include "model/zoo/zoo.h"
#include "tests/cuda/cuda_bench.h"
#include "tests/cuda/cuda_training.h"

namespace spillway {
namespace {

Network Video() {
  return BuildZooNetwork("resnext101-3d-usual", {.batch = 2, .image = 20, .frames = 6, .classes = 10});
}

bool IsGrouped(const Launch& launch) { return launch.shape.groups == 32 && launch.shape.window[0] == 3; }

}  // namespace

TEST_CASE("a step of ResNeXt-101 3D out of core gives the bits of the CPU device in core") {
  const CpuCase c(Video());
  const Evaluation in_core = c.InCore();
  const Trained cpu = Train(c, in_core.program, {.iterations = 1});
  REQUIRE(Says(cpu) == "");
  // Parameters are most of it at this size: what is left to swap and recompute is asked for as such.
  StandInOptions roomy;
  roomy.memory = roomy.pinned = 4 * kGiB;
  for (const char* strategy : {"swap-all", "recompute-all"}) {
    INFO(strategy);
    const Evaluation evaluation = c.Of(strategy, in_core.peak_bytes);
    REQUIRE(evaluation.feasible);
    CHECK((evaluation.bytes_out > 0) == (std::string(strategy) == "swap-all"));
    CHECK((evaluation.recompute_time > 0) == (std::string(strategy) == "recompute-all"));
    const Trained cuda = TrainCuda(c, evaluation.program, {.iterations = 1}, roomy);
    REQUIRE(Says(cuda) == "");
    CHECK(Difference(cuda, cpu) == "");
  }
}

TEST_CASE("launches of ResNeXt-101 3D become rows, and the profile's measured ops, with depth and groups") {
  CudaBench bench;
  const auto network = MakeBenchNetwork("resnext101-3d-usual", Video(), {});
  BenchPlanOptions options;
  options.copies.clear();
  options.host_calls.clear();
  const std::vector<BenchItem> plan = MakeBenchPlan({network}, {}, options);
  BenchJournal journal("");
  BenchWatcher watcher;
  const BenchRunOptions run{.budget = 1'000'000 * kSecond, .loop = FewTimings(), .date = "2020-01-01"};
  CHECK(RunBench(plan, *bench.target, *bench.cuda, run, journal, watcher).refused == std::vector<std::string>{});

  // As the file has them.
  std::string text = SampleHeader();
  for (const Sample& sample : journal.samples()) text += SampleLine(sample);
  const std::vector<Sample> rows = ParseRows(text, "x.csv").samples;
  REQUIRE(rows.size() == journal.samples().size());
  for (std::size_t k = 0; k < rows.size(); ++k) CHECK(rows[k].launch == journal.samples()[k].launch);

  BenchFacts facts = bench.target->Facts("2020-01-01");
  facts.name = "mine";
  const Machine machine = ParseMachine(MachineToYaml(MachineOfBench(rows, facts, 0)), "mine.yaml");
  const CostModel costs(machine);
  int grouped = 0;
  for (const Op& op : network->step.ops) {
    Launch launch = LaunchOf(op);
    launch.algorithm = 0;
    INFO(op.name);
    const Cost cost = costs.Kernel(launch);
    CHECK(cost.time == static_cast<Nanos>(kKernel));
    CHECK(cost.source == Source::Kind::kMeasured);
    grouped += IsGrouped(launch) ? 1 : 0;
  }
  CHECK(grouped == 33 * 3);
  bench.CheckClean();
}

}  // namespace spillway
