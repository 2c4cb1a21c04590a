// checkpoint-blocks: what is a block, what of it stays, and what its second run costs.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>

#include "hw/text/document.h"
#include "model/network/precision.h"
#include "model/recorded/recorded_step.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/planning/problem.h"
#include "sim/strategies/shared/network_blocks.h"
#include "sim/strategies/strategies.h"
#include "tests/small_networks.h"
#include "tests/text.h"

namespace spillway {
namespace {

std::set<std::string> Dropped(const Plan& plan, const TrainingStep& step) {
  std::set<std::string> names;
  for (const GapDecision& gap : plan.gaps) {
    CHECK(gap.action == GapAction::kRecompute);
    CHECK_FALSE(gap.reason.empty());
    names.insert(step.tensors[Index(gap.tensor)].name);
  }
  return names;
}

struct OnUnit {
  explicit OnUnit(const Network& network) : step(BuildTrainingStep(network, StepOptionsByName("torch"))) {
    problem.step = &step;
    problem.costs = &costs;
    problem.capacity = kGB;
  }
  OnUnit(const OnUnit&) = delete;
  Plan By(const char* name) const { return StrategyByName(name).plan(problem).plan; }

  Machine machine = LoadMachine("unit");
  CostModel costs{machine};
  TrainingStep step;
  Problem problem;
};

// Blocks of two calls each, whose first result only the second one and backward read.
std::string Recording(const std::string& modules, int blocks) {
  std::string nodes, last = "x";
  const auto add = [&](const std::string& id, const char* pass, const std::string& module, const std::string& deps) {
    nodes += fmt::format(
        R"({}{{"id": "{}", "op": "o", "pass": "{}", "module": "{}", "ns": 1000, "deps": [{}], "results": [{{"id": "{}.y", "bytes": 100000}}]}})",
        nodes.empty() ? "" : ", ", id, pass, module, deps, id);
    last = id + ".y";
  };
  for (int n = 0; n < blocks; ++n) {
    add(fmt::format("a{}", n), "forward", fmt::format("{}.{}.first", modules, n), "\"" + last + "\"");
    add(fmt::format("b{}", n), "forward", fmt::format("{}.{}.second", modules, n), "\"" + last + "\"");
  }
  add("loss", "forward", "", "\"" + last + "\"");
  for (int n = blocks; n-- > 0;) {
    const std::string module = fmt::format("{}.{}", modules, n);
    const std::string below = n == 0 ? "x" : fmt::format("b{}.y", n - 1);
    add(fmt::format("bb{}", n), "backward", module + ".second", fmt::format(R"("{}", "a{}.y", "b{}.y")", last, n, n));
    add(fmt::format("ab{}", n), "backward", module + ".first", fmt::format(R"("{}", "{}")", last, below));
  }
  return R"({"format": "spillway-step", "version": 2, "graph": "g", "source": {"assumed": "t"}, "error": 0,
             "values": [{"id": "x", "bytes": 100000, "where": "host"}], "nodes": [)" +
         nodes + "]}";
}

}  // namespace

TEST_CASE("blocks of a residual network lie between its joins; their results stay") {
  const OnUnit on(ResNet());
  const Plan plan = on.By("checkpoint-blocks");
  CHECK(plan.search == "9 blocks; a block lies between two maps that every path goes through");
  const std::set<std::string> dropped = Dropped(plan, on.step);
  for (const TensorId map : on.step.maps) {
    const std::string& name = on.step.tensors[Index(map)].name;
    INFO(name);
    if (!Contains(name, "res")) CHECK(dropped.count(name) == 0);  // the stem and what is behind the blocks
  }
  CHECK(dropped.count("res2_1_1") == 1);
  const Evaluation blocks = Evaluate(plan, on.problem), core = Evaluate(on.By("in-core"), on.problem);
  REQUIRE((blocks.feasible && core.feasible));
  CHECK(5 * blocks.live_peak_bytes < 4 * core.live_peak_bytes);
  CHECK(blocks.recompute_time > 0);
  CHECK(2 * blocks.recompute_time < core.step_time);  // less than forward again
}

TEST_CASE("in a chain a block has maps of about one size") {
  const OnUnit on(Vgg());
  const Plan plan = on.By("checkpoint-blocks");
  CHECK(plan.search == "5 blocks; a block is all layers with maps of about one size");
  const std::set<std::string> dropped = Dropped(plan, on.step);
  for (const char* kept : {"conv1_4", "conv2_4", "conv3_4"}) CHECK(dropped.count(kept) == 0);
  for (const char* gone : {"conv1_1", "conv1_3", "pool1", "conv2_1", "pool2"}) CHECK(dropped.count(gone) == 1);
  CHECK(Evaluate(plan, on.problem).feasible);
}

TEST_CASE("blocks are those of the network, in any precision") {
  const std::pair<const char*, int> networks[] = {{"convnext-t", 18}, {"gpt2", 12},     {"vit-b16", 12},
                                                  {"bert-base", 12},  {"resnet50", 16}, {"llama-3.2-1b", 16}};
  for (const auto& [name, blocks] : networks) {
    for (const char* precision : {"fp32", "amp-bf16"}) {
      INFO(name << " " << precision);
      Network network = BuildZooNetwork(name, {.batch = 1});
      ApplyPrecision(network, PrecisionByName(precision));
      const OnUnit on(network);
      CHECK(on.By("checkpoint-blocks").search ==
            fmt::format("{} blocks; a block lies between two maps that every path goes through", blocks));
    }
  }
}

TEST_CASE("inputs of blocks that backward does not read stay until the block has run again") {
  Network network = BuildZooNetwork("convnext-t", {.batch = 1});
  ApplyPrecision(network, PrecisionByName("amp-bf16"));
  OnUnit on(network);
  on.problem.capacity = 100 * kGB;
  const Plan plan = on.By("checkpoint-blocks");
  std::set<std::string> held;
  for (const GapDecision& gap : plan.gaps) {
    if (!gap.IsOpen()) continue;
    held.insert(on.step.tensors[Index(gap.tensor)].name);
    CHECK(on.step.IsBackward(gap.leaves_after));
  }
  CHECK(held.contains("stage3_4_drop"));
  const Evaluation e = Evaluate(plan, on.problem), core = Evaluate(on.By("in-core"), on.problem);
  REQUIRE((e.feasible && core.feasible));
  CHECK(2 * e.recompute_time < core.step_time);  // nothing runs again twice
  std::set<OpId> again;
  for (const GapDecision& gap : plan.gaps) {
    if (!gap.IsOpen()) CHECK(again.insert(gap.tensor).second);
  }
}

// A decoder whose layers all read one memory beside the layer before; and a network that samples down and up again.
TEST_CASE("a memory that all layers read, and a network that samples up again, leave blocks as they are") {
  std::string text = R"(name: decoder
input: {channels: 16, image: 8}
layers:
  - {name: encode, kind: convolution, window: 1, out: 16}
  - {name: start, kind: convolution, window: 3, pad: 1, out: 16}
)";
  std::string x = "start";
  for (int n = 0; n < 4; ++n) {
    text += fmt::format(R"(  - {{name: q{0}, kind: convolution, window: 1, out: 16, from: {1}}}
  - {{name: kv{0}, kind: convolution, window: 1, out: 16, from: encode}}
  - {{name: mix{0}, kind: multiply, from: [q{0}, kv{0}]}}
  - {{name: x{0}, kind: add, from: [mix{0}, {1}]}}
)",
                        n, x);
    x = fmt::format("x{}", n);
  }
  text += "  - {name: head, kind: linear, out: 10}\n  - {name: loss, kind: softmax_loss}\n";
  const auto search = [](const std::string& file) {
    const Document document = ParseDocument(file, "n.yaml");
    Diagnostics diagnostics(document);
    const Network network = ReadNetwork(document.root, diagnostics, 2);
    diagnostics.ThrowIfAny();
    return OnUnit(network).By("checkpoint-blocks").search;
  };
  CHECK(search(text) == "4 blocks; a block lies between two maps that every path goes through");
  CHECK(search(R"(name: up
input: {channels: 3, image: 16}
layers:
  - {name: a, kind: convolution, window: 3, pad: 1, out: 8}
  - {name: pool, kind: max_pool, window: 2, stride: 2}
  - {name: b, kind: convolution, window: 3, pad: 1, out: 8}
  - {name: up, kind: resize, scale: 2}
  - {name: skip, kind: concat, from: [up, a]}
  - {name: c, kind: convolution, window: 3, pad: 1, out: 8}
  - {name: head, kind: linear, out: 10}
  - {name: loss, kind: softmax_loss}
)") == "4 blocks; a block is all layers with maps of about one size");
}

TEST_CASE("blocks of U-Nets with attention, a time and a text are their sizes") {
  struct Row {
    const char* network;
    std::int64_t image;
    int blocks;
  };
  for (const Row& row : {Row{"stable-diffusion-unet", 64, 7}, Row{"swin-unetr", 96, 15}}) {
    for (const char* precision : {"fp32", "amp-bf16"}) {
      INFO(row.network << " " << precision);
      Network network = BuildZooNetwork(row.network, {.batch = 1, .image = row.image});
      ApplyPrecision(network, PrecisionByName(precision));
      const OnUnit on(network);
      CHECK(on.By("checkpoint-blocks").search ==
            fmt::format("{} blocks; a block is all layers with maps of about one size", row.blocks));
      const Blocks blocks = BlocksOfNetwork(on.step);
      for (OpId op = 1; op < on.step.first_backward; ++op) {
        if (blocks.of[Index(op)] == blocks.of[Index(op - 1)]) continue;
        CHECK(on.step.ops[Index(op)].layer != on.step.ops[Index(op - 1)].layer);
      }
    }
  }
}

// Maps of 16 and 8 go up through pixels; windows, a gate and what a further input makes are no sizes of their own.
TEST_CASE("windows, gates and further inputs leave the sizes of a U-Net") {
  const auto search = [](const std::string& file) {
    const Document document = ParseDocument(file, "n.yaml");
    Diagnostics diagnostics(document);
    const Network network = ReadNetwork(document.root, diagnostics, 2);
    diagnostics.ThrowIfAny();
    return OnUnit(network).By("checkpoint-blocks").search;
  };
  CHECK(search(R"(name: up
input: {channels: 3, image: 16}
layers:
  - {name: a, kind: convolution, window: 3, pad: 1, out: 8, from: input}
  - {name: time, kind: input, out: 4, image: [1, 1]}
  - {name: shift, kind: linear, out: 8, from: time}
  - {name: timed, kind: add, from: [a, shift]}
  - {name: rows, kind: windows, window: 4, from: timed}
  - {name: qkv, kind: convolution, window: 1, out: 24}
  - {name: mix, kind: attention, heads: 2, window: 4}
  - {name: image, kind: merge_windows, window: 4, from: [mix, timed]}
  - {name: pool, kind: max_pool, window: 2, stride: 2}
  - {name: b, kind: convolution, window: 3, pad: 1, out: 32}
  - {name: mean, kind: average_pool, global: true}
  - {name: gate, kind: sigmoid}
  - {name: gated, kind: multiply, from: [b, gate]}
  - {name: larger, kind: pixel_shuffle, scale: 2}
  - {name: skip, kind: add, from: [larger, image]}
  - {name: head, kind: linear, out: 10}
  - {name: loss, kind: softmax_loss}
)") == "4 blocks; a block is all layers with maps of about one size");
}

TEST_CASE("blocks of a recording are its outermost repeated modules") {
  const auto plan_of = [](const std::string& text) {
    const auto recorded = ReadRecordedStep(ParseDocument(text, "g.json"));
    const Machine machine = LoadMachine("unit");
    const RecordedCosts costs(machine, {}, recorded);
    Problem problem;
    problem.step = &recorded->step;
    problem.costs = &costs;
    problem.capacity = kGB;
    const Plan plan = StrategyByName("checkpoint-blocks").plan(problem).plan;
    const Evaluation e = Evaluate(plan, problem);
    CHECK(e.feasible);
    CHECK(e.recompute_time == 1000 * static_cast<Nanos>(plan.gaps.size()));
    return std::pair{plan.search, Dropped(plan, recorded->step)};
  };
  for (const char* modules : {"layers", "encoder.stages", "model.3.layers"}) {
    const auto [search, dropped] = plan_of(Recording(modules, 4));
    CHECK(search == "4 blocks; a block is a repeated module");
    CHECK(dropped == std::set<std::string>{"a0.y", "a1.y", "a2.y", "a3.y"});
  }
  // Stages of blocks: the stages are the outermost.
  const auto recorded =
      ReadRecordedStep(ParseDocument(Replaced(Recording("s.0.b", 4), "s.0.b.3.first", "s.1.b.3.first"), "g.json"));
  CHECK(recorded->step.blocks == std::vector<std::int32_t>{0, 0, 0, 0, 0, 0, 1, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0});
  // One alone repeats nothing, and a number without parts is a layer.
  CHECK(plan_of(Recording("layers", 1)).second.empty());
  CHECK(plan_of(Replaced(Recording("layers", 1), "layers.0.first", "features.0")).second.empty());
}

}  // namespace spillway
