// Reading recorded steps: what becomes a tensor, an op, a map; what may run again; every mistake with its place.
#include "model/recorded/recorded_step.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

namespace spillway {
namespace {

using Lines = std::vector<std::string>;

std::shared_ptr<const RecordedStep> Read(const std::string& text) {
  return ReadRecordedStep(ParseDocument(text, "step.json"));
}

// First lines of the messages, without the excerpts below them.
Lines Complaints(const std::string& text) {
  Lines lines;
  try {
    Read(text);
  } catch (const UserError& error) {
    for (const std::string& message : error.messages()) lines.push_back(message.substr(0, message.find('\n')));
  }
  return lines;
}

// The first node stands in line 3.
std::string WithNodes(const std::string& nodes) {
  return "{\"graph\": \"g\", \"source\": {\"assumed\": \"test\"}, \"error\": 0.1, \"fixed_bytes\": 100, \"values\": [\n"
         "{\"id\": \"x\", \"bytes\": 8, \"where\": \"host\"}, {\"id\": \"w\", \"bytes\": 16}], \"nodes\": [\n" +
         nodes + "]}\n";
}

std::string Forward(const std::string& id, const std::string& deps, const std::string& results,
                    const std::string& more = "") {
  return fmt::format(R"({{"id": "{}", "op": "o", "ns": 10, "deps": [{}], "results": [{}]{}}},)"
                     "\n",
                     id, deps, results, more);
}

std::string Backward(const std::string& id, const std::string& deps, const std::string& results = "") {
  return Forward(id, deps, results, R"(, "pass": "backward")");
}

TensorId TensorOf(const TrainingStep& step, const std::string& name) {
  for (std::size_t t = 0; t < step.tensors.size(); ++t) {
    if (step.tensors[t].name == name) return static_cast<TensorId>(t);
  }
  return kNoTensor;
}

TensorClass ClassOf(const TrainingStep& step, const std::string& name) {
  return step.tensors[Index(TensorOf(step, name))].use;
}

}  // namespace

TEST_CASE("what a result is follows from who reads it") {
  const auto recorded =
      Read(WithNodes(Forward("a", R"("x", "w")", R"({"id": "y", "bytes": 4}, {"id": "s", "bytes": 2})") +
                     Forward("b", R"("y")", R"({"id": "z", "bytes": 4}, {"id": "view", "alias": "y"})") +
                     Forward("c", R"("z")", R"({"id": "z2", "in_place": "z"})") +
                     Backward("d", R"("x", "view", "z2")", R"({"id": "dx", "bytes": 4})") +
                     Forward("u", R"("dx")", R"({"id": "w2", "in_place": "w"})", R"(, "pass": "update")")));
  const TrainingStep& step = recorded->step;
  CHECK(step.recorded());
  CHECK(step.first_backward == 3);
  CHECK(step.first_update == 4);
  CHECK_FALSE(step.inference);
  CHECK(ClassOf(step, "x") == TensorClass::kInput);
  CHECK(ClassOf(step, "w") == TensorClass::kParameter);
  CHECK(ClassOf(step, "fixed bytes") == TensorClass::kParameter);
  CHECK(ClassOf(step, "y") == TensorClass::kFeatureMap);
  CHECK(ClassOf(step, "s") == TensorClass::kTransient);
  CHECK(ClassOf(step, "z") == TensorClass::kFeatureMap);
  CHECK(ClassOf(step, "dx") == TensorClass::kGradient);
  CHECK(TensorOf(step, "view") == kNoTensor);
  const TensorId x = TensorOf(step, "x"), y = TensorOf(step, "y"), z = TensorOf(step, "z");
  CHECK(step.maps == std::vector<TensorId>{x, y, z});
  CHECK(step.ops[2].reads == std::vector<TensorId>{z});
  CHECK(step.ops[2].writes == std::vector<TensorId>{z});
  CHECK(step.ops[3].reads == std::vector<TensorId>{x, y, z});
  CHECK(step.MapBytes() == 16);
  CHECK(step.layer_names == Lines{"a", "b", "c", "d", "u"});
}

TEST_CASE("nodes of a layer are one layer; others are their own") {
  const std::string layer = R"(, "layer": "l")";
  const auto recorded = Read(WithNodes(Forward("a", "", R"({"id": "y", "bytes": 4})", layer) +
                                       Forward("b", R"("y")", "", layer) + Forward("c", R"("y")", "")));
  CHECK(recorded->step.ops[0].layer == recorded->step.ops[1].layer);
  CHECK(recorded->step.ops[1].layer != recorded->step.ops[2].layer);
  CHECK(recorded->step.inference);
}

TEST_CASE("what may run again, and until when") {
  // once: must not run again. late: as long as `mask` is there, which is until b2. again: whatever it takes can be had again.
  const auto recorded =
      Read(WithNodes(Forward("once", R"("x")", R"({"id": "mask", "bytes": 4})", R"(, "recompute": false)") +
                     Forward("late", R"("mask", "x")", R"({"id": "late.y", "bytes": 4})") +
                     Forward("later", R"("late.y")", R"({"id": "later.y", "bytes": 4})") +
                     Forward("again", R"("x", "w")", R"({"id": "again.y", "bytes": 4})") +
                     Forward("norm", R"("again.y")", R"({"id": "n", "bytes": 4}, {"id": "stat", "bytes": 2})") +
                     Forward("relu", R"("n")", R"({"id": "n.relu", "in_place": "n"})") +
                     Forward("count", R"("w")", R"({"id": "w2", "in_place": "w"})") +
                     Backward("b1", R"("later.y", "again.y", "n.relu", "stat")", R"({"id": "g", "bytes": 4})") +
                     Backward("b2", R"("mask", "late.y", "g")", R"({"id": "again.2", "in_place": "again.y"})") +
                     Backward("b3", R"("later.y", "n.relu")")));
  const TrainingStep& step = recorded->step;
  const auto until = [&](const char* name) { return step.again_until[Index(TensorOf(step, name))]; };
  const auto ops = static_cast<OpId>(step.ops.size());
  CHECK(until("mask") == kNoOp);
  CHECK(until("late.y") == 8);
  CHECK(until("later.y") == 8);
  CHECK(until("again.y") == kNoOp);  // reads w, which `count` changes
  CHECK(until("n") == 8);            // b2 writes over again.y
  CHECK(until("stat") == kNoOp);
  CHECK(ClassOf(step, "stat") == TensorClass::kAuxiliary);
  CHECK(step.ops[0].once);
  CHECK(step.ops[3].once);
  CHECK_FALSE(step.ops[4].once);
  CHECK(step.ops[6].once);
  CHECK(step.MayRecompute(TensorOf(step, "late.y"), 8));
  CHECK_FALSE(step.MayRecompute(TensorOf(step, "late.y"), 9));
  CHECK(until("x") == ops);
}

TEST_CASE("a recorded op costs what its ways say") {
  const auto recorded = Read(WithNodes(R"({"id": "a", "op": "o", "ways": [{"ns": 100.4, "workspace": 1000},
    {"algorithm": "slow", "ns": 300}, {"ns": 50, "workspace": 5000}]})"));
  const Machine machine = LoadMachine("unit");
  const RecordedCosts costs(machine, {.workspace_limit = 2000}, recorded);
  Launch launch = LaunchOf(recorded->step.ops[0]);
  CHECK(costs.Kernel(launch).time == 100);
  CHECK(costs.Kernel(launch).workspace == 1000);
  CHECK(costs.Kernel(launch).algorithm == 1);
  CHECK(costs.Kernel(launch).source == Source::Kind::kAssumed);
  CHECK(costs.Kernel(launch).error == 0.1);
  launch.workspace = 0;
  CHECK(costs.Kernel(launch).time == 300);
  launch.workspace = kMostWorkspace;
  CHECK(costs.Kernel(launch).time == 50);
  launch.algorithm = 2;
  CHECK(costs.Kernel(launch).time == 300);
  CHECK(costs.Menu(LaunchOf(recorded->step.ops[0])).size() == 6);
  const RecordedCosts slower(machine, {.workspace_limit = 2000, .compute_slowdown = 2}, recorded);
  CHECK(slower.Kernel(LaunchOf(recorded->step.ops[0])).time == 200);
}

TEST_CASE("mistakes of a recording, all with their places") {
  CHECK(
      Complaints(WithNodes(Forward("a", R"("y")", R"({"id": "y", "bytes": 4})") +
                           Forward("b", R"("z", "u")", R"({"id": "y", "bytes": 4})") +
                           Forward("a", R"("y")", R"({"id": "z", "bytes": 4})"))) ==
      Lines{
          "step.json:3:43: error: 'y' is made by this very node",
          "step.json:4:43: error: 'z' is made later, by 'a' in line 5: nodes are listed in the order in which they run",
          "step.json:4:48: error: unknown id 'u'", "step.json:4:73: error: a second 'y'; the first is in line 3",
          "step.json:5:8: error: a second node 'a'; the first is in line 3"});
  CHECK(
      Complaints(WithNodes(Forward("a", R"("x")", R"({"id": "y", "bytes": 4})") +
                           Forward("b", R"("y")", R"({"id": "y2", "in_place": "y"})") +
                           Forward("c", R"("y")", R"({"id": "x2", "in_place": "x"})") + Backward("d", "") +
                           Forward("e", "", ""))) ==
      Lines{
          "step.json:5:43: error: 'y' has been overwritten by then: name what took its place",
          "step.json:5:86: error: 'x' lies on the host, which a step does not change",
          "step.json:7:8: error: a forward node behind a backward one: expected forward, then backward, then update"});
}

TEST_CASE("numbers of a recording that nobody can mean") {
  CHECK(Complaints(WithNodes(R"({"id": "a", "op": "o", "ns": -1},
{"id": "b", "op": "o"},
{"id": "c", "op": "o", "ns": 5, "results": [{"id": "y", "bytes": 4611686018427387905}]},
{"id": "d", "op": "o", "ns": nan, "workspace": 99999999999999999999},
{"id": "e", "op": "o", "ns": 1, "ways": [{"ns": 1}], "results": [{"id": "z", "bytes": 1, "alias": "x"}]},
{"id": "start", "op": "o", "ns": 1, "colour": 1})")) ==
        Lines{"step.json:3:30: error: ns: expected a number from 0 to 1000000000000000, found '-1'",
              "step.json:4:1: error: missing key 'ns' in node",
              "step.json:5:66: error: bytes: expected a whole number from 0 to 1000000000000000, found "
              "'4611686018427387905'",
              "step.json:6:30: error: ns: expected a number from 0 to 1000000000000000, found 'nan'",
              "step.json:6:48: error: workspace: expected a whole number from 0 to 1000000000000, found "
              "'99999999999999999999'",
              "step.json:7:30: error: 'ns' besides 'ways': give either the one or the other",
              "step.json:7:66: error: result: expected exactly one of bytes, alias and in_place",
              "step.json:8:8: error: 'start': expected up to 200 letters, digits and _ . : / + @ # - [ ]; not 'start'",
              "step.json:8:37: error: unknown key 'colour' in node"});
  const std::string most =
      R"({"id": "%", "op": "o", "ns": 900000000000000, "results": [{"id": "%y", "bytes": 600000000000000}]},)";
  const auto twice = [&](std::string id) {
    std::string text = most;
    for (std::size_t at; (at = text.find('%')) != std::string::npos;) text.replace(at, 1, id);
    return text + "\n";
  };
  CHECK(Complaints(WithNodes(twice("a") + twice("b") + twice("c"))) ==
        Lines{"step.json:4:30: error: more than 1000000000000000 ns up to here",
              "step.json:4:81: error: more than 1000000000000000 bytes up to here"});
}

TEST_CASE("what is no recording is refused at once") {
  CHECK(Complaints("this is no JSON").size() == 1);
  CHECK(Complaints("{\"graph\": \"g\", \"nodes\": [").size() == 1);
  CHECK(Complaints("[1, 2]").size() == 1);
  CHECK(Complaints("{}").size() == 4);  // graph, source, error, nodes
  std::string many = "[\n";
  for (std::size_t k = 0; k <= kMostRecordedNodes; ++k) many += "{},\n";
  CHECK(Complaints("{\"graph\": \"g\", \"source\": {\"assumed\": \"t\"}, \"error\": 0, \"nodes\": " + many + "]}") ==
        Lines{"step.json:1:65: error: nodes: expected at most 50000, found 50001"});
}

TEST_CASE("the example") {
  const auto recorded = LoadRecordedStep(std::string(SPILLWAY_SOURCE_DIR) + "/model/recorded/example.json");
  CHECK(recorded->step.ops.size() == 100);
  CHECK(recorded->step.batch == 16);
  CHECK(recorded->step.maps.size() == 43);
  // 2 x 32 MiB x 3 masks cannot be had again, the softmax before them can.
  CHECK_FALSE(recorded->step.MayRecompute(TensorOf(recorded->step, "b0.mask"), recorded->step.first_backward));
  CHECK(recorded->step.MayRecompute(TensorOf(recorded->step, "b0.scores"), recorded->step.first_backward));
}

}  // namespace spillway
