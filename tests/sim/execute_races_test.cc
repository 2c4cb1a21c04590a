// Shuffled orders on the fake device against `verify`: safe Programs never fail, racy ones do in some order.
#include <catch2/catch.hpp>

#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/program/layout/layout.h"
#include "sim/program/lower/lower.h"
#include "sim/verify/verify.h"
#include "tests/mutations.h"
#include "tests/random_plan.h"
#include "tests/sim/fake_run.h"
#include "tests/small_programs.h"

namespace spillway {
namespace {

constexpr std::uint64_t kOrders = 12;  // per changed Program

struct Case {
  TrainingStep step;
  Machine machine = LoadMachine("unit");
  CostModel costs{machine};
  StepTables tables;
  explicit Case(const char* network)
      : step(BuildTrainingStep(BuildZooNetwork(network, {.batch = 2}), StepOptionTable().front())),
        tables(step, costs) {}
  Program Lowered(const Plan& plan) const {
    Program program = Lower(plan, tables, 0).program;
    PlaceBuffers(program);
    return program;
  }
};

TEST_CASE("safe Programs never fail, in whatever order") {
  Random random(1);
  int runs = 0;
  for (const char* network : {"cifar-vgg", "cifar-alexnet", "cifar-resnet20"}) {
    const Case c(network);
    for (const Runtime& runtime :
         {Runtime{}, Runtime{.copy_streams = 1}, Runtime{.copy_chunk = 100 * kKiB}, Runtime{.barrier = Barrier::kOp}}) {
      const Program program = c.Lowered(RandomPlan(c.step, runtime, 30, random));
      for (std::uint64_t seed = 1; seed <= 12; ++seed, ++runs) {
        INFO(network << ", seed " << seed);
        REQUIRE(Says(Shuffled(program, &c.step, seed, 2)) == "");
      }
    }
  }
  CHECK(runs == 144);
}

// Compute, swap out, swap in to the same address, use; twice, the second time at the same address again.
Program TwoRounds() {
  ProgramBuilder p;
  const BufferId all = p.Device(64);
  p.Alloc(kCompute, all);
  p.Kernel({Wr(all)});
  for (int round = 0; round < 2; ++round) {
    const BufferId x = p.DeviceAt(64, 100), y = p.DeviceAt(64, 100), h = p.Host(100);
    p.Alloc(kCompute, x);
    p.Kernel({Wr(x), Up(all)});
    p.Wait(kOut, p.Record(kCompute), Cause::kProduced);
    p.Copy(kOut, x, h);
    p.Free(kOut, x);
    p.Wait(kIn, p.Record(kOut), Cause::kSwapOut);
    p.Alloc(kIn, y);
    p.Copy(kIn, h, y);
    p.Wait(kCompute, p.Record(kIn), Cause::kSwapIn);
    p.Kernel({Rd(y), Up(all)});
    p.Free(kCompute, y);
  }
  p.Free(kCompute, all);
  return p.Build();
}

struct Share {
  int all = 0, found = 0, found_in_list_order = 0;
  std::string Text() const {
    return std::to_string(found) + " of " + std::to_string(all) + " (in list order " +
           std::to_string(found_in_list_order) + ")";
  }
};
struct Shares {
  Share races;   // mutations that verify rejects for clause 4 or 5
  Share others;  // for other reasons
  Share safe;    // those that it accepts
  std::string wrong;
};

bool IsRace(const std::vector<Violation>& violations) {
  return std::any_of(violations.begin(), violations.end(), [](const Violation& violation) {
    return violation.message.starts_with("clause 4") || violation.message.starts_with("clause 5");
  });
}

bool FailsInSomeOrder(const Program& program, const TrainingStep* step) {
  for (std::uint64_t seed = 1; seed <= kOrders; ++seed) {
    if (Shuffled(program, step, seed).failure) return true;
  }
  return false;
}

void Try(const Program& program, const TrainingStep* step, Shares& shares) {
  ForEachMutation(program, step, [&](const Mutation& mutation, const Program& changed) {
    const std::vector<Violation> violations = Verify(changed, step);
    const bool safe = violations.empty();
    Share& share = safe ? shares.safe : IsRace(violations) ? shares.races : shares.others;
    const bool found = FailsInSomeOrder(changed, step);
    ++share.all;
    share.found += found ? 1 : 0;
    share.found_in_list_order += FakeRun(changed, step, AtOnce()).failure ? 1 : 0;
    if (found != safe) return;
    shares.wrong += "\n" + mutation.what + " " + std::to_string(mutation.at) + ": " +
                    (safe ? "safe, and refused" : violations[0].message);
  });
}

// A Program may be refused and still compute the step: with a result listed twice, say. Few are.
void Check(const Shares& shares) {
  INFO("found: races " << shares.races.Text() << ", others " << shares.others.Text() << ", safe ones "
                       << shares.safe.Text() << shares.wrong);
  CHECK(shares.races.found == shares.races.all);
  CHECK(shares.races.found > shares.races.found_in_list_order);
  CHECK(shares.others.found >= shares.others.all * 99 / 100);
  CHECK(shares.safe.found == 0);
}

TEST_CASE("races that verify proves are seen in some order: Programs written by hand") {
  const TrainingStep step = SmallStep::Build();
  Shares shares;
  for (const Program& program : {RecomputeProgram(), RecomputeChainProgram(), SwapStepProgram()}) {
    Try(program, &step, shares);
  }
  Try(TwoRounds(), nullptr, shares);
  CHECK(shares.races.all >= 200);
  CHECK(shares.safe.all >= 20);
  Check(shares);
}

TEST_CASE("races that verify proves are seen in some order: a lowered Program", "[plain]") {
  Random random(2);
  const Case c("cifar-alexnet");
  Shares shares;
  Try(c.Lowered(RandomPlan(c.step, {}, 25, random)), &c.step, shares);
  CHECK(shares.races.all >= 300);
  CHECK(shares.safe.all >= 40);
  Check(shares);
}

}  // namespace
}  // namespace spillway
