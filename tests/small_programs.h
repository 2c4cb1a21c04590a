// A training step of eight ops and Programs of it written by hand, used by verify_step_test and mutation_test.
#ifndef SPILLWAY_TESTS_SMALL_PROGRAMS_H_
#define SPILLWAY_TESTS_SMALL_PROGRAMS_H_

#include "tests/program_builder.h"

namespace spillway {

// Every tensor has 100 bytes.
//
//   conv     in, w      -> x            bloss    y           -> dy
//   bias     x          -> x            bdrop    mask, dy    -> dx
//   drop     x          -> y, mask      bfilter  in, dx      -> dw
//   loss     y          -> l            update   w, dw, m    -> w, m
struct SmallStep {
  enum : TensorId { in, w, m, x, y, mask, l, dy, dx, dw };
  enum : OpId { conv, bias, drop, loss, bloss, bdrop, bfilter, update };

  static TrainingStep Build() {
    StepBuilder s;
    const std::pair<const char*, TensorClass> tensors[] = {
        {"in", TensorClass::kInput},         {"w", TensorClass::kParameter},
        {"m", TensorClass::kOptimizerState}, {"x", TensorClass::kFeatureMap},
        {"y", TensorClass::kFeatureMap},     {"mask", TensorClass::kAuxiliary},
        {"l", TensorClass::kAuxiliary},      {"dy", TensorClass::kGradient},
        {"dx", TensorClass::kGradient},      {"dw", TensorClass::kParameterGradient}};
    for (const auto& [name, use] : tensors) s.Tensor(name, use, 100);
    s.Op("conv", {in, w}, {x});
    s.Op("add_bias", {x}, {x});
    s.Op("drop", {x}, {y, mask});
    s.Op("loss", {y}, {l});
    s.Op("bloss", {y}, {dy});
    s.Op("bdrop", {mask, dy}, {dx});
    s.Op("bfilter", {in, dx}, {dw});
    s.Op("update", {w, dw, m}, {w, m});
    return s.Build();
  }
};

// The forward half of the Programs below: the input is uploaded, and freed after conv; y is freed after the loss.
struct SmallForward {
  BufferId host, in, w, m, x, y, mask, l;
  explicit SmallForward(ProgramBuilder& p)
      : host(p.Host(100, SmallStep::in)),
        in(p.Device(100, SmallStep::in)),
        w(p.Device(100, SmallStep::w)),
        m(p.Device(100, SmallStep::m)),
        x(p.Device(100, SmallStep::x)),
        y(p.Device(100, SmallStep::y)),
        mask(p.Device(100, SmallStep::mask)),
        l(p.Device(100, SmallStep::l)) {
    p.Alloc(kIn, in);
    p.Copy(kIn, host, in);
    const EventId uploaded = p.Record(kIn);
    for (const BufferId b : {w, m, x, y, mask, l}) p.Alloc(kCompute, b);
    p.Wait(kCompute, uploaded, Cause::kSwapIn);
    p.Kernel({Rd(in), Rd(w), Wr(x)}, SmallStep::conv);
    p.Free(kCompute, in);
    p.Kernel({Up(x)}, SmallStep::bias);
    p.Kernel({Rd(x), Wr(y), Wr(mask)}, SmallStep::drop);
    p.Kernel({Rd(y), Wr(l)}, SmallStep::loss);
    p.Free(kCompute, y);
  }
};

// The backward half. `y` holds the second copy of y; the input is uploaded again, into the addresses of the first one,
// for which kIn waits unless an earlier wait says that those are free.
inline void SmallBackward(ProgramBuilder& p, const SmallForward& f, BufferId y, BufferId workspace, bool wait = true) {
  const BufferId dy = p.Device(100, SmallStep::dy), dx = p.Device(100, SmallStep::dx);
  const BufferId dw = p.Device(100, SmallStep::dw), in = p.DeviceAt(0, 100, SmallStep::in);
  for (const BufferId b : {dy, dx, dw}) p.Alloc(kCompute, b);
  p.Kernel({Rd(y), Wr(dy)}, SmallStep::bloss);
  p.Kernel({Rd(f.mask), Rd(dy), Wr(dx)}, SmallStep::bdrop);
  if (wait) p.Wait(kIn, p.Record(kCompute), Cause::kMemory);
  p.Alloc(kIn, in);
  p.Copy(kIn, f.host, in);
  p.Wait(kCompute, p.Record(kIn), Cause::kSwapIn);
  p.Alloc(kCompute, workspace);
  p.Kernel({Rd(in), Rd(dx), Wr(dw), Wr(workspace)}, SmallStep::bfilter);
  p.Free(kCompute, workspace);
  p.Kernel({Up(f.w), Rd(dw), Up(f.m)}, SmallStep::update);
  for (const BufferId b : {f.w, f.m, f.mask, f.l, y, dy, dx, dw, in}) p.Free(kCompute, b);
}

// y is computed again from x, with the mask that is still there.
inline Program RecomputeProgram() {
  ProgramBuilder p;
  const SmallForward f(p);
  const BufferId y = p.Device(100, SmallStep::y), workspace = p.Workspace(50);
  p.Alloc(kCompute, y);
  p.Again({Rd(f.x), Wr(y), Rd(f.mask)}, SmallStep::drop);
  p.Free(kCompute, f.x);
  SmallBackward(p, f, y, workspace);
  return p.Build(SmallStep::Build());
}

// x is freed as well and computed again by conv and, unless told otherwise, bias; y from it. The input is still on the
// device for this: a third copy of it.
inline Program RecomputeChainProgram(bool with_bias = true) {
  ProgramBuilder p;
  const SmallForward f(p);
  const BufferId in = p.Device(100, SmallStep::in), x = p.Device(100, SmallStep::x);
  const BufferId y = p.Device(100, SmallStep::y), workspace = p.Workspace(50);
  p.Free(kCompute, f.x);
  p.Alloc(kIn, in);
  p.Copy(kIn, f.host, in);
  p.Wait(kCompute, p.Record(kIn), Cause::kSwapIn);
  p.Alloc(kCompute, x);
  p.Again({Rd(in), Rd(f.w), Wr(x)}, SmallStep::conv);
  p.Free(kCompute, in);
  if (with_bias) p.Again({Up(x)}, SmallStep::bias);
  p.Alloc(kCompute, y);
  p.Again({Rd(x), Wr(y), Wr(f.mask)}, SmallStep::drop);
  p.Free(kCompute, x);
  SmallBackward(p, f, y, workspace);
  return p.Build(SmallStep::Build());
}

// x is swapped out after the loss in pieces of 40, 40 and 20 bytes, and in again; y is computed from it.
// Of the swap-in only the pieces from `first` on, and before `last`, are copied.
inline Program SwapStepProgram(int first = 0, int last = 3) {
  ProgramBuilder p;
  const SmallForward f(p);
  const BufferId host = p.Host(100, SmallStep::x), x = p.Device(100, SmallStep::x);
  const BufferId y = p.Device(100, SmallStep::y), workspace = p.Workspace(50);
  const std::pair<Bytes, Bytes> pieces[] = {{40, 0}, {40, 40}, {20, 80}};  // bytes, from byte
  p.Wait(kOut, p.Record(kCompute), Cause::kProduced);
  for (const auto& [bytes, from] : pieces) p.Copy(kOut, f.x, host, bytes, from);
  p.Free(kOut, f.x);
  p.Wait(kIn, p.Record(kOut), Cause::kSwapOut);
  p.Alloc(kIn, x);
  for (int k = first; k < last; ++k) p.Copy(kIn, host, x, pieces[k].first, pieces[k].second);
  p.Wait(kCompute, p.Record(kIn), Cause::kSwapIn);
  p.Alloc(kCompute, y);
  p.Again({Rd(x), Wr(y)}, SmallStep::drop);
  p.Free(kCompute, x);
  SmallBackward(p, f, y, workspace, false);
  return p.Build(SmallStep::Build());
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SMALL_PROGRAMS_H_
