// Where plans divide ops along the batch, for tests: a step on the unit machine, and costs of parts that nobody can guess.
#ifndef SPILLWAY_TESTS_SIM_PARTS_PLACE_H_
#define SPILLWAY_TESTS_SIM_PARTS_PLACE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/cost/menu.h"
#include "model/step/launch.h"
#include "model/step/work_hash.h"
#include "model/unroll/unroll.h"
#include "model/util/hash.h"
#include "model/util/random.h"
#include "sim/program/layout/layout.h"
#include "sim/program/lower/lower.h"
#include "tests/boxed_network.h"
#include "tests/boxed_program.h"

namespace spillway {

struct PartsPlace {
  explicit PartsPlace(const Network& network, const char* options = "plain")
      : step(BuildTrainingStep(network, StepOptionsByName(options))), tables(step, costs) {}
  TrainingStep step;
  Machine machine = LoadMachine("unit");
  CostModel costs{machine};
  StepTables tables;

  OpId Op(const std::string& name) const { return OpNamed(step, name); }
  Plan Whole() const {
    Plan plan;
    plan.strategy = "by hand";
    plan.network = step.network;
    plan.batch = step.batch;
    return plan;
  }
  Plan Divided(OpId op, std::vector<OpPart> parts) const {
    Plan plan = Whole();
    plan.ops.push_back({.op = op, .parts = std::move(parts)});
    return plan;
  }
  Program Lowered(const Plan& plan) const {
    Program program = Lower(plan, tables, 0).program;
    if (program.memory == ProgramMemory::kArena) PlaceBuffers(program);
    return program;
  }
};

// Every size of every launch takes a time of its own, whose order nobody can guess, in workspaces likewise.
class DiceCosts : public CostModel {
 public:
  DiceCosts(const Machine& machine, std::uint64_t seed) : CostModel(machine), seed_(seed) {}

  Cost Kernel(const Launch& launch, int device = 0) const override {
    if (launch.kind != OpKind::kConvolution) return CostModel::Kernel(launch, device);
    const Bytes granted = launch.workspace == kUsualWorkspace ? options().workspace_limit : launch.workspace;
    if (launch.algorithm != 0) return Way(launch, launch.algorithm);
    for (std::int32_t algorithm = kAlgorithms; algorithm > 1; --algorithm) {
      const Cost cost = Way(launch, algorithm);
      if (cost.workspace <= granted) return cost;
    }
    return Way(launch, 1);
  }
  std::vector<MenuEntry> Menu(const Launch& launch, int /*device*/ = 0) const override {
    return MenuOf(launch, std::vector<std::int32_t>{1, 2, 3}, [this](const Launch& asked) { return Kernel(asked); });
  }
  double LeastTime(const Launch& /*launch*/, int /*device*/ = 0) const override { return 0; }

 private:
  static constexpr std::int32_t kAlgorithms = 3;
  Cost Way(const Launch& launch, std::int32_t algorithm) const {
    Random random(HashOfWork(launch) ^ (4 * seed_ + static_cast<std::uint64_t>(algorithm)));
    Cost cost;
    cost.time = random.Below(3000) + launch.shape.in.n * (1 + random.Below(8000)) * 10 / 7;
    cost.workspace = algorithm == 1 ? 0 : 512 * random.Below(200);
    cost.algorithm = algorithm;
    cost.how = "model";
    cost.copy_slowdown = 1 + static_cast<double>(seed_ % 3) * random.Below(100) / 80;
    return cost;
  }
  std::uint64_t seed_;
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SIM_PARTS_PLACE_H_
