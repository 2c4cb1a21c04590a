// A Program of one swap, and what Verify says of it or of another one.
#ifndef SPILLWAY_TESTS_SIM_SWAP_PROGRAM_H_
#define SPILLWAY_TESTS_SIM_SWAP_PROGRAM_H_

#include <string>

#include "sim/verify/verify.h"
#include "tests/program_builder.h"

namespace spillway {

// What Verify says of the program, one line per violation; "" = safe.
inline std::string Violations(const Program& program) {
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
inline Program SwapProgram(const SwapOptions& options = {}) {
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
  program.memory = options.arena ? ProgramMemory::kArena : ProgramMemory::kPool;
  return program;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SIM_SWAP_PROGRAM_H_
