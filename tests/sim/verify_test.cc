// sim/verify/verify.h without a training step: structure, clauses 2 to 5 and 7 of sim/program/program.h, undefined contents.
// Each unsafe Program breaks one rule and is the safe one beside it with one thing changed.
#include "sim/verify/verify.h"

#include <catch2/catch.hpp>
#include <functional>

#include "tests/program_builder.h"

namespace spillway {
namespace {

// What Verify says of the program, one line per violation; "" = safe.
std::string Says(const Program& program) {
  std::string text;
  for (const Violation& violation : Verify(program)) text += violation.message + "\n";
  return text;
}

// A result is swapped out, and in again into a buffer of its own, which may share the address of the first:
//
//   compute  0 alloc x  1 W x  2 rec e0                                                   11 wait e2  12 R y  13 free y
//   d2h                          3 wait e0  4 copy x->h  5 free x  6 rec e1
//   h2d                                                   7 wait e1  8 alloc y  9 copy  10 rec e2
struct SwapOptions {
  bool wait_before_out = true;  // e0
  bool wait_before_in = true;   // e1
  bool wait_before_use = true;  // e2
  Bytes y_at = 0;               // the address of x
  bool arena = true;
};
Program SwapProgram(const SwapOptions& options = {}) {
  ProgramBuilder p;
  const BufferId x = p.DeviceAt(0, 100), y = p.DeviceAt(options.y_at, 100), h = p.Host(100);
  p.Alloc(kCompute, x);
  p.Kernel({Wr(x)});
  const EventId computed = p.Record(kCompute);
  if (options.wait_before_out) p.Wait(kOut, computed, Cause::kProduced);
  p.Copy(kOut, x, h);
  p.Free(kOut, x);
  const EventId out = p.Record(kOut);
  if (options.wait_before_in) p.Wait(kIn, out, Cause::kSwapOut);
  p.Alloc(kIn, y);
  p.Copy(kIn, h, y);
  const EventId in = p.Record(kIn);
  if (options.wait_before_use) p.Wait(kCompute, in, Cause::kSwapIn);
  p.Kernel({Rd(y)});
  p.Free(kCompute, y);
  Program program = p.Build();
  program.arena = options.arena;
  return program;
}

TEST_CASE("a swap with all its waits is safe") {
  CHECK(Says(SwapProgram()).empty());
  CHECK(Says(SwapProgram({.arena = false})).empty());
  CHECK(ImpliedWaits(SwapProgram()).empty());
}

TEST_CASE("an empty program is safe") { CHECK(Verify(Program{}).empty()); }

TEST_CASE("each wait of a swap is needed, and the message says for what") {
  // Without e0 the copy (instruction 3) may read x while the kernel (1) writes it, and even before kAlloc (0).
  const std::string out = Says(SwapProgram({.wait_before_out = false}));
  CHECK_THAT(out,
             Catch::Contains(
                 "clause 4, instruction 3 (copy), buffer 0: this read need not follow the write at instruction 1"));
  CHECK_THAT(out, Catch::Contains("this use need not follow the kAlloc at instruction 0"));
  // Without e1 the host copy is read (8) while it is written (4), and y takes x's address too early.
  const std::string in = Says(SwapProgram({.wait_before_in = false}));
  CHECK_THAT(in, Catch::Contains("buffer 2 on the host: this read need not follow the write at instruction 4"));
  CHECK_THAT(in, Catch::Contains("clause 5, instruction 7 (kAlloc), buffer 1: it shares addresses with buffer 0"));
  // Without e2 the last kernel (11) reads y while the copy (9) writes it.
  CHECK_THAT(
      Says(SwapProgram({.wait_before_use = false})),
      Catch::Contains("instruction 11 (kernel), buffer 1: this read need not follow the write at instruction 9"));
}

TEST_CASE("structure: indices and places") {
  const Program safe = SwapProgram();
  const auto broken = [&](const std::function<void(Program&)>& change) {
    Program program = safe;
    change(program);
    return Says(program);
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
  CHECK(Says(program).empty());
  CHECK(ImpliedWaits(program) == std::vector<std::uint32_t>{7});  // the swap-in follows the swap-out by itself
}

TEST_CASE("clause 2: events") {
  ProgramBuilder twice;
  twice.Record(kCompute);
  Program program = twice.Build();
  CHECK(Says(program).empty());
  program.code.push_back(program.code[0]);
  CHECK_THAT(Says(program), Catch::StartsWith("clause 2, instruction 1 (kRecord): event 0 was recorded at 0"));

  ProgramBuilder never;
  never.Record(kCompute);
  program = never.Build();
  program.events = 2;
  CHECK_THAT(Says(program), Catch::StartsWith("clause 2: event 1 is never recorded"));

  ProgramBuilder late;
  late.Wait(kCompute, 0);
  late.Record(kOut);
  CHECK_THAT(Says(late.Build()), Catch::StartsWith("clause 2, instruction 0 (kWait): event 0 is not recorded before"));

  ProgramBuilder sync;
  sync.Sync(0);
  sync.Record(kOut);
  CHECK_THAT(Says(sync.Build()), Catch::StartsWith("clause 2, instruction 0 (kHostSync)"));
}

TEST_CASE("clause 3: allocated once, freed once") {
  using Build = std::function<void(ProgramBuilder&, BufferId)>;
  const auto says = [](const Build& build) {
    ProgramBuilder p;
    const BufferId x = p.Device(100);
    build(p, x);
    return Says(p.Build());
  };
  const auto clause3 = Catch::StartsWith("clause 3");
  CHECK(says([](ProgramBuilder& p, BufferId x) { p.Alloc(kCompute, x), p.Free(kCompute, x); }).empty());
  CHECK_THAT(says([](ProgramBuilder&, BufferId) {}), clause3);
  CHECK_THAT(says([](ProgramBuilder& p, BufferId x) { p.Alloc(kCompute, x); }), clause3);
  CHECK_THAT(says([](ProgramBuilder& p, BufferId x) { p.Free(kCompute, x); }), clause3);
  CHECK_THAT(says([](ProgramBuilder& p, BufferId x) { p.Free(kCompute, x), p.Alloc(kCompute, x); }), clause3);
  CHECK_THAT(says([](ProgramBuilder& p, BufferId x) { p.Alloc(kCompute, x), p.Alloc(kIn, x), p.Free(kIn, x); }),
             clause3);
  CHECK_THAT(says([](ProgramBuilder& p, BufferId x) { p.Alloc(kCompute, x), p.Free(kIn, x), p.Free(kIn, x); }),
             clause3);
  CHECK_THAT(says([](ProgramBuilder& p, BufferId) { p.Alloc(kCompute, p.Host(100)); }), clause3);
}

TEST_CASE("clause 4: kFree on another stream waits for every access, and for kAlloc") {
  for (const bool wait : {true, false}) {
    // compute: alloc x, W x, record. d2h: (wait,) free x.
    ProgramBuilder used, unused;
    const BufferId x = used.Device(100), y = unused.Device(100);
    used.Alloc(kCompute, x);
    used.Kernel({Wr(x)});
    if (wait) used.Wait(kOut, used.Record(kCompute));
    used.Free(kOut, x);
    unused.Alloc(kCompute, y);
    if (wait) unused.Wait(kOut, unused.Record(kCompute));
    unused.Free(kOut, y);
    CHECK(Says(used.Build()).empty() == wait);
    CHECK(Says(unused.Build()).empty() == wait);
  }
}

TEST_CASE("clause 4: an access after kFree in list order is refused whatever the stream") {
  ProgramBuilder p;
  const BufferId x = p.Device(100);
  p.Alloc(kCompute, x);
  p.Kernel({Wr(x)});
  p.Free(kCompute, x);
  p.Kernel({Rd(x)});
  CHECK_THAT(Says(p.Build()),
             Catch::Contains("clause 4, instruction 3 (kernel), buffer 0: it is used after its kFree at 2"));
}

TEST_CASE("clause 4: reads need no order among themselves, a write waits for all of them") {
  // Two compute streams read x; then the first one overwrites it.
  for (const bool wait : {true, false}) {
    ProgramBuilder p;
    const BufferId x = p.Device(100);
    p.Alloc(kCompute, x);
    p.Kernel({Wr(x)});
    p.Wait(3, p.Record(kCompute));
    p.Kernel({Rd(x)});
    p.Kernel({Rd(x)}, kNoOp, 3);
    const EventId read = p.Record(3);
    if (wait) p.Wait(kCompute, read);
    p.Kernel({Wr(x)});
    if (!wait) p.Wait(kCompute, read);  // too late for the write, in time for kFree
    p.Free(kCompute, x);
    Program program = p.Build();
    program.streams.push_back({0, StreamKind::kCompute});
    const std::string says = Says(program);
    CHECK(says.empty() == wait);
    if (!wait)
      CHECK(says ==
            "clause 4, instruction 7 (kernel), buffer 0: this write need not follow the read at instruction 5\n");
  }
}

TEST_CASE("clause 4 holds for host buffers: a copy out must not overwrite what is still copied in") {
  for (const bool wait : {true, false}) {
    ProgramBuilder p;
    const BufferId x = p.Device(100), y = p.Device(100), h = p.Host(100);
    p.Alloc(kCompute, x);
    p.Kernel({Wr(x)});
    p.Wait(kOut, p.Record(kCompute));
    p.Copy(kOut, x, h);
    p.Wait(kIn, p.Record(kOut));
    p.Alloc(kIn, y);
    p.Copy(kIn, h, y);
    p.Free(kIn, y);
    if (wait) p.Wait(kOut, p.Record(kIn));
    p.Copy(kOut, x, h);
    p.Free(kOut, x);
    const std::string says = Says(p.Build());
    CHECK(says.empty() == wait);
    // Instruction 8 copies h to y, 10 is the second swap-out.
    if (!wait)
      CHECK_THAT(says, Catch::Contains("buffer 2 on the host: this write need not follow the read at instruction 8"));
  }
}

TEST_CASE("order passes from stream to stream, and through the host") {
  // kIn waits for kOut, which waited for compute: kIn follows compute.
  ProgramBuilder relay;
  const BufferId x = relay.Device(100);
  relay.Alloc(kCompute, x);
  relay.Wait(kOut, relay.Record(kCompute));
  relay.Wait(kIn, relay.Record(kOut));
  relay.Free(kIn, x);
  CHECK(Says(relay.Build()).empty());

  // A host sync orders what is issued after it, on every stream, and nothing that was issued before.
  for (const bool after : {true, false}) {
    ProgramBuilder host;
    const BufferId y = host.Device(100);
    host.Alloc(kCompute, y);
    const EventId done = host.Record(kCompute);
    if (after) host.Sync(done);
    host.Free(kOut, y);
    if (!after) host.Sync(done);
    CHECK(Says(host.Build()).empty() == after);
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
    CHECK(Says(p.Build()).empty() == before);
  }
}

TEST_CASE("clause 5: addresses") {
  Program unplaced = SwapProgram();
  unplaced.buffers[0].offset = -1;
  CHECK(Says(unplaced) == "clause 5, instruction 0 (kAlloc), buffer 0: it has no address\n");
  unplaced.arena = false;  // clause 6: a pool gives none
  CHECK(Says(unplaced).empty());

  // Two buffers live at once, 100 bytes each, at 0 and at `offset`.
  const auto together = [](Bytes offset) {
    ProgramBuilder p;
    const BufferId x = p.DeviceAt(0, 100), y = p.DeviceAt(offset, 100);
    p.Alloc(kCompute, x);
    p.Alloc(kCompute, y);
    p.Free(kCompute, x);
    p.Free(kCompute, y);
    return Says(p.Build());
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
    return Says(p.Build());
  };
  CHECK(says(true, true).empty());
  CHECK_THAT(says(false, true), Catch::Contains("buffer 3: it shares addresses with buffer 0"));
  CHECK_THAT(says(true, false), Catch::Contains("buffer 3: it shares addresses with buffer 1"));
}

TEST_CASE("contents: nothing is read before it is written") {
  const auto says = [](Operand first) {
    ProgramBuilder p;
    const BufferId x = p.Device(100);
    p.Alloc(kCompute, x);
    p.Kernel({first});
    p.Free(kCompute, x);
    return Says(p.Build());
  };
  CHECK(says(Wr(0)).empty());
  CHECK(says(Rd(0)) == "contents, instruction 1 (kernel), buffer 0: it is read and holds nothing yet\n");
  CHECK_THAT(says(Up(0)), Catch::StartsWith("contents"));
}

TEST_CASE("contents: copies carry what they find") {
  const auto says = [](bool write_device, bool write_host_first) {
    ProgramBuilder p;
    const BufferId x = p.Device(100), y = p.Device(100), h = p.Host(100);
    p.Alloc(kCompute, x);
    p.Alloc(kCompute, y);
    if (write_device) p.Kernel({Wr(x)});
    p.Sync(p.Record(kCompute));
    if (!write_host_first) p.Copy(kIn, h, y);
    p.Sync(p.Record(kIn));
    p.Copy(kOut, x, h);
    p.Sync(p.Record(kOut));
    if (write_host_first) p.Copy(kIn, h, y);
    p.Sync(p.Record(kIn));
    p.Free(kCompute, x);
    p.Free(kCompute, y);
    return Says(p.Build());
  };
  CHECK(says(true, true).empty());
  CHECK_THAT(says(false, true), Catch::StartsWith("contents"));  // swaps out a buffer that nothing was written to
  CHECK_THAT(says(true, false), Catch::StartsWith("contents"));  // swaps in before the swap-out
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
