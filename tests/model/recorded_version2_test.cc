// Version 2 of recorded steps: what it says of calls, of what is held, and of where it was made.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "hw/text/document.h"
#include "model/recorded/recorded_graph.h"
#include "model/recorded/recorded_step.h"
#include "tests/text.h"

namespace spillway {
namespace {

std::shared_ptr<const RecordedStep> Read(const std::string& text) {
  return ReadRecordedStep(ParseDocument(text, "step.json"));
}

std::string Step(const std::string& nodes, const std::string& more = "") {
  return R"({"format": "spillway-step", "version": 2, "graph": "g", "source": {"measured": "test"}, "error": 0.1, )" +
         more +
         R"("values": [{"id": "x", "bytes": 1024, "class": "batch"}, {"id": "w", "bytes": 2048, "class": "weight",
         "name": "fc.weight"}, {"id": "m", "bytes": 2048, "class": "state"}], "nodes": [)" +
         nodes + "]}";
}

std::string Call(const std::string& id, const std::string& pass, const std::string& deps, const std::string& results,
                 const std::string& more = "") {
  return fmt::format(
      R"({{"id": "{}", "op": "aten.o.default", "pass": "{}", "ns": 10, "deps": [{}], "results": [{}]{}}})", id, pass,
      deps, results, more);
}

// a makes y, b reads it, c and d do not; e is backward.
std::string Holding(const std::string& until) {
  return Step(Call("a", "forward", R"("x", "w")", R"({"id": "y", "bytes": 1000, "held_until": ")" + until + R"("})") +
              "," + Call("b", "forward", R"("y")", R"({"id": "z", "bytes": 512})") + "," +
              Call("c", "forward", R"("z")", R"({"id": "u", "bytes": 512})") + "," +
              Call("d", "forward", R"("u")", R"({"id": "v", "bytes": 512})") + "," +
              Call("e", "backward", R"("u", "v")", R"({"id": "g", "bytes": 2048})") + "," +
              Call("f", "update", R"("g")", R"({"id": "w2", "in_place": "w"})"));
}

std::string Complaint(const std::string& text) {
  try {
    Read(text);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TensorId TensorOf(const TrainingStep& step, const std::string& name) {
  for (std::size_t t = 0; t < step.tensors.size(); ++t) {
    if (step.tensors[t].name == name) return static_cast<TensorId>(t);
  }
  return kNoTensor;
}

}  // namespace

TEST_CASE("what a variable holds in forward is workspace of the ops in between") {
  const auto recorded = Read(Holding("c"));
  CHECK(recorded->ways[1][0].workspace == 0);
  CHECK(recorded->ways[2][0].workspace == 1024);
  CHECK(recorded->calls[2].held == 1024);
  CHECK(recorded->ways[3][0].workspace == 0);
  CHECK(recorded->step.MayRecompute(TensorOf(recorded->step, "u"), 4));  // c may run again without what is held
}

TEST_CASE("what a variable holds longer lives there, and is not moved") {
  for (const char* until : {"e", "end"}) {
    const auto recorded = Read(Holding(until));
    const TrainingStep& step = recorded->step;
    const TensorId y = TensorOf(step, "y");
    CHECK(step.ops[std::string(until) == "e" ? 4 : 5].reads.back() == y);
    CHECK(step.tensors[Index(y)].use == TensorClass::kAuxiliary);
    CHECK(std::find(step.maps.begin(), step.maps.end(), y) == step.maps.end());
    CHECK_FALSE(step.MayRecompute(y, 4));
  }
  const auto shorter = Read(Holding("b"));  // no longer than it is read
  CHECK(shorter->step.tensors[Index(TensorOf(shorter->step, "y"))].use == TensorClass::kTransient);
  CHECK(Contains(Complaint(Holding("cc")), "unknown node 'cc'"));
}

// a makes y in forward, c reads it last, d and the calls after it do not.
std::string HeldInBackward(int calls) {
  std::string nodes = Call("a", "forward", R"("x", "w")",
                           fmt::format(R"({{"id": "y", "bytes": 1000, "held_until": "d{}"}})", calls - 1)) +
                      "," + Call("b", "forward", R"("y")", R"({"id": "z", "bytes": 512})") + "," +
                      Call("c", "backward", R"("y", "z")", R"({"id": "g", "bytes": 512})");
  for (int k = 0; k < calls; ++k) {
    nodes +=
        "," + Call(fmt::format("d{}", k), "backward", R"("g")", fmt::format(R"({{"id": "h{}", "bytes": 512}})", k));
  }
  return Step(nodes);
}

// a makes y and b makes z; c and d are one gradient function, of which only d reads y.
std::string TakenTogether(const std::string& also) {
  return Step(Call("a", "forward", R"("x", "w")", R"({"id": "y", "bytes": 1000})") + "," +
              Call("b", "forward", R"("y")", R"({"id": "z", "bytes": 512})") + "," +
              Call("c", "backward", R"("z", "w")", R"({"id": "g", "bytes": 512})", also) + "," +
              Call("d", "backward", R"("z", "y")", R"({"id": "h", "bytes": 512})"));
}

TEST_CASE("what a node needs without reading it is on the device as what it reads is") {
  const auto with = Read(TakenTogether(R"(, "also": ["y", "z"])")), without = Read(TakenTogether(""));
  const TensorId y = TensorOf(with->step, "y");
  CHECK(with->step.ops[2].reads.back() == y);
  CHECK(with->step.ops[2].reads.size() == without->step.ops[2].reads.size() + 1);  // z is read, and counts once
  CHECK(with->step.ops[3].reads == without->step.ops[3].reads);
  CHECK(with->step.MayRecompute(y, 2));
  CHECK(with->step.tensors[Index(y)].use == TensorClass::kFeatureMap);
  CHECK(Contains(Complaint(TakenTogether(R"(, "also": ["yy"])")), "unknown id 'yy'"));
  CHECK(Contains(Complaint(TakenTogether(R"(, "also": "y")")), "also: expected a list"));
  CHECK(Contains(Complaint(TakenTogether(R"(, "also": ["h"])")), "'h' is made later"));
}

TEST_CASE("what backward holds for a few calls only stays for them, and may leave before") {
  for (const int calls : {1, 2, 32}) {
    const auto recorded = Read(HeldInBackward(calls));
    const TrainingStep& step = recorded->step;
    const TensorId y = TensorOf(step, "y");
    INFO(calls);
    CHECK(step.tensors[Index(y)].use == TensorClass::kFeatureMap);
    CHECK(std::find(step.maps.begin(), step.maps.end(), y) != step.maps.end());
    CHECK(step.MayRecompute(y, 2));
    for (int k = 0; k < calls; ++k) CHECK(step.ops[static_cast<std::size_t>(3 + k)].reads.back() == y);
  }
  const auto longer = Read(HeldInBackward(33));
  CHECK(longer->step.tensors[Index(TensorOf(longer->step, "y"))].use == TensorClass::kAuxiliary);
}

TEST_CASE("random calls run again only where they can be replayed") {
  const auto may = [](const std::string& more) {
    return !Read(Step(Call("a", "forward", R"("x")", R"({"id": "y", "bytes": 8})", more)))->step.ops[0].once;
  };
  CHECK(may(""));
  CHECK_FALSE(may(R"(, "random": true)"));
  CHECK(may(R"(, "random": true, "replay": true)"));
  CHECK_FALSE(may(R"(, "random": true, "replay": true, "recompute": false)"));
  CHECK(Contains(Complaint(Step(Call("a", "forward", "", "", R"(, "replay": true)"))), "the node is not `random`"));
  const std::string unseen = Step(Call("a", "forward", R"("x")", R"({"id": "y", "bytes": 8})"), R"("unseen": ["y"], )");
  CHECK(Read(unseen)->step.ops[0].once);
}

TEST_CASE("tensors have the use that a recording says, else that of their readers") {
  const auto recorded = Read(Holding("end"));
  const auto use = [&](const char* name) { return recorded->uses[Index(TensorOf(recorded->step, name))]; };
  CHECK(use("x") == RecordedUse::kBatch);
  CHECK(use("w") == RecordedUse::kWeights);
  CHECK(use("m") == RecordedUse::kStates);
  CHECK(use("u") == RecordedUse::kSaved);
  CHECK(use("z") == RecordedUse::kTemporaries);
  CHECK(use("g") == RecordedUse::kGradients);
  CHECK(recorded->makers[Index(TensorOf(recorded->step, "u"))] == 2);
}

TEST_CASE("flops of recorded calls") {
  using Operands = std::vector<RecordedOperand>;
  CHECK(FlopsOf("aten.addmm.default", Operands{{{8}}, {{4, 16}}, {{16, 8}}}, Operands{{{4, 8}}}) == 2.0 * 4 * 16 * 8);
  CHECK(FlopsOf("bmm.default", Operands{{{2, 4, 16}}, {{2, 16, 8}}}, Operands{{{2, 4, 8}}}) == 2.0 * 2 * 4 * 16 * 8);
  const Operands image{{{2, 3, 8, 8}}, {{5, 3, 3, 3}}, {{5}}}, result{{{2, 5, 8, 8}}};
  const double convolution = 2.0 * 2 * 5 * 64 * 27;
  CHECK(FlopsOf("aten.convolution.default", image, result) == convolution);
  CHECK(FlopsOf("aten.convolution_backward.default", Operands{result[0], image[0], image[1]}, image) ==
        2 * convolution);
  CHECK(FlopsOf("aten.convolution.default", Operands{{{2, 6, 4, 4, 4}}, {{6, 5, 2, 2, 2}}},
                Operands{{{2, 5, 8, 8, 8}}}) == 2.0 * 2 * 6 * 64 * 5 * 8);
  CHECK(FlopsOf("aten._scaled_dot_product_flash_attention.default", Operands(3, {{2, 4, 32, 16}}), {}) ==
        4.0 * 2 * 4 * 32 * 32 * 16);
  CHECK(FlopsOf("aten.add.Tensor", image, result) == 0);
}

TEST_CASE("mistakes of version 2") {
  const std::string call = Call("a", "forward", "", "");
  CHECK(Contains(Complaint(Step(call, R"("device": {"name": "x"}, )")), "missing key 'type'"));
  CHECK(Contains(Complaint(Step(call, R"("device": {"type": "cdua"}, )")), "did you mean 'cuda'?"));
  CHECK(Contains(Complaint(Step(call, R"("machine": {"copy_in_bytes_per_s": 5}, )")), "with copy_out_bytes_per_s"));
  CHECK(Contains(Complaint(Step(call, R"("varies": [{"node": "b", "argument": 0}], )")), "unknown node 'b'"));
  CHECK(Contains(Complaint(Step(call, R"("unseen": ["b"], )")), "unknown id 'b'"));
  CHECK(Contains(Complaint(Step(Call("a", "forward", "", "", R"(, "inputs": [{"shape": [2, -1]}])"))),
                 "shape: expected a whole number"));
  CHECK(Contains(Complaint(Step(Call("a", "forward", "", "", R"(, "inputs": [{"shape": [2], "stride": [2, 1]}])"))),
                 "stride: expected as many numbers as in shape, 1, found 2"));
  std::string later = Step(call);
  later.replace(later.find("\"version\": 2"), 12, "\"version\": 3");
  CHECK(Contains(Complaint(later), "this program reads versions 1 to 2, found '3'"));
  CHECK(Contains(
      Complaint(R"({"format": "spillway-step", "graph": "g", "source": {"assumed": "a"}, "error": 0, "nodes": [)" +
                call + "]}"),
      "expected both or none"));
}

TEST_CASE("a recording on another device is assumed and scaled; one without a device says so") {
  const std::string call = Call("a", "forward", R"("x")", R"({"id": "y", "bytes": 1024})");
  const Machine v100 = LoadMachine("v100-x86-pcie3"), h100 = LoadMachine("h100-sxm");
  const auto on_v100 = Read(Step(call, R"("device": {"type": "cuda", "name": "Tesla V100-SXM2-16GB"}, )"));
  CHECK(CarryTimes(v100, *on_v100).same);
  const CarriedTimes carried = CarryTimes(h100, *on_v100);
  CHECK_FALSE(carried.same);
  CHECK(carried.by_flops == Approx(15.7 / 66.9));
  CHECK(carried.by_bytes == Approx(900.0 / 3350));
  CHECK(carried.flops_error > 0.5);
  CHECK(Contains(carried.note, "recorded on Tesla V100-SXM2-16GB (fp32), not on h100-sxm"));
  const auto processor = Read(Step(call, R"("device": {"type": "cpu", "name": "EPYC"}, )"));
  const CarriedTimes of_cpu = CarryTimes(v100, *processor);
  CHECK(of_cpu.by_bytes == Approx(2048.0 / 10 / 900));
  CHECK(of_cpu.bytes_error == 1);
  const CarriedTimes unknown = CarryTimes(v100, *Read(Step(call)));
  CHECK_FALSE(unknown.same);
  CHECK(unknown.by_bytes == 1);
  CHECK(Contains(unknown.note, "does not name its device"));
}

TEST_CASE("a node may take another time when it runs again, in each of its ways") {
  const std::string y = R"({"id": "y", "bytes": 1000})";
  const auto way_of = [](const std::string& text) {
    const auto recorded = Read(text);
    CHECK(recorded->step.ops[0].recompute_differs);
    return recorded->ways[0].back();
  };
  CHECK(way_of(Step(Call("a", "forward", "", y, R"(, "recompute_ns": 4)"))).recompute_time == 4);
  const std::string ways = R"({"id": "a", "op": "o", "results": [{"id": "y", "bytes": 8}], "ways": [)";
  CHECK(way_of(Step(ways + R"({"ns": 5, "recompute_ns": 2}, {"ns": 7}]})")).recompute_time == 7);
  CHECK_FALSE(Read(Step(Call("a", "forward", "", y, R"(, "recompute_ns": 10)")))->step.ops[0].recompute_differs);

  const auto recorded = Read(Step(ways + R"({"ns": 5, "recompute_ns": 2}, {"ns": 3, "workspace": 512}]})"));
  const Machine machine = LoadMachine("unit");
  const RecordedCosts costs(machine, {}, recorded);
  const Op& op = recorded->step.ops[0];
  CHECK(costs.Kernel(LaunchOf(op)).time == 3);
  CHECK(costs.Kernel(RecomputationOf(op)).time == 2);
  CHECK(costs.Menu(LaunchOf(op)).front().cost.time == 3);
  CHECK(costs.Menu(RecomputationOf(op)).front().cost.time == 2);
}

TEST_CASE("a time of recomputation where nothing runs again is refused") {
  const std::string y = R"({"id": "y", "bytes": 1000})", again = R"(, "recompute_ns": 4)";
  const std::string expected = "recompute_ns: expected of forward nodes that may run twice, found another node";
  CHECK_THAT(Complaint(Step(Call("a", "forward", "", y, again + R"(, "recompute": false)"))),
             Catch::Contains(expected));
  CHECK_THAT(Complaint(Step(Call("a", "forward", "", y, again + R"(, "random": true)"))), Catch::Contains(expected));
  CHECK_THAT(Complaint(Step(Call("a", "backward", "", y, again))), Catch::Contains(expected));
  CHECK_THAT(Complaint(Step(R"({"id": "a", "op": "o", "recompute_ns": 3, "ways": [{"ns": 5}]})")),
             Catch::Contains("'recompute_ns' besides 'ways'"));
  CHECK_THAT(Complaint(Step(Call("a", "forward", "", y, R"(, "recompute_ns": -1)"))), Catch::Contains("recompute_ns"));
}

}  // namespace spillway
