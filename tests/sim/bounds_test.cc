// Expected values are for tests/step_builder.h: a byte takes 1 ns to copy, ops take what they are given.
//
// The chain of 3 layers with maps of 10, gradients of 2 and ops of 4 holds, with everything kept and no input:
//
//   op            0 f1   1 f2   2 f3   3 b3   4 b2   5 b1
//   bytes         10     20     30     32     24     12
//   in a gap      -      -      m1     m1 m2  m1     -
#include "sim/bounds/bounds.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/step_builder.h"

namespace spillway {
namespace {

Bounds BoundsOf(const TrainingStep& step, Bytes capacity, int copy_streams = 2,
                const Machine& machine = HandMachine()) {
  return LowerBounds(step, CostModel(machine), capacity, {.copy_streams = copy_streams});
}

// Like tensors in turn: each is written, rests for one op and is read. Made by no forward op, they can only be swapped.
//   per tensor: make (`make` ns), rest (`rest` ns, over the gap), use (1 ns)
TrainingStep Resting(int tensors, Bytes bytes, Nanos rest, Nanos make = 1) {
  HandStep b;
  for (int i = 0; i < tensors; ++i) {
    const std::string number = std::to_string(i);
    const TensorId t = b.Tensor("g" + number, TensorClass::kGradient, bytes);
    const TensorId other = b.Tensor("w" + number, TensorClass::kGradient, 60);
    b.Op("make" + number, Pass::kBackward, make, {}, {t});
    b.Op("rest" + number, Pass::kBackward, rest, {}, {other});
    b.Op("use" + number, Pass::kBackward, 1, {t}, {});
  }
  return b.Take();
}

}  // namespace

// The A100's rate is worse at 1 GB than at 100 MB, and pieces may be larger than the tensor.
TEST_CASE("no copy, whole or in pieces, is faster than the bounds say, whatever the curve") {
  const TrainingStep step = MakeChain({.data = 0});
  for (const char* name : {"unit", "a100-pcie4", "v100-x86-pcie3", "p100-power8-nvlink1"}) {
    const Machine machine = LoadMachine(name);
    const CostModel costs(machine);
    const StepTables tables(step, costs);
    for (const Bytes chunk : {Bytes{0}, kLeastCopyChunk, 8 * kMiB, 256 * kMiB}) {
      const BoundProblem problem = BoundProblemOf(tables, costs, {}, {}, kGB, {.copy_chunk = chunk});
      for (const Bytes bytes : {100 * kKB, kMB, 10 * kMB, 99 * kMB, 100 * kMB, 101 * kMB, 700 * kMB, 3 * kGB}) {
        Nanos out = 0, in = 0;
        for (Bytes left = bytes; left > 0;) {
          const Bytes piece = chunk == 0 ? left : std::min(left, chunk);
          out += costs.Copy(piece, Direction::kDeviceToHost, 0).time;
          in += costs.Copy(piece, Direction::kHostToDevice, 0).time;
          left -= piece;
        }
        INFO(name << ", " << bytes << " in pieces of " << chunk);
        CHECK(problem.out.Least(bytes) <= static_cast<double>(out));
        CHECK(problem.in.Least(bytes) <= static_cast<double>(in));
      }
    }
  }
}

TEST_CASE("compute is the sum of the ops, whatever the memory") {
  const Bounds bounds = BoundsOf(MakeChain({.data = 0}), 1000);
  CHECK(bounds.compute == 6 * 4);
  CHECK(bounds.transfer == 0);
  CHECK(bounds.memory == bounds.compute);
  CHECK(bounds.Best() == 24);
  CHECK(std::string(bounds.Binding()) == "compute");
}

TEST_CASE("the input must be uploaded") {
  // 100 bytes, which the first op reads, then 24 ns of compute.
  const Bounds bounds = BoundsOf(MakeChain({.data = 100}), 1000);
  CHECK(bounds.transfer == 100);
  CHECK(bounds.compute == 124);
  CHECK(bounds.memory == 124);
  CHECK(std::string(bounds.Binding()) == "compute");
  // Read by the last op alone, it arrives meanwhile.
  TrainingStep late = MakeChain({.data = 0});
  late.tensors.push_back(HandTensor("late", TensorClass::kInput, 100));
  late.ops.back().reads.push_back(static_cast<TensorId>(late.tensors.size() - 1));
  CHECK(BoundsOf(late, 1000).compute == 24);
  CHECK(BoundsOf(late, 1000).Best() == 100);
  CHECK(std::string(BoundsOf(late, 1000).Binding()) == "transfer");
}

TEST_CASE("no bound from memory where everything just fits") {
  CHECK(BoundsOf(MakeChain({.data = 0}), 32).memory == 24);
}

TEST_CASE("with a slow link the missing bytes are recomputed") {
  // Capacity 27, 1000 ns a byte: 5 bytes are missing under b3 and 3 under f3. Under f3 only m1 can give, 0.3 of it;
  // under b3 half of m1 will do, or m2. Recomputing f1 or f2 takes 4: 24 + 0.5 x 4 = 26.
  const Bounds bounds = BoundsOf(MakeChain({.data = 0}), 27, 2, HandMachine(1000));
  CHECK(bounds.memory == 26);
  CHECK(std::string(bounds.Binding()) == "memory");
  // Capacity 22: 10 bytes, a whole map: 24 + 4.
  CHECK(BoundsOf(MakeChain({.data = 0}), 22, 2, HandMachine(1000)).memory == 28);
}

TEST_CASE("fractions of a nanosecond are rounded up, since steps take whole ones") {
  // 1 byte missing under b3: 24 + 0.1 x 4 = 24.4.
  CHECK(BoundsOf(MakeChain({.data = 0}), 31, 2, HandMachine(1000)).memory == 25);
}

TEST_CASE("copies that hide behind compute cost nothing") {
  // Ops of 400: 5 bytes out during f2 and f3 and back during b2 take no time; recomputing would.
  CHECK(BoundsOf(MakeChain({.data = 0, .forward = 400, .backward = 400}), 27).memory == 6 * 400);
}

TEST_CASE("what is absent at the peak comes back after it") {
  // The input of 100 is used by f1 (op 0) and b1 (op 5); it has no writer, so it can only be swapped, without a copy
  // out. With everything kept there are 132 bytes under b3, 10 more than the capacity (8 under f3, 2 under b2).
  // Upload 100, f1 f2 f3 12, b3 4: b3 ends at 116, and in-core the step ends at 124. Bringing 10 bytes back takes from
  // 116 to 126, then b1: 130.
  // Recomputing a share r of m1 or m2 instead saves 10 r there and costs 4 r on 124: 130 - 10 r = 124 + 4 r,
  // r = 3/7, 124 + 12/7 = 125.7.
  CHECK(BoundsOf(MakeChain({.data = 100}), 122).memory == 126);
}

TEST_CASE("a tensor that cannot be recomputed leaves and returns around the peak") {
  // One tensor of 100 at rest under an op that needs 60; capacity 120: 40 bytes are missing.
  // make 1, copy out 40, rest 5, copy in 40, use 1.
  CHECK(BoundsOf(Resting(1, 100, 5), 120).memory == 1 + 40 + 5 + 40 + 1);
  // During a rest of 5 nothing is hidden, since the copies must be over when it starts and start when it is over.
  CHECK(BoundsOf(Resting(1, 100, 50), 120).memory == 1 + 40 + 50 + 40 + 1);
}

TEST_CASE("in parts, copies out may start with the op that makes the bytes, and end inside the one that uses them") {
  // As above with a making of 20. Whole, it comes before the copies, and the use behind them. In parts, samples that are
  // made go out while others are made, and the use begins with samples that are back.
  const TrainingStep step = Resting(1, 100, 5, 20);
  CHECK(BoundsOf(step, 120).memory == 20 + 40 + 5 + 40 + 1);
  const Machine machine = HandMachine();
  CHECK(LowerBounds(step, CostModel(machine), 120, {.parts = PartScope::kBatch}).memory == 40 + 5 + 40);
}

TEST_CASE("one copy stream takes both directions in turn") {
  // Four tensors lack 40 bytes each: 160 bytes out and 160 in. The peak alone asks for 1 + 40 + 5 + 40 + (1 + 3 x 7).
  const TrainingStep step = Resting(4, 100, 5);
  CHECK(BoundsOf(step, 120, 2).memory == 160);
  CHECK(BoundsOf(step, 120, 1).memory == 320);
}

TEST_CASE("latency is left out of the bound, for copies may be of any size") {
  CHECK(BoundsOf(Resting(4, 100, 5), 120, 1, HandMachine(1, 1000)).memory == 320);
  CHECK(BoundsOf(MakeChain({.data = 100}), 1000, 2, HandMachine(1, 1000)).transfer == 100);
}

TEST_CASE("a copy at a fractional rate may be rounded down, and so is its bound") {
  // 3 bytes take 2 ns: 1000 bytes take 666.67, at least 666.17 before rounding.
  Machine machine = HandMachine();
  for (TransferCurve& curve : machine.links[0].curves) curve.points = {{3, 2}, {300000, 200000}};
  CHECK(BoundsOf(MakeChain({.data = 1000}), 100000, 2, machine).transfer == 666);
}

TEST_CASE("where no plan can help the bound is compute") {
  // m3, m2 and g2, g1 are operands: no op of the chain runs in 11 bytes.
  const Bounds bounds = BoundsOf(MakeChain({.data = 0}), 11);
  CHECK(bounds.memory == bounds.compute);
}

TEST_CASE("parameters, optimizer state and auxiliary tensors take room and never move") {
  // 100 bytes of each against the chain that lacks 5 in 27; the last op of the chain must still have them.
  for (TensorClass use : {TensorClass::kParameter, TensorClass::kOptimizerState, TensorClass::kAuxiliary}) {
    TrainingStep step = MakeChain({.data = 0});
    step.tensors.push_back(HandTensor("fixed", use, 100));
    const auto fixed = static_cast<TensorId>(step.tensors.size() - 1);
    step.ops.front().writes.push_back(fixed);
    step.ops.back().reads.push_back(fixed);
    CHECK(BoundsOf(step, 127, 2, HandMachine(1000)).memory == 26);
    CHECK(BoundsOf(step, 31, 2, HandMachine(1000)).memory == 24);  // nothing helps
  }
}

TEST_CASE("parameters are there all the time, other tensors from first to last use") {
  TrainingStep step = MakeChain({.data = 0});
  step.tensors.push_back(HandTensor("unused", TensorClass::kParameter, 100));
  step.tensors.push_back(HandTensor("unused too", TensorClass::kGradient, 5000));
  CHECK(BoundsOf(step, 127, 2, HandMachine(1000)).memory == 26);
}

TEST_CASE("where states may leave, a parameter takes room from its first use to its last one") {
  // 100 bytes that f2 and f3 read, capacity 129: 1 byte is missing under f3, which m1 alone can give, and 3 under b3 if the
  // parameter is still there: 24 + 0.1 x 4 = 24.4, 24 + 0.3 x 4 = 25.2.
  TrainingStep step = MakeChain({.data = 0});
  step.tensors.push_back(HandTensor("weight", TensorClass::kParameter, 100));
  for (const std::size_t op : {1, 2}) step.ops[op].reads.push_back(static_cast<TensorId>(step.tensors.size() - 1));
  const Machine machine = HandMachine(1000);
  CHECK(BoundsOf(step, 129, 2, machine).memory == 26);
  CHECK(LowerBounds(step, CostModel(machine), 129, {.states_leave = true}).memory == 25);
  CHECK(LowerBounds(step, CostModel(machine), 130, {.states_leave = true}).memory == 24);
  // What is written before it is read stays: nothing of it is there from the step before.
  step.ops[1].writes.push_back(step.ops[1].reads.back());
  step.ops[1].reads.pop_back();
  CHECK(LowerBounds(step, CostModel(machine), 129, {.states_leave = true}).memory == 26);
}

TEST_CASE("the workspace that an op wants counts while it runs") {
  // A workspace of 100 for backward ops: 132 under b3, 124 under b2, 112 under b1.
  Machine machine = HandMachine(1000);
  CostLaw law;
  law.op = OpKind::kLinear;
  law.pass = Pass::kBackward;
  law.flop_fraction = 1;
  law.workspace = 100;
  machine.devices[0].laws.push_back(law);
  CHECK(BoundsOf(MakeChain({.data = 0}), 132, 2, machine).memory == 24);
  CHECK(BoundsOf(MakeChain({.data = 0}), 127, 2, machine).memory == 26);
}

TEST_CASE("an op with two results is charged to each by half, for one run makes both") {
  // f makes a and b of 10 each in 8 ns; both rest under an op that needs all of 20 bytes: both go, one run of f: +8.
  HandStep builder;
  const TensorId a = builder.Tensor("a", TensorClass::kFeatureMap, 10),
                 b = builder.Tensor("b", TensorClass::kFeatureMap, 10);
  const TensorId w = builder.Tensor("w", TensorClass::kTransient, 20);
  builder.Op("f:forward", Pass::kForward, 8, {}, {a, b});
  builder.Op("rest:forward", Pass::kForward, 1, {}, {w});
  builder.Op("f:backward", Pass::kBackward, 1, {a, b}, {});
  CHECK(BoundsOf(builder.Take(), 20, 2, HandMachine(1000)).memory == 10 + 8);
}

TEST_CASE("a tensor dropped twice is recomputed twice, but copied out once") {
  // t of 100 rests twice, each time under an op that needs 100 of 100 bytes: all of t must go both times.
  const auto build = [](Pass made_by) {
    HandStep b;
    const TensorId t = b.Tensor("t", TensorClass::kFeatureMap, 100);
    const TensorId w = b.Tensor("w", TensorClass::kGradient, 100), v = b.Tensor("v", TensorClass::kGradient, 100);
    b.Op("make", made_by, 7, {}, {t});
    b.Op("rest1", Pass::kBackward, 1, {}, {w});
    b.Op("use1", Pass::kBackward, 1, {t}, {});
    b.Op("rest2", Pass::kBackward, 1, {}, {v});
    b.Op("use2", Pass::kBackward, 1, {t}, {});
    return b.Take();
  };
  // Slow link: 11 + 2 x 7.
  CHECK(BoundsOf(build(Pass::kForward), 100, 2, HandMachine(1000)).memory == 11 + 14);
  // No forward op makes it: 100 out, 2 x 100 in. Around the first rest: 7 + 100 + 1 + 100 + 3.
  CHECK(BoundsOf(build(Pass::kBackward), 100, 2).memory == 211);
  CHECK(BoundsOf(build(Pass::kBackward), 100, 1).memory == 100 + 200);
}

TEST_CASE("what is only written again may be away before for nothing") {
  // m of 100 rests under an op that needs 100 of 100 bytes, then is written anew.
  const auto build = [](bool reads) {
    HandStep b;
    const TensorId m = b.Tensor("m", TensorClass::kFeatureMap, 100);
    const TensorId w = b.Tensor("w", TensorClass::kGradient, 100);
    b.Op("make:forward", Pass::kForward, 7, {}, {m});
    b.Op("rest", Pass::kBackward, 1, {}, {w});
    b.Op("again", Pass::kBackward, 1, reads ? std::vector<TensorId>{m} : std::vector<TensorId>{}, {m});
    return b.Take();
  };
  CHECK(BoundsOf(build(false), 100, 2, HandMachine(1000)).Best() == 9);
  CHECK(BoundsOf(build(true), 100, 2, HandMachine(1000)).Best() == 9 + 7);
}

TEST_CASE("bounds do not depend on the run") {
  const TrainingStep step = MakeChain({.layers = 40, .data = 30, .map = 17, .gradient = 17, .forward = 11});
  const Bounds first = BoundsOf(step, 300), again = BoundsOf(step, 300);
  CHECK(first.memory == again.memory);
  CHECK(first.memory > first.compute);
}

TEST_CASE("less memory never lowers the bound") {
  const TrainingStep step = MakeChain({.layers = 12, .data = 30, .map = 17, .gradient = 5});
  Nanos previous = 0;
  for (Bytes capacity = 300; capacity >= 60; capacity -= 5) {
    const Nanos bound = BoundsOf(step, capacity).memory;
    INFO("capacity " << capacity);
    CHECK(bound >= previous);
    previous = bound;
  }
}

}  // namespace spillway
