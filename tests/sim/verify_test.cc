// sim/verify/verify.h without a training step: structure, clauses 2, 5 and 7 of sim/program/program.h, the order of
// things; clauses 3 and 4 and undefined contents: verify_memory_test.cc.
// Each unsafe Program breaks one rule and is the safe one beside it with one thing changed.
#include "sim/verify/verify.h"

#include <catch2/catch.hpp>
#include <functional>

#include "tests/sim/swap_program.h"

namespace spillway {
namespace {

TEST_CASE("a swap with all its waits is safe") {
  CHECK(Violations(SwapProgram()).empty());
  CHECK(Violations(SwapProgram({.arena = false})).empty());
  CHECK(ImpliedWaits(SwapProgram()).empty());
}

TEST_CASE("an empty program is safe") { CHECK(Verify(Program{}).empty()); }

TEST_CASE("each wait of a swap is needed, and the message says for what") {
  // Without e0 the copy (instruction 3) may read x while the kernel (1) writes it, and even before kAlloc (0).
  const std::string out = Violations(SwapProgram({.wait_before_out = false}));
  CHECK_THAT(out,
             Catch::Contains(
                 "clause 4, instruction 3 (copy), buffer 0: this read need not follow the write at instruction 1"));
  CHECK_THAT(out, Catch::Contains("this use need not follow the kAlloc at instruction 0"));
  // Without e1 the host copy is read (8) while it is written (4), and y takes x's address too early.
  const std::string in = Violations(SwapProgram({.wait_before_in = false}));
  CHECK_THAT(in, Catch::Contains("buffer 2 on the host: this read need not follow the write at instruction 4"));
  CHECK_THAT(in, Catch::Contains("clause 5, instruction 7 (kAlloc), buffer 1: it shares addresses with buffer 0"));
  // Without e2 the last kernel (11) reads y while the copy (9) writes it.
  CHECK_THAT(
      Violations(SwapProgram({.wait_before_use = false})),
      Catch::Contains("instruction 11 (kernel), buffer 1: this read need not follow the write at instruction 9"));
}

TEST_CASE("structure: indices and places") {
  const Program safe = SwapProgram();
  const auto broken = [&](const std::function<void(Program&)>& change) {
    Program program = safe;
    change(program);
    return Violations(program);
  };
  const auto structure = Catch::StartsWith("structure");
  CHECK_THAT(broken([](Program& p) { p.code[1].arg = 2; }), structure);          // of two kernels
  CHECK_THAT(broken([](Program& p) { p.code[4].arg = 2; }), structure);          // of two copies
  CHECK_THAT(broken([](Program& p) { p.code[0].arg = 3; }), structure);          // of three buffers
  CHECK_THAT(broken([](Program& p) { p.code[2].arg = 3; }), structure);          // of three events
  CHECK_THAT(broken([](Program& p) { p.code[1].stream = 3; }), structure);       // of three streams
  CHECK_THAT(broken([](Program& p) { p.kernels[1].operands = 2; }), structure);  // of two operands
  CHECK_THAT(broken([](Program& p) { p.kernels[1].operand_count = 2; }), structure);
  CHECK_THAT(broken([](Program& p) { p.kernels[0].operand_count = 0xffffffff; }), structure);
  CHECK_THAT(broken([](Program& p) { p.kernels[0].launch = 1; }), structure);  // of one launch
  CHECK_THAT(broken([](Program& p) { p.kernels[0].op = -2; }), structure);
  CHECK_THAT(broken([](Program& p) { p.operands[0].buffer = 3; }), structure);
  CHECK_THAT(broken([](Program& p) { p.operands[0].access = Access{0}; }), structure);
  CHECK_THAT(broken([](Program& p) { p.operands[0].access = Access{4}; }), structure);
  CHECK_THAT(broken([](Program& p) { p.copies[0].from = kNoBuffer; }), structure);
  CHECK_THAT(broken([](Program& p) { p.copies[0].bytes = 101; }), structure);  // both buffers have 100
  CHECK_THAT(broken([](Program& p) { p.copies[0].offset = 1; }), structure);
  CHECK_THAT(broken([](Program& p) { p.copies[0].offset = -1; }), structure);
  CHECK_THAT(broken([](Program& p) { p.copies[0].bytes = 0; }), structure);
  CHECK_THAT(broken([](Program& p) { p.copies[0].rows = 0; }), structure);
  CHECK_THAT(broken([](Program& p) { p.buffers[2].bytes = -1; }), structure);
  CHECK_THAT(broken([](Program& p) { p.code[1].stream = kOut; }), structure);  // a kernel on a copy stream
  CHECK_THAT(broken([](Program& p) { p.code[4].stream = kIn; }), structure);   // a swap-out on h2d
  CHECK_THAT(broken([](Program& p) { p.code[4].stream = kCompute; }), structure);
  CHECK_THAT(broken([](Program& p) { p.copies[0].direction = Direction::kHostToDevice; }), structure);
  CHECK_THAT(broken([](Program& p) { std::swap(p.copies[0].from, p.copies[0].to); }), structure);
  CHECK_THAT(broken([](Program& p) { p.operands[0].buffer = 2; }), structure);  // a kernel on host memory
  CHECK_THAT(broken([](Program& p) { p.buffers[0].place = 1; }), structure);    // another device
}

TEST_CASE("a stream for both directions copies both ways") {
  Program program = SwapProgram();
  program.streams = {{0, StreamKind::kCompute}, {0, StreamKind::kCopy}};
  for (Instruction& instruction : program.code) {
    if (instruction.stream == kIn) instruction.stream = 1;
  }
  CHECK(Violations(program).empty());
  CHECK(ImpliedWaits(program) == std::vector<std::uint32_t>{7});  // the swap-in follows the swap-out by itself
}

TEST_CASE("clause 2: events") {
  ProgramBuilder twice;
  twice.Record(kCompute);
  Program program = twice.Build();
  CHECK(Violations(program).empty());
  program.code.push_back(program.code[0]);
  CHECK_THAT(Violations(program), Catch::StartsWith("clause 2, instruction 1 (kRecord): event 0 was recorded at 0"));

  ProgramBuilder never;
  never.Record(kCompute);
  program = never.Build();
  program.events = 2;
  CHECK_THAT(Violations(program), Catch::StartsWith("clause 2: event 1 is never recorded"));

  ProgramBuilder late;
  late.Wait(kCompute, 0);
  late.Record(kOut);
  CHECK_THAT(Violations(late.Build()),
             Catch::StartsWith("clause 2, instruction 0 (kWait): event 0 is not recorded before"));

  ProgramBuilder sync;
  sync.Sync(0);
  sync.Record(kOut);
  CHECK_THAT(Violations(sync.Build()), Catch::StartsWith("clause 2, instruction 0 (kHostSync)"));
}

TEST_CASE("order passes from stream to stream, and through the host") {
  // kIn waits for kOut, which waited for compute: kIn follows compute.
  ProgramBuilder relay;
  const BufferId x = relay.Device(100);
  relay.Alloc(kCompute, x);
  relay.Wait(kOut, relay.Record(kCompute));
  relay.Wait(kIn, relay.Record(kOut));
  relay.Free(kIn, x);
  CHECK(Violations(relay.Build()).empty());

  // A host sync orders what is issued after it, on every stream, and nothing that was issued before.
  for (const bool after : {true, false}) {
    ProgramBuilder host;
    const BufferId y = host.Device(100);
    host.Alloc(kCompute, y);
    const EventId done = host.Record(kCompute);
    if (after) host.Sync(done);
    host.Free(kOut, y);
    if (!after) host.Sync(done);
    CHECK(Violations(host.Build()).empty() == after);
  }
}

TEST_CASE("an event covers what its stream did before the record, not after") {
  for (const bool before : {true, false}) {
    ProgramBuilder p;
    const BufferId x = p.Device(100);
    EventId event = 0;
    if (!before) event = p.Record(kCompute);
    p.Alloc(kCompute, x);
    if (before) event = p.Record(kCompute);
    p.Wait(kOut, event);
    p.Free(kOut, x);
    CHECK(Violations(p.Build()).empty() == before);
  }
}

TEST_CASE("clause 5: addresses") {
  Program unplaced = SwapProgram();
  unplaced.buffers[0].offset = -1;
  CHECK(Violations(unplaced) == "clause 5, instruction 0 (kAlloc), buffer 0: it has no address\n");
  unplaced.memory = ProgramMemory::kPool;  // clause 6: a pool gives none
  CHECK(Violations(unplaced).empty());

  // Two buffers live at once, 100 bytes each, at 0 and at `offset`.
  const auto together = [](Bytes offset) {
    ProgramBuilder p;
    const BufferId x = p.DeviceAt(0, 100), y = p.DeviceAt(offset, 100);
    p.Alloc(kCompute, x);
    p.Alloc(kCompute, y);
    p.Free(kCompute, x);
    p.Free(kCompute, y);
    return Violations(p.Build());
  };
  CHECK(together(100).empty());
  CHECK_THAT(together(99), Catch::StartsWith("clause 5, instruction 1 (kAlloc), buffer 1"));
  CHECK_THAT(together(0), Catch::StartsWith("clause 5"));
}

TEST_CASE("clause 5: every earlier owner of any part of the addresses counts") {
  // a and b lie side by side, c within b. The last one, d, covers all of it; `freed` says who is freed before d comes.
  //   0      100       200
  //   | a    |  b      |         then d over [50, 200)
  const auto says = [](bool a_first, bool b_first) {
    ProgramBuilder p;
    const BufferId a = p.DeviceAt(0, 100), b = p.DeviceAt(100, 100), c = p.DeviceAt(120, 20), d = p.DeviceAt(50, 150);
    p.Alloc(kCompute, a);
    p.Alloc(kCompute, b);
    if (b_first) {
      p.Free(kCompute, b);
      p.Alloc(kCompute, c);
      p.Free(kCompute, c);
    }
    if (a_first) p.Free(kCompute, a);
    p.Alloc(kCompute, d);
    if (!a_first) p.Free(kCompute, a);
    if (!b_first) p.Free(kCompute, b), p.Alloc(kOut, c), p.Free(kOut, c);
    p.Free(kCompute, d);
    return Violations(p.Build());
  };
  CHECK(says(true, true).empty());
  CHECK_THAT(says(false, true), Catch::Contains("buffer 3: it shares addresses with buffer 0"));
  CHECK_THAT(says(true, false), Catch::Contains("buffer 3: it shares addresses with buffer 1"));
}

TEST_CASE("clause 7: implied waits are found") {
  ProgramBuilder p;
  const BufferId x = p.Device(100);
  p.Alloc(kCompute, x);                  // 0
  const EventId a = p.Record(kCompute);  // 1
  const EventId b = p.Record(kCompute);  // 2
  p.Wait(kOut, b);                       // 3 says all that a says
  p.Wait(kOut, a);                       // 4 implied
  p.Wait(kCompute, a);                   // 5 implied: its own stream
  p.Sync(p.Record(kOut));                // 6, 7
  p.Wait(kIn, b);                        // 8 implied by the sync
  p.Free(kOut, x);
  CHECK(ImpliedWaits(p.Build()) == std::vector<std::uint32_t>{4, 5, 8});
}

}  // namespace
}  // namespace spillway
