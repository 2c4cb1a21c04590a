// Plans drawn at random for recorded steps, as the files that PyTorch carries out. tests/calibrate/carrier_test.py asks for
// them, and compares each with plain training:
//
//   SPILLWAY_STEP=STEP.json SPILLWAY_FOLDER=FOLDER SPILLWAY_COUNT=N scenarios_tests "[carried-plans]"
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

#include "hw/text/text_file.h"
#include "model/recorded/recorded_step.h"
#include "reports/dump/carry.h"
#include "scenarios/output/output_folder.h"
#include "sim/plan/carried.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "tests/deep.h"
#include "tests/random_plan.h"
#include "tests/recorded_text.h"

namespace spillway {
namespace {

constexpr std::size_t kLargest = std::size_t{1} << 30;

// A recorded step and the problem of planning it, with room for all.
struct Drawing {
  explicit Drawing(std::string from)
      : text(std::move(from)),
        recorded(ReadRecordedStep(ParseDocument(text, "step.json"))),
        costs(machine, {}, recorded) {
    problem = {.step = &recorded->step, .costs = &costs, .use_runtime = true, .runtime = RuntimeByName("torch")};
    problem.capacity = 1000 * kGB;
  }
  Drawing(const Drawing&) = delete;

  // One plan in ten keeps what no framework carries out.
  Plan Draw(Random& random) const {
    const TrainingStep& step = recorded->step;
    Plan plan = RandomPlan(step, problem.runtime, 10 + 10 * random.Below(9), random);
    if (random.Below(2) == 0) AddRandomOpenGaps(step, random, plan);
    if (random.Below(2) == 0) AddRandomEntries(step, random, plan);
    if (random.Below(10) == 0) return plan;
    std::erase_if(plan.recompute, [&](const Recomputation& entry) { return entry.before >= step.first_update; });
    std::erase_if(plan.gaps,
                  [&](const GapDecision& gap) { return !MayCarryGap(CarriedGaps::kAll, step, gap.after, gap.before); });
    return plan;
  }

  // The file, with what the plan itself takes as its memory. UserError: nobody can carry the plan out.
  std::string File(const Plan& plan) const {
    const Evaluation evaluation = Evaluate(plan, problem);
    if (!evaluation.feasible) throw UserError(evaluation.reason);
    return CarryJson(evaluation, plan, recorded->step, text, 0, {"drawn", "unit", evaluation.live_peak_bytes});
  }

  Machine machine = LoadMachine("unit");
  std::string text;
  std::shared_ptr<const RecordedStep> recorded;
  RecordedCosts costs;
  Problem problem;
};

std::string Asked(const char* variable) {
  const char* value = std::getenv(variable);
  INFO(variable);
  REQUIRE(value != nullptr);
  return value;
}

TEST_CASE("random plans of a recorded step as files for PyTorch", "[.][carried-plans]") {
  const Drawing drawing(ReadTextFile(Asked("SPILLWAY_STEP"), "a recording", kLargest));
  const std::string folder = Asked("SPILLWAY_FOLDER");
  Random random(DrawnSeed());
  for (int number = 0, count = std::stoi(Asked("SPILLWAY_COUNT")); number < count; ++number) {
    const std::string file = folder + "/random" + std::to_string(number);
    try {
      WriteFile(file + ".json", drawing.File(drawing.Draw(random)));
    } catch (const UserError& refused) {
      WriteFile(file + ".refused", refused.what());
    }
  }
}

TEST_CASE("random plans of drawn recordings are files for PyTorch, or refused by name") {
  int files = 0;
  std::size_t moved = 0;
  for (int k = 0; k < Cases(40, 1000); ++k) {
    Random random(DrawnSeed() * 1000 + static_cast<std::uint64_t>(k));
    const Drawing drawing(RecordedText(DrawnSeed() * 1000 + static_cast<std::uint64_t>(k)).Draw());
    const Plan plan = drawing.Draw(random);
    try {
      const std::string file = drawing.File(plan);
      CHECK(file.find("spillway-carry") != file.npos);
      ++files;
      moved += plan.gaps.size();
    } catch (const UserError& refused) {
      CHECK(std::string(refused.what()).find('\'') != std::string::npos);
    }
  }
  CHECK(files > 10);
  CHECK(moved > 20);
}

}  // namespace
}  // namespace spillway
