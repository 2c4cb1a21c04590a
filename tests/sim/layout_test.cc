// Addresses: small cases drawn by hand, and the rules by brute force on Programs of real networks.
#include "sim/program/layout/layout.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "model/cost/cost_model.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/program/lower/lower.h"
#include "sim/verify/verify.h"
#include "tests/program_builder.h"
#include "tests/random_plan.h"

namespace spillway {
namespace {

constexpr Bytes kUnit = 512;

// Most bytes live in list order.
Bytes LivePeak(const Program& program) {
  Bytes live = 0, peak = 0;
  for (const Instruction& in : program.code) {
    if (in.opcode == Opcode::kAlloc) live += program.buffers[in.arg].bytes;
    if (in.opcode == Opcode::kFree) live -= program.buffers[in.arg].bytes;
    peak = std::max(peak, live);
  }
  return peak;
}

// Pairs of buffers that are live together in list order and share an address.
int Overlaps(const Program& program) {
  int overlaps = 0;
  std::vector<BufferId> live;
  for (const Instruction& in : program.code) {
    if (in.opcode == Opcode::kFree) live.erase(std::find(live.begin(), live.end(), in.arg));
    if (in.opcode != Opcode::kAlloc) continue;
    const Buffer& a = program.buffers[in.arg];
    overlaps += static_cast<int>(std::count_if(live.begin(), live.end(), [&](BufferId other) {
      const Buffer& b = program.buffers[other];
      return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
    }));
    live.push_back(in.arg);
  }
  return overlaps;
}

int Waits(const Program& program, Cause cause) {
  return static_cast<int>(std::count_if(program.code.begin(), program.code.end(), [cause](const Instruction& in) {
    return in.opcode == Opcode::kWait && in.cause == cause;
  }));
}

// A kernel that writes a new buffer.
BufferId Made(ProgramBuilder& p, Bytes units, StreamId stream = kCompute) {
  const BufferId buffer = p.Device(units * kUnit);
  p.Alloc(stream, buffer);
  p.Kernel({Wr(buffer)}, kNoOp, stream);
  return buffer;
}

TEST_CASE("nothing to lay out") {
  Program program = ProgramBuilder().Build();
  CHECK(PlaceBuffers(program) == 0);
  CHECK(program.code.empty());
}

//   units
//     3 |    |--c--|
//     2 |  |----b----|
//     1 ||------a------|
TEST_CASE("a stack takes what is live at its top, in any of the layouts") {
  ProgramBuilder p;
  std::vector<BufferId> stack;
  for (const Bytes units : {3, 1, 4, 1, 5}) stack.push_back(Made(p, units));
  for (; !stack.empty(); stack.pop_back()) p.Free(kCompute, stack.back());
  for (const Bytes capacity : {0, 14, 20}) {
    Program program = p.Build();
    CHECK(PlaceBuffers(program, capacity * kUnit) == 14 * kUnit);  // 3 + 1 + 4 + 1 + 5
    CHECK(program.PeakAddress() == 14 * kUnit);
    CHECK(Overlaps(program) == 0);
  }
}

TEST_CASE("one stream reuses addresses without waiting") {
  ProgramBuilder p;
  for (int k = 0; k < 3; ++k) p.Free(kCompute, Made(p, 2));
  Program program = p.Build();
  CHECK(PlaceBuffers(program) == 2 * kUnit);
  CHECK(program.code.size() == 9);
  CHECK(program.events == 0);
}

// a is freed on the copy stream; b has its address.
TEST_CASE("across streams the next user of an address waits for the free of the one before") {
  ProgramBuilder p;
  const BufferId a = Made(p, 2), host = p.Host(2 * kUnit);
  p.Wait(kOut, p.Record(kCompute), Cause::kProduced);
  p.Copy(kOut, a, host);
  p.Free(kOut, a);
  const BufferId b = Made(p, 2);
  p.Free(kCompute, b);
  SECTION("as few bytes as possible: one place") {
    Program program = p.Build();
    CHECK(PlaceBuffers(program) == 2 * kUnit);
    CHECK(program.buffers[b].offset == program.buffers[a].offset);
    CHECK(Waits(program, Cause::kProduced) == 1);
    CHECK(Waits(program, Cause::kSwapOut) == 1);
    CHECK(Verify(program).empty());
  }
  SECTION("room for both: no wait") {
    Program program = p.Build();
    CHECK(PlaceBuffers(program, 4 * kUnit) == 4 * kUnit);
    CHECK(program.buffers[b].offset != program.buffers[a].offset);
    CHECK(Waits(program, Cause::kSwapOut) == 0);
    CHECK(Verify(program).empty());
  }
  SECTION("not enough room for both") {
    Program program = p.Build();
    CHECK(PlaceBuffers(program, 3 * kUnit) == 2 * kUnit);
    CHECK(Waits(program, Cause::kSwapOut) == 1);
  }
}

TEST_CASE("a swap-in into memory that a kernel used waits for that kernel") {
  ProgramBuilder p;
  p.Free(kCompute, Made(p, 1));
  const BufferId host = p.Host(kUnit), b = p.Device(kUnit);
  p.Alloc(kIn, b);
  p.Copy(kIn, host, b);
  p.Free(kIn, b);
  Program program = p.Build();
  CHECK(PlaceBuffers(program) == kUnit);
  CHECK(Waits(program, Cause::kMemory) == 1);
}

TEST_CASE("a buffer over the places of two waits for both, unless one wait implies the other") {
  // a and b are freed on the two copy streams, c takes the place of both.
  ProgramBuilder p;
  const BufferId a = Made(p, 1), b = Made(p, 1);
  const EventId made = p.Record(kCompute);
  p.Wait(kOut, made, Cause::kProduced);
  p.Free(kOut, a);
  p.Wait(kIn, made, Cause::kProduced);
  p.Free(kIn, b);
  p.Free(kCompute, Made(p, 2));
  Program program = p.Build();
  CHECK(PlaceBuffers(program) == 2 * kUnit);
  CHECK(Waits(program, Cause::kSwapOut) == 2);
  CHECK(Verify(program).empty());
  CHECK(ImpliedWaits(program).empty());
}

TEST_CASE("among places of equal use a buffer takes the one given back longest ago") {
  // Three buffers are copied out one after the other; the next one goes where the first was.
  ProgramBuilder p;
  std::vector<BufferId> out;
  for (int k = 0; k < 3; ++k) out.push_back(Made(p, 1));
  p.Wait(kOut, p.Record(kCompute), Cause::kProduced);
  for (const BufferId buffer : out) p.Free(kOut, buffer);
  const BufferId next = Made(p, 1);
  p.Free(kCompute, next);
  Program program = p.Build();
  CHECK(PlaceBuffers(program, 3 * kUnit) == 3 * kUnit);
  CHECK(Verify(program).empty());
  CHECK(Waits(program, Cause::kSwapOut) == 1);
  INFO(DumpProgram(program));
  CHECK(program.buffers[next].offset == program.buffers[out[0]].offset);
}

// A map that lives from the start for three quarters of the list, and one as large after it.
//
//   units
//     7 |----c---| |------|   kernels make and free c, one after the other
//     6 ||---a----|
//       |          |--b---|
TEST_CASE("addresses of a map that lives long are somebody else's after it") {
  ProgramBuilder p;
  const auto run = [&p](int times) {
    for (int k = 0; k < times; ++k) p.Free(kCompute, Made(p, 1));
  };
  const BufferId a = Made(p, 6);
  run(30);
  p.Free(kCompute, a);
  const BufferId b = Made(p, 6);
  run(5);
  p.Free(kCompute, b);
  for (const Bytes capacity : {0, 7, 20}) {
    Program program = p.Build();
    CHECK(PlaceBuffers(program, capacity * kUnit) == 7 * kUnit);
    CHECK(Overlaps(program) == 0);
  }
}

struct Net {
  explicit Net(const char* name, std::int64_t batch)
      : step(BuildTrainingStep(BuildZooNetwork(name, {.batch = batch}))), tables(step, costs) {}
  Machine machine = LoadMachine("unit");
  CostModel costs{machine};
  TrainingStep step;
  StepTables tables;
};

Plan InCore(const TrainingStep& step) {
  Plan plan;
  plan.network = step.network;
  plan.batch = step.batch;
  return plan;
}

TEST_CASE("random plans: no overlap, at least the live peak, capacity kept where it is said to be") {
  Random random(11);
  int programs = 0, within = 0;
  for (const char* name : {"cifar-vgg", "cifar-alexnet", "cifar-resnet20"}) {
    const Net n(name, 2);
    for (const std::uint32_t percent : {0u, 20u, 60u, 100u}) {
      for (const int streams : {1, 2}) {
        const Plan plan = RandomPlan(n.step, {.copy_streams = streams}, percent, random);
        const Program lowered = Lower(plan, n.tables, 0).program;
        const Bytes live = LivePeak(lowered);
        for (const Bytes capacity : {Bytes{0}, live, live + live / 20, 2 * live}) {
          Program program = lowered;
          const Bytes peak = PlaceBuffers(program, capacity);
          INFO(name << " " << percent << " % " << streams << " " << capacity << " live " << live << " peak " << peak);
          REQUIRE(Overlaps(program) == 0);
          REQUIRE(program.PeakAddress() == peak);
          REQUIRE(peak >= live);
          REQUIRE(Verify(program, &n.step).empty());
          REQUIRE(ImpliedWaits(program).empty());
          if (capacity >= live + live / 20) CHECK(peak <= capacity);
          ++programs;
          within += capacity > 0 && peak <= capacity ? 1 : 0;
        }
      }
    }
  }
  CHECK(programs == 3 * 4 * 2 * 4);
  CHECK(within >= programs / 2);
}

TEST_CASE("the same Program gets the same layout") {
  Random random(12);
  const Net n("cifar-resnet20", 2);
  const Program lowered = Lower(RandomPlan(n.step, {}, 50, random), n.tables, 0).program;
  Program one = lowered, two = lowered;
  CHECK(PlaceBuffers(one, 0) == PlaceBuffers(two, 0));
  CHECK(DumpProgram(one, &n.step) == DumpProgram(two, &n.step));
  PlaceBuffers(two, 0);  // and of what was laid out already
  CHECK(DumpProgram(one, &n.step) == DumpProgram(two, &n.step));
}

TEST_CASE("ResNet-50 in-core at batch 128 needs less than 1 % more than is live") {
  const Net n("resnet50", 128);
  Program program = Lower(InCore(n.step), n.tables, 0).program;
  const Bytes live = LivePeak(program);
  const double ratio = static_cast<double>(PlaceBuffers(program)) / static_cast<double>(live);
  CAPTURE(ratio, live);
  CHECK(ratio >= 1);
  CHECK(ratio <= 1.01);
}

TEST_CASE("ResNet-50 with every map swapped needs less than 1 % more than is live") {
  const Net n("resnet50", 128);
  Plan plan = InCore(n.step);
  const Uses uses(n.step);
  for (const TensorId map : n.step.maps) {
    const MapGap ends = ForwardBackwardGap(n.step, uses, map);
    if (ends.before == kNoOp) continue;
    GapDecision gap;
    gap.tensor = map;
    gap.after = gap.out_after = ends.after;
    gap.before = gap.in_at = ends.before;
    plan.gaps.push_back(gap);
  }
  REQUIRE(plan.gaps.size() == 105);
  Program program = Lower(plan, n.tables, 0).program;
  const Bytes live = LivePeak(program);
  const double ratio = static_cast<double>(PlaceBuffers(program)) / static_cast<double>(live);
  CAPTURE(ratio, live);
  CHECK(Overlaps(program) == 0);
  CHECK(ratio >= 1);
  CHECK(ratio <= 1.01);
}

}  // namespace
}  // namespace spillway
