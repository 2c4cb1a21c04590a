
#include "calibrate/validate/split.h"
#include "hw/text/lists.h"
#include "model/stats/quantile.h"

namespace spillway {

namespace {

// Copies kernels of a Program, each with buffers of its own, into another one.
class Isolator {
 public:
  explicit Isolator(const Program& from) : from_(from) {
    to_.streams = {{0, StreamKind::kCompute}, {0, StreamKind::kHostToDevice}, {0, StreamKind::kDeviceToHost}};
    to_.launches = from.launches;
    to_.boxes = from.boxes;
  }

  void Add(const Kernel& kernel, int repeats) {
    const auto first = static_cast<std::uint32_t>(to_.buffers.size());
    AddBuffers(kernel);
    const auto last = static_cast<std::uint32_t>(to_.buffers.size());
    const auto operands = static_cast<std::uint32_t>(to_.operands.size());
    for (std::uint32_t k = 0; k < kernel.operand_count; ++k) {
      to_.operands.push_back(from_.operands[kernel.operands + k]);
      to_.operands.back().buffer = first + k;
    }
    for (std::uint32_t b = first; b < last; ++b) Emit(Opcode::kAlloc, b);
    for (int k = 0; k < repeats; ++k) {
      Emit(Opcode::kKernel, static_cast<std::uint32_t>(to_.kernels.size()));
      to_.kernels.push_back(kernel);
      to_.kernels.back().operands = operands;
    }
    for (std::uint32_t b = first; b < last; ++b) Emit(Opcode::kFree, b);
  }
  Program Take() { return std::move(to_); }

 private:
  // Side by side from address 0.
  void AddBuffers(const Kernel& kernel) {
    Bytes offset = 0;
    for (std::uint32_t k = 0; k < kernel.operand_count; ++k) {
      Buffer buffer = from_.buffers[from_.operands[kernel.operands + k].buffer];
      buffer.offset = offset;
      offset += buffer.bytes;
      to_.buffers.push_back(buffer);
    }
  }
  void Emit(Opcode opcode, std::uint32_t arg) { to_.code.push_back({.opcode = opcode, .stream = 0, .arg = arg}); }

  const Program& from_;
  Program to_;
};

}  // namespace

Program IsolatedProgram(const Program& program, int repeats) {
  Isolator isolator(program);
  std::vector<bool> done(program.launches.size(), false);
  for (const Kernel& kernel : program.kernels) {
    if (done[kernel.launch] || kernel.recomputation) continue;
    done[kernel.launch] = true;
    isolator.Add(kernel, repeats);
  }
  return isolator.Take();
}

IsolatedTimes MeasureIsolated(const Program& program, const TrainingStep& step, ExecutionDevice& device,
                              const Clock& clock, int repeats, StepValues* values) {
  const Program isolated = IsolatedProgram(program, repeats + 1);
  ExecuteResult run = Execute(isolated, &step, device, clock, {.instrumented = true, .values = values});
  IsolatedTimes times;
  times.failure = std::move(run.failure);
  std::vector<std::vector<double>> spans(program.launches.size());
  std::uint32_t previous = static_cast<std::uint32_t>(program.launches.size());
  for (const Span& span : run.timeline.spans) {
    const std::uint32_t launch = isolated.kernels[isolated.code[span.instruction].arg].launch;
    if (launch == previous) spans[launch].push_back(static_cast<double>(span.end - span.start));
    previous = launch;
  }
  for (std::size_t row = 0; row < spans.size(); ++row) {
    if (spans[row].empty()) continue;
    times.launches.push_back(program.launches[row]);
    times.times.push_back(static_cast<Nanos>(Median(std::move(spans[row]))));
  }
  return times;
}

std::vector<Nanos> IsolatedTimes::For(const Program& program) const {
  std::vector<Nanos> found;
  for (const Launch& launch : program.launches) {
    const auto at = IndexIn(launches, launch);
    found.push_back(at ? times[*at] : 0);
  }
  return found;
}

}  // namespace spillway
