// What a plan as a whole may say: one decision each, figures within bounds, the right step.
#include <catch2/catch.hpp>

#include "sim/plan/plan.h"
#include "tests/sim/chain_plans.h"

namespace spillway {

using namespace chain_plans;

TEST_CASE("a sound plan has no mistakes") {
  const Plan plan = PlanOf({Swap(kData, kNoOp, 0), Swap(kData, 0, 5), Recompute(kM1, 1, 5), Swap(kM2, 2, 4)});
  CHECK(CheckPlan(plan, MakeChain()).empty());
}

TEST_CASE("one decision a gap and an op") {
  const TrainingStep step = MakeChain();
  Plan plan = PlanOf({Swap(kM2, 2, 4), Swap(kM1, 1, 5), Recompute(kM2, 2, 4)});
  plan.ops = {{.op = 3, .workspace = 5}, {.op = 3}};
  const std::vector<std::string> messages = CheckPlan(plan, step);
  REQUIRE(messages.size() == 2);
  CHECK(messages[0] == "gaps[2]: a second decision on the gap of tensor 'm2' before 'b2:backward'");
  CHECK(messages[1] == "ops[1]: a second decision on op 'b3:backward'");
}

TEST_CASE("indices out of range and negative figures are mistakes, not crashes") {
  const TrainingStep step = MakeChain();
  CHECK(Complaint(Swap(99, 2, 4)) == "gaps[0]: no such tensor");
  CHECK(Complaint(Swap(kNoTensor, 2, 4)) == "gaps[0]: no such tensor");
  CHECK(Complaint(Swap(kM2, 2, 99)) == "gaps[0]: tensor 'm2': no such op");
  CHECK(Complaint(Swap(kM2, 2, kNoOp)) ==
        "gaps[0]: tensor 'm2' is used next after 'f3:forward' by 'b2:backward', not by no op");
  CHECK(Complaint(Swap(kM2, -2, 4)) == "gaps[0]: tensor 'm2': no such op");
  Plan plan = PlanOf({});
  plan.ops = {{.op = 6}, {.op = 1, .workspace = -1}};
  CHECK(CheckPlan(plan, step).size() == 2);
  plan.ops.clear();
  plan.runtime.copy_streams = 3;
  plan.runtime.framework_time = -1;
  plan.runtime.copy_chunk = -1;
  plan.runtime.collection_time = -1;
  plan.runtime.host_percent = 0;
  CHECK(CheckPlan(plan, step).size() == 5);
}

TEST_CASE("figures have bounds") {
  const TrainingStep step = MakeChain();
  const auto says = [&step](const Runtime& runtime, const OpDecision& decision = {.op = 0}) {
    Plan plan = PlanOf({});
    plan.runtime = runtime;
    plan.ops = {decision};
    const std::vector<std::string> messages = CheckPlan(plan, step);
    REQUIRE(messages.size() <= 1);
    return messages.empty() ? "" : messages.front();
  };
  CHECK(says({.copy_chunk = 64 * kKiB}) == "");
  CHECK(says({.copy_chunk = 64 * kKiB - 1}) == "copy_chunk must be 0 or at least 64 KiB");
  CHECK(says({.framework_time = kSecond}) == "");
  CHECK(says({.framework_time = kSecond + 1}) == "framework_time must be at most 1 s");
  CHECK(says({.collection_time = kSecond}) == "");
  CHECK(says({.collection_time = kSecond + 1}) == "collection_time must be at most 1 s");
  CHECK(says({}, {.op = 0, .workspace = 1000 * kGB}) == "");
  CHECK(says({}, {.op = 0, .again = {{.workspace = kGB}}}) == "");
  CHECK(says({}, {.op = 0, .again = {{.workspace = -1}}}) ==
        "ops[0]: op 'f1:forward', again: workspace must not be negative");
  CHECK(says({}, {.op = 3, .again = {{}}}) ==
        "ops[0]: op 'b3:backward' does not run again: only forward ops are recomputed");
  CHECK(says({}, {.op = 0, .workspace = 1000 * kGB + 1}) == "ops[0]: op 'f1:forward': workspace must be at most 1 TB");
  for (std::int32_t algorithm : {-1, 1}) {
    CHECK(says({}, {.op = 0, .algorithm = algorithm}) == "ops[0]: op 'f1:forward' has no choice of algorithm");
    CHECK(says({}, {.op = 0, .again = {{.algorithm = algorithm}}}) ==
          "ops[0]: op 'f1:forward' has no choice of algorithm");
  }
}

TEST_CASE("a plan for another network or batch") {
  Plan plan = PlanOf({});
  plan.network = "vgg16";
  plan.batch = 7;
  const std::vector<std::string> messages = CheckPlan(plan, MakeChain());
  REQUIRE(messages.size() == 2);
  CHECK(messages[0] == "the plan is for network 'vgg16', not 'hand'");
  CHECK(messages[1] == "the plan is for batch 7, not 1");
}

}  // namespace spillway
