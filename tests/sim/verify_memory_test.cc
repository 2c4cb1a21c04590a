// sim/verify/verify.h without a training step: clauses 3 and 4 of sim/program/program.h, what lives when, and undefined
// contents. Each unsafe Program breaks one rule and is the safe one beside it with one thing changed.
#include <catch2/catch.hpp>
#include <functional>

#include "tests/sim/swap_program.h"

namespace spillway {
namespace {

TEST_CASE("clause 3: allocated once, freed once") {
  using Build = std::function<void(ProgramBuilder&, BufferId)>;
  const auto says = [](const Build& build) {
    ProgramBuilder p;
    const BufferId x = p.Device(100);
    build(p, x);
    return Violations(p.Build());
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
    CHECK(Violations(used.Build()).empty() == wait);
    CHECK(Violations(unused.Build()).empty() == wait);
  }
}

TEST_CASE("clause 4: an access after kFree in list order is refused whatever the stream") {
  ProgramBuilder p;
  const BufferId x = p.Device(100);
  p.Alloc(kCompute, x);
  p.Kernel({Wr(x)});
  p.Free(kCompute, x);
  p.Kernel({Rd(x)});
  CHECK_THAT(Violations(p.Build()),
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
    const std::string says = Violations(program);
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
    const std::string says = Violations(p.Build());
    CHECK(says.empty() == wait);
    // Instruction 8 copies h to y, 10 is the second swap-out.
    if (!wait)
      CHECK_THAT(says, Catch::Contains("buffer 2 on the host: this write need not follow the read at instruction 8"));
  }
}

TEST_CASE("contents: nothing is read before it is written") {
  const auto says = [](Operand first) {
    ProgramBuilder p;
    const BufferId x = p.Device(100);
    p.Alloc(kCompute, x);
    p.Kernel({first});
    p.Free(kCompute, x);
    return Violations(p.Build());
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
    return Violations(p.Build());
  };
  CHECK(says(true, true).empty());
  CHECK_THAT(says(false, true), Catch::StartsWith("contents"));  // swaps out a buffer that nothing was written to
  CHECK_THAT(says(true, false), Catch::StartsWith("contents"));  // swaps in before the swap-out
}

}  // namespace
}  // namespace spillway
