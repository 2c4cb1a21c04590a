// On the chain of tests/step_builder.h with 3 layers; see tests/sim/chain_plans.h for who uses what.
#include <catch2/catch.hpp>

#include "hw/text/document.h"
#include "model/kernels/kernel_form.h"
#include "sim/plan/plan.h"
#include "tests/step_builder.h"

namespace spillway {
namespace {

Plan FullPlan() {
  Plan plan;
  plan.strategy = "pooch";
  plan.network = "hand";
  plan.batch = 1;
  plan.machine = "unit";
  plan.capacity = 16 * kGiB;
  plan.runtime = {.copy_streams = 1,
                  .memory = MemoryModel::kPool,
                  .barrier = Barrier::kPhase,
                  .host_syncs = HostSyncs::kBackwardLayer,
                  .framework_time = 1500,
                  .copy_chunk = 4 * kMiB,
                  .pool = PoolKind::kAddresses,
                  .blocking_copies = BlockingCopies::kSwapOuts,
                  .swap_in_waits = SwapInWaits::kBackwardLayer,
                  .collection_time = 7 * kMillisecond,
                  .backward_units = BackwardUnits::kBreakPoints,
                  .host_percent = 40,
                  .gaps = CarriedGaps::kSaved};
  plan.gaps = {
      {.tensor = 0, .after = kNoOp, .before = 0, .out_after = kNoOp, .in_at = 0, .reason = ""},
      {.tensor = 0, .after = 0, .before = 5, .out_after = kNoOp, .in_at = 4, .reason = "the host has it"},
      {.tensor = 1,
       .after = 1,
       .before = 5,
       .out_after = 0,
       .in_at = 3,
       .reason = "say \"no\": a\\b, {c}\n# next\ttab"},
      {.tensor = 2,
       .after = 2,
       .before = 4,
       .action = GapAction::kRecompute,
       .keep_result = false,
       .keep_passed = false,
       .reason = "true"},
      {.tensor = 3, .after = 2, .before = 3, .out_after = 2, .in_at = 3, .reason = "r\xc3\xa9sum\xc3\xa9"},
  };
  plan.ops = {{.op = 0, .workspace = 3 * kMiB + 1}, {.op = 3}};
  plan.search = "capped at 20000 simulations";
  plan.evaluations = 20000;
  return plan;
}

// The messages of a file that consists of `lines` after a good head, without the excerpts.
std::vector<std::string> Complaints(const std::string& lines, const std::string& head = "network: hand\nbatch: 1\n") {
  try {
    ParsePlan(head + lines, "plan.yaml", MakeChain());
  } catch (const UserError& error) {
    std::vector<std::string> first_lines;
    for (const std::string& message : error.messages()) first_lines.push_back(message.substr(0, message.find('\n')));
    return first_lines;
  }
  return {};
}
std::string Complaint(const std::string& lines, const std::string& head = "network: hand\nbatch: 1\n") {
  const std::vector<std::string> all = Complaints(lines, head);
  REQUIRE(all.size() == 1);
  return all.front();
}

}  // namespace

TEST_CASE("a plan reads as it was written") {
  const TrainingStep step = MakeChain();
  REQUIRE(CheckPlan(FullPlan(), step).empty());
  const std::string text = PlanToYaml(FullPlan(), step);
  INFO(text);
  const Plan again = ParsePlan(text, "plan.yaml", step);
  CHECK(again == FullPlan());
  CHECK(PlanToYaml(again, step) == text);
}

TEST_CASE("the text of a plan") {
  const TrainingStep step = MakeChain();
  Plan plan;
  plan.strategy = "swap-opt";
  plan.network = "hand";
  plan.batch = 1;
  plan.capacity = 2048;
  plan.gaps = {{.tensor = 2, .after = 2, .before = 4, .out_after = 2, .in_at = 4, .reason = "hidden"},
               {.tensor = 1, .after = 1, .before = 5, .action = GapAction::kRecompute, .reason = ""}};
  CHECK(PlanToYaml(plan, step) ==
        "strategy: swap-opt\n"
        "network: hand\n"
        "batch: 1\n"
        "capacity: 2 KiB\n"
        "runtime: {copy_streams: 2, memory: arena, barrier: none, host_syncs: none, framework_time: 0 ns, copy_chunk: "
        "0 B}\n"
        "gaps:\n"
        "  - {tensor: m2, action: swap, after: \"f3:forward\", before: \"b2:backward\", reason: hidden}\n"
        "  - {tensor: m1, action: recompute, after: \"f2:forward\", before: \"b1:backward\"}\n");
}

TEST_CASE("what stays for a while is written and read") {
  const TrainingStep step = MakeChain();
  const std::string text =
      "network: hand\nbatch: 1\ngaps:\n"
      "- {tensor: m2, action: swap, after: 'f3:forward', before: 'b2:backward', leaves_after: 'b3:backward'}\n"
      "- {tensor: m1, action: recompute, after: 'f2:forward', before: 'b1:backward', leaves_after: 'f2:forward'}\n";
  const Plan plan = ParsePlan(text, "f", step);
  REQUIRE(plan.gaps.size() == 2);
  CHECK(plan.gaps[0].leaves_after == 3);
  CHECK(plan.gaps[1].leaves_after == 1);
  CHECK(ParsePlan(PlanToYaml(plan, step), "f", step) == plan);
  CHECK_THAT(PlanToYaml(plan, step), Catch::Contains(", leaves_after: \"b3:backward\"}"));
  CHECK_THAT(Complaint("gaps:\n- {tensor: m2, action: swap, after: 'f3:forward', before: 'b2:backward', leaves_after: "
                       "start}\n"),
             Catch::Contains("leaves_after: the step has no op 'start'"));
}

TEST_CASE("what is not said has its default") {
  const Plan plan = ParsePlan(
      "network: hand\nbatch: 1\ngaps:\n- {tensor: m2, action: swap, after: 'f3:forward', before: 'b2:backward'}\n", "f",
      MakeChain());
  CHECK(plan.runtime == Runtime{});
  REQUIRE(plan.gaps.size() == 1);
  CHECK(plan.gaps[0] == GapDecision{.tensor = 2, .after = 2, .before = 4, .out_after = 2, .in_at = 4, .reason = ""});
  CHECK(plan.ops.empty());
}

TEST_CASE("names that look like other YAML are quoted") {
  for (const char* name :
       {"true", "No", "null", "0x10", "1e3", "- a", "a: b", "#a", "", " a ", "a,b", "*a", "~", "m[0]"}) {
    HandStep b;
    b.Tensor(name, TensorClass::kFeatureMap, 1);
    b.Op("f", Pass::kForward, 1, {}, {0});
    b.Op("loss", Pass::kForward, 1, {}, {});
    b.Op(std::string("b") + name, Pass::kBackward, 1, {0}, {});
    const TrainingStep step = b.Take();
    Plan plan;
    plan.network = "hand";
    plan.batch = 1;
    plan.strategy = name;
    if (std::string(name) != "") {
      plan.gaps = {{.tensor = 0, .after = 0, .before = 2, .out_after = 0, .in_at = 2, .reason = name}};
    }
    const std::string text = PlanToYaml(plan, step);
    INFO(text);
    CHECK(ParsePlan(text, "f", step) == plan);
  }
}

TEST_CASE("the wrong network or batch is said where it stands") {
  CHECK(Complaint("", "network: vgg16\nbatch: 1\n") ==
        "plan.yaml:1:10: error: network: the plan is for 'vgg16', not for 'hand'");
  CHECK(Complaint("", "network: hand\nbatch: 64\n") == "plan.yaml:2:8: error: batch: the plan is for 64, not for 1");
  CHECK(Complaints("", "strategy: x\n").size() == 2);  // both missing
  CHECK(Complaints("", "network: hand\nbatch: many\n").size() == 1);
}

TEST_CASE("unknown names come with the nearest one") {
  CHECK(Complaint("gaps:\n- {tensor: data1, action: swap, after: start, before: 'f1:forward'}\n") ==
        "plan.yaml:4:12: error: tensor: the step has no tensor 'data1'; did you mean 'data'?");
  CHECK(Complaint("gaps:\n- {tensor: m2, action: swap, after: 'f3:forwrd', before: 'b2:backward'}\n") ==
        "plan.yaml:4:37: error: after: the step has no op 'f3:forwrd'; did you mean 'f3:forward'?");
  CHECK_THAT(Complaint("gaps:\n- {tensor: m2, action: swpa, after: 'f3:forward', before: 'b2:backward'}\n"),
             Catch::Contains("did you mean 'swap'?"));
  CHECK_THAT(
      Complaint("gaps:\n- {tensor: m2, action: swap, after: 'f3:forward', before: 'b2:backward', out_aftr: x}\n"),
      Catch::Contains("did you mean 'out_after'?"));
  CHECK_THAT(Complaint("runtime: {memory: pol}\n"), Catch::Contains("did you mean 'pool'?"));
}

TEST_CASE("all mistakes of a file are reported at once, in order") {
  const std::vector<std::string> all = Complaints(
      "gaps:\n"
      "- {tensor: nothing, action: swap, after: nowhere, before: never}\n"
      "- {tensor: m2, action: swap, after: 'f3:forward', before: 'b1:backward'}\n"
      "- {tensor: m1, action: recompute, after: 'f2:forward', before: 'b1:backward', in_at: 'b1:backward'}\n"
      "- {action: swap}\n"
      "ops:\n"
      "- {op: 'f1:forward', workspace: 12}\n");
  const auto line_of = [&](std::size_t i) { return all[i].substr(0, std::string("plan.yaml:4").size()); };
  REQUIRE(all.size() == 9);
  for (std::size_t i : {0U, 1U, 2U}) CHECK(line_of(i) == "plan.yaml:4");
  CHECK(all[3] == "plan.yaml:5:3: error: 'b1:backward' does not use tensor 'm2'");
  CHECK(all[4] == "plan.yaml:6:3: error: tensor 'm1': out_after and in_at belong to swap");
  for (std::size_t i : {5U, 6U, 7U}) CHECK(line_of(i) == "plan.yaml:7");
  CHECK_THAT(all[8], Catch::Contains("has no unit"));
}

TEST_CASE("decisions that break a rule are said where they stand") {
  CHECK(Complaint("ops:\n- {op: 'f1:forward'}\n- {op: 'f1:forward'}\n") ==
        "plan.yaml:5:3: error: a second decision on op 'f1:forward'");
  CHECK(Complaint("gaps:\n- {tensor: data, action: recompute, after: 'f1:forward', before: 'b1:backward'}\n") ==
        "plan.yaml:4:3: error: tensor 'data' cannot be recomputed: no forward op computes it");
}

TEST_CASE("figures out of bounds are said with what is expected") {
  CHECK(Complaint("runtime: {copy_chunk: 1 B}\n") ==
        "plan.yaml:3:23: error: copy_chunk: expected 0 B (copies in one piece) or at least 64 KiB, found 1 B");
  CHECK(Complaint("runtime: {framework_time: 2 s}\n") ==
        "plan.yaml:3:27: error: framework_time: expected at most 1 s per op, found 2 s");
  CHECK(Complaint("runtime: {collection_time: 1001 ms}\n") ==
        "plan.yaml:3:28: error: collection_time: expected at most 1 s, found 1001 ms");
  CHECK_THAT(Complaint("runtime: {swap_in_waits: backward}\n"), Catch::Contains("did you mean 'backward_layer'?"));
  CHECK_THAT(Complaint("runtime: {backward_units: breakpoints}\n"), Catch::Contains("did you mean 'break_points'?"));
  CHECK(Complaint("runtime: {pool: addresses}\n") ==
        "plan.yaml:3:17: error: pool: only for a runtime with memory: pool");
  CHECK_THAT(Complaint("runtime: {memory: pool, pool: adresses}\n"), Catch::Contains("did you mean 'addresses'?"));
  CHECK_THAT(Complaint("runtime: {copy_streams: 3}\n"), Catch::Contains("a whole number from 1 to 2"));
  CHECK_THAT(Complaint("runtime: {host_percent: 0}\n"), Catch::Contains("a whole number from 1 to 100"));
  CHECK(Complaints("runtime: {copy_chunk: 64 KiB, framework_time: 1 s}\n").empty());
  CHECK(Complaint("ops:\n- {op: 'f1:forward', workspace: 2 TB}\n") ==
        "plan.yaml:4:3: error: op 'f1:forward': workspace must be at most 1 TB");
  CHECK(Complaint("ops:\n- {op: 'f1:forward', algorithm: fft}\n") ==
        "plan.yaml:4:33: error: algorithm: op 'f1:forward' has no choice of algorithm");
}

TEST_CASE("algorithms are named") {
  TrainingStep step = MakeChain();
  step.ops[0].kind = OpKind::kConvolution;
  const std::string head = "network: hand\nbatch: 1\nops:\n";
  const Plan plan = ParsePlan(
      head + "- {op: 'f1:forward', algorithm: winograd, workspace: 1 MB}\n- {op: 'f2:forward', algorithm: 0}\n",
      "plan.yaml", step);
  REQUIRE(plan.ops.size() == 2);
  CHECK(plan.ops[0].algorithm == AlgorithmByName(OpKind::kConvolution, Pass::kForward, "winograd"));
  CHECK(plan.ops[1].algorithm == 0);
  const Plan again =
      ParsePlan(head + "- {op: 'f1:forward', workspace: 1 MB, again: {algorithm: winograd}}\n", "plan.yaml", step);
  REQUIRE(again.ops.at(0).again.size() == 1);
  CHECK(again.ops[0].again.front().algorithm == plan.ops[0].algorithm);
  CHECK(ParsePlan(PlanToYaml(again, step), "plan.yaml", step) == again);
  CHECK(ParsePlan(PlanToYaml(plan, step), "plan.yaml", step) == plan);
  try {
    ParsePlan(head + "- {op: 'f1:forward', algorithm: winograt}\n", "plan.yaml", step);
    FAIL("read");
  } catch (const UserError& error) {
    CHECK_THAT(error.what(), Catch::StartsWith("plan.yaml:4:33: error: algorithm: op 'f1:forward' has none called "
                                               "'winograt'; did you mean 'winograd'? (one of implicit_gemm, "));
    CHECK_THAT(error.what(), Catch::Contains("; or 0, the library's choice)"));
  }
}

TEST_CASE("a duplicate key hides no other mistake") {
  const std::vector<std::string> all = Complaints("batch: 2\nruntime: {memory: pol}\n");
  REQUIRE(all.size() == 2);
  CHECK(all[0] == "plan.yaml:3:1: error: duplicate key 'batch' (first at line 2)");
  CHECK_THAT(all[1], Catch::Contains("did you mean 'pool'?"));
}

TEST_CASE("shapes of the file that are not expected") {
  CHECK_THAT(Complaint("gaps: 3\n"), Catch::Contains("expected a list of decisions"));
  CHECK_THAT(Complaint("gaps: {a: 1}\n"), Catch::Contains("expected a list of decisions"));
  CHECK_THAT(Complaint("gaps:\n- m2\n"), Catch::Contains("expected a map"));
  CHECK_THAT(Complaint("recompute:\n- m2\n"), Catch::Contains("entry of recompute: expected a map"));
  CHECK_THAT(Complaint("runtime: pooch\n"), Catch::Contains("expected a map"));
  CHECK(Complaint("gpas: []\n") == "plan.yaml:3:1: error: unknown key 'gpas' in plan; did you mean 'gaps'?");
  CHECK(Complaints("gaps: []\nops:\n").empty());
}

TEST_CASE("loading a plan that is not there") {
  CHECK_THROWS_AS(LoadPlan("no such folder/plan.yaml", MakeChain()), UserError);
}

}  // namespace spillway
