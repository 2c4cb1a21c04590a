// Plans that cut ops along channels and rows: what they may say, what they are lowered to, and what is wrong with a Program
// that gets it wrong.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>

#include "sim/evaluate/evaluation.h"
#include "sim/plan/parts.h"
#include "sim/planning/problem.h"
#include "tests/random_plan.h"
#include "tests/sim/parts_place.h"
#include "tests/sim/stream_all.h"
#include "tests/small_networks.h"
#include "tests/user_errors.h"

namespace spillway {
namespace {

Plan Tiled(const PartsPlace& p, OpDecision decision, const TileCounts& tiles) {
  decision.tiles = tiles;
  Plan plan = p.Whole();
  plan.ops.push_back(std::move(decision));
  SwapWhereStreamed(p.step, p.tables.uses, "streamed", plan);
  return plan;
}

std::vector<OpPart> WholeBatch(const PartsPlace& p, OpId op) { return {{.samples = p.step.ops[Index(op)].shape.in.n}}; }

Plan StreamedInTiles(const PartsPlace& p, OpId op, const TileCounts& tiles) {
  return Tiled(p, StreamAll(p, op, WholeBatch(p, op)), tiles);
}

// How often a copy of a box goes in, and out, of tiles of the tensor.
std::pair<int, int> CopiesOf(const Program& program, TensorId tensor) {
  std::pair<int, int> count;
  for (const Copy& copy : program.copies) {
    if (program.buffers[copy.from].box != kWhole && program.buffers[copy.from].tensor == tensor) ++count.second;
    if (program.buffers[copy.to].box != kWhole && program.buffers[copy.to].tensor == tensor) ++count.first;
  }
  return count;
}

// The first kernel of `op` behind instruction `from`.
std::size_t KernelOf(const Program& program, OpId op, std::size_t from = 0) {
  while (program.code[from].opcode != Opcode::kKernel || program.kernels[program.code[from].arg].op != op) ++from;
  return from;
}

}  // namespace

TEST_CASE("ranges of an axis are as equal as can be, the first ones larger") {
  const auto text = [](std::int64_t size, std::int64_t count) {
    std::string all;
    for (std::int64_t k = 0; k < count; ++k) {
      const AxisRange range = EqualRange(size, count, k);
      all += std::to_string(range.begin) + "-" + std::to_string(range.end) + " ";
    }
    return all;
  };
  CHECK(text(9, 4) == "0-3 3-5 5-7 7-9 ");
  CHECK(text(8, 4) == "0-2 2-4 4-6 6-8 ");
  CHECK(text(3, 3) == "0-1 1-2 2-3 ");
}

// A 5x5 window with stride 2 and padding 2 over 9 rows: outputs 0 to 4 begin at -2, 0, 2, 4, 6.
TEST_CASE("rows of a tile and what its windows read") {
  const PartsPlace p(BoxedNetwork());
  const OpId op = p.Op("strided:forward");
  const Op& o = p.step.ops[Index(op)];
  const Launch whole = LaunchOf(o);
  const std::vector<std::int64_t> all{4};
  const std::vector<OpTile> tiles = TilesOf(whole, all, {.rows = 2});
  REQUIRE(tiles.size() == 2);
  const Launch first = LaunchOfTile(whole, tiles[0], false), second = LaunchOfTile(whole, tiles[1], false);
  CHECK(first.shape.in.h == 7);  // rows 0 to 6: outputs 0, 1 and 2
  CHECK(first.shape.pad[1] == Padding(2, 0));
  CHECK(second.shape.in.h == 5);  // rows 4 to 8: outputs 3 and 4
  CHECK(second.shape.pad[1] == Padding(0, 2));
  CHECK(first.shape.out.h + second.shape.out.h == whole.shape.out.h);
  const Launch padded = LaunchOfTile(whole, tiles[0], true);
  CHECK(padded.shape.in.h == 9);  // rows -2 to 6
  CHECK(padded.shape.pad[1] == Padding(0, 0));
  CHECK(BoxText(BoxOfTile(p.step, o, o.reads[0], tiles[0], true)) == "[0:4]x[0:8]x[0:1]x[-2:7]x[0:8]");
  CHECK(BoxText(BoxOfTile(p.step, o, o.writes[0], tiles[1], true)) == "[0:4]x[0:6]x[0:1]x[3:5]x[0:4]");
  // The gradient of the input's rows 0 to 4 takes the outputs whose windows touch them: 0 to 3.
  const Op& data = p.step.ops[Index(p.Op("strided:backward_data"))];
  const OpTile upper = TilesOf(LaunchOf(data), all, {.rows = 2})[0];
  CHECK(upper.rows == AxisRange{0, 5});
  const Launch upper_launch = LaunchOfTile(LaunchOf(data), upper, false);
  CHECK(upper_launch.shape.in.h == 5);
  CHECK(upper_launch.shape.out.h == 4);
  CHECK(upper_launch.shape.pad[1] == Padding(2, 4));
  double shares = 0;
  for (const OpTile& tile : TilesOf(whole, all, {3, 2, 4})) shares += ShareOf(whole, tile);
  CHECK(shares == Approx(1));
}

TEST_CASE("a sum over input channels stays on the device until it is complete") {
  const PartsPlace p(BoxedNetwork());
  const OpId op = p.Op("strided:forward");
  const Op& o = p.step.ops[Index(op)];
  const Plan plan = StreamedInTiles(p, op, {.in_channels = 4, .out_channels = 2, .rows = 3});
  REQUIRE(Says(p, plan) == "");
  const Program program = p.Lowered(plan);
  REQUIRE(ViolationsOf(program, p.step) == "");
  CHECK(CopiesOf(program, o.reads[0]).first == 4 * 2 * 3);
  CHECK(CopiesOf(program, o.writes[0]).second == 2 * 3);
  // Under a filter's gradient the input stays for all ranges of output channels.
  const OpId filter = p.Op("strided:backward_filter");
  const Op& f = p.step.ops[Index(filter)];
  const Program sums = p.Lowered(StreamedInTiles(p, filter, {.in_channels = 2, .out_channels = 3, .rows = 2}));
  REQUIRE(ViolationsOf(sums, p.step) == "");
  CHECK(CopiesOf(sums, f.reads[0]).first == 2 * 2);
  CHECK(CopiesOf(sums, f.reads[1]).first == 2 * 2 * 3);
}

TEST_CASE("tiles that are streamed need less memory the more there are, and time for what they read twice") {
  const PartsPlace p(BoxedNetwork());
  const OpId op = p.Op("strided:forward");
  const Problem problem{.step = &p.step, .costs = &p.costs, .capacity = kGB, .runtime = {}};
  Bytes in_before = 0, set_before = kGB;
  for (const std::int64_t rows : {1, 2, 5}) {
    const Plan plan = Tiled(p, StreamAll(p, op, WholeBatch(p, op), 1), {.rows = rows});
    const Evaluation e = Evaluate(plan, problem);
    REQUIRE(e.feasible);
    CHECK(e.bounds.Best() <= e.step_time);
    const Bytes set = p.tables.WorkingSets(plan.ops)[Index(op)];
    CHECK(set <= set_before);
    CHECK(e.bytes_in > in_before);
    in_before = e.bytes_in;
    set_before = set;
  }
}

TEST_CASE("tiles that an op has not are told, all at once") {
  const PartsPlace p(BoxedNetwork());
  const auto says = [&](const char* name, const TileCounts& tiles) {
    const OpId op = p.Op(name);
    return Says(p, StreamedInTiles(p, op, tiles));
  };
  CHECK(says("strided:forward", {9, 7, 6}) ==
        "ops[0]: op 'strided:forward': in_channels: expected 1 to 8 ranges, found 9\n"
        "ops[0]: op 'strided:forward': out_channels: expected 1 to 6 ranges, found 7\n"
        "ops[0]: op 'strided:forward': rows: expected 1 to 5 ranges, found 6\n");
  CHECK(says("grouped:forward", {.out_channels = 2}) ==
        "ops[0]: op 'grouped:forward': out_channels: this op is not divided along them, found 2 ranges\n");
  CHECK(says("relu:forward", {.in_channels = 2}).find("in_channels: this op is not divided") != std::string::npos);
  CHECK(says("fc:forward", {.rows = 2}).find("rows: this op is not divided") != std::string::npos);
  CHECK(says("strided:forward", {.rows = -3}).find("rows: expected 1 to 5 ranges, found -3") != std::string::npos);
  Plan bare = p.Whole();
  bare.ops.push_back({.op = p.Op("strided:forward"), .tiles = {.rows = 2}});
  CHECK(Says(p, bare) == "ops[0]: op 'strided:forward': expected parts beside tiles, found none\n");
}

TEST_CASE("tiles of a plan file") {
  const PartsPlace p(BoxedNetwork());
  const Plan plan = StreamedInTiles(p, p.Op("strided:forward"), {.out_channels = 2, .rows = 5});
  const std::string text = PlanToYaml(plan, p.step);
  INFO(text);
  CHECK(text.find("}], tiles: {out_channels: 2, rows: 5}, streamed: [relu, strided]}") != std::string::npos);
  CHECK(ParsePlan(text, "plan.yaml", p.step) == plan);
  std::string wrong = text;
  wrong.replace(wrong.find("rows: 5"), 7, "row: 5");
  CHECK(ErrorOf([&] { ParsePlan(wrong, "plan.yaml", p.step); }).find("rows") != std::string::npos);
}

TEST_CASE("a tile that is wrong is told: a halo row short, a sum that lacks a term, a tile overwritten early") {
  const PartsPlace p(BoxedNetwork());
  const OpId op = p.Op("strided:forward");
  const Op& o = p.step.ops[Index(op)];
  const Program good = p.Lowered(StreamedInTiles(p, op, {.in_channels = 2, .rows = 2}));
  REQUIRE(ViolationsOf(good, p.step) == "");
  const auto says = [&](const std::function<void(Program&)>& change) {
    Program program = good;
    change(program);
    return ViolationsOf(program, p.step);
  };
  const std::size_t first = KernelOf(good, op), second = KernelOf(good, op, first + 1);
  const Kernel& kernel = good.kernels[good.code[first].arg];
  const auto tile_of = [&](TensorId t) {
    std::uint32_t k = kernel.operands;
    while (good.buffers[good.operands[k].buffer].tensor != t) ++k;
    return k;
  };
  CHECK(says([&](Program& program) {  // the launch reads a row less than its windows want
          const std::uint32_t x = tile_of(o.reads[0]);
          --program.boxes[program.operands[x].box].end[kHeightAxis];
          --program.launches[kernel.launch].shape.in.h;
        }) != "");
  CHECK(says([&](Program& program) {  // a term of the sum is left out
          program.code.erase(program.code.begin() + static_cast<std::ptrdiff_t>(second));
        }) != "");
  CHECK(says([&](Program& program) {  // the sum begins again
          const std::uint32_t launch = program.kernels[program.code[second].arg].launch;
          program.launches[launch].accumulate = false;
        }) != "");
  for (std::size_t i = first; i < good.code.size(); ++i) {  // the result goes out before its last term is in
    if (good.code[i].opcode != Opcode::kCopy ||
        good.copies[good.code[i].arg].from != good.operands[tile_of(o.writes[0])].buffer) {
      continue;
    }
    CHECK(says([&](Program& program) {
            std::rotate(program.code.begin() + static_cast<std::ptrdiff_t>(second),
                        program.code.begin() + static_cast<std::ptrdiff_t>(i),
                        program.code.begin() + static_cast<std::ptrdiff_t>(i) + 1);
          }) != "");
  }
  CHECK(says([&](Program& program) {  // the padding is whatever was there before
          for (Copy& copy : program.copies) copy.fill = false;
        }) != "");
  CHECK(says([&](Program& program) {  // two tiles at one address
          std::vector<BufferId> tiles;
          for (BufferId b = 0; b < program.buffers.size(); ++b) {
            if (program.buffers[b].box != kWhole) tiles.push_back(b);
          }
          for (const BufferId b : tiles) program.buffers[b].offset = program.buffers[tiles[0]].offset;
        }) != "");
}

}  // namespace spillway
