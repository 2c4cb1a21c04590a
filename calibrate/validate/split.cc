#include "calibrate/validate/split.h"

#include <algorithm>
#include <string_view>

#include "hw/text/lists.h"
#include "model/stats/quantile.h"
#include "sim/engine/simulate.h"

namespace spillway {

namespace {

// Spans by instruction.
std::vector<Span> ByInstruction(const Program& program, const Timeline& timeline) {
  std::vector<Span> spans(program.code.size());
  for (const Span& span : timeline.spans) spans[span.instruction] = span;
  return spans;
}

void Add(PredictedMeasured& sums, Nanos predicted, Nanos measured) {
  sums.predicted += predicted;
  sums.measured += measured;
}

template <typename Value>
double MedianOver(const std::vector<SplitSums>& sums, Value value) {
  std::vector<double> values;
  for (const SplitSums& s : sums) values.push_back(value(s));
  return values.empty() ? 0 : Median(std::move(values));
}

double Share(Nanos part, Nanos whole) { return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0; }

}  // namespace

double PredictedMeasured::Ratio() const { return Share(predicted, measured); }

SplitSums SumUp(const Program& program, const CostModel& costs, const Timeline& measured,
                std::span<const Nanos> isolated) {
  SplitSums sums;
  const std::vector<Nanos> durations = Durations(program, costs);
  for (const Span& span : measured.spans) {
    const Instruction& in = program.code[span.instruction];
    const Nanos predicted = durations[span.instruction], took = span.end - span.start;
    if (in.opcode == Opcode::kCopy) Add(sums.copies, predicted, took);
    if (in.opcode != Opcode::kKernel) continue;
    Add(sums.kernels, predicted, took);
    const std::uint32_t launch = program.kernels[in.arg].launch;
    if (!isolated.empty() && isolated[launch] > 0) {
      Add(sums.isolated, predicted, isolated[launch]);
      Add(sums.context, isolated[launch], took);
    }
    const Kernel& kernel = program.kernels[in.arg];
    Add(kernel.recomputation                              ? sums.recomputed
        : program.launches[launch].pass == Pass::kForward ? sums.forward
                                                          : sums.backward,
        predicted, took);
    const Cost cost = costs.Kernel(program.launches[launch]);
    Add(std::string_view(cost.how) == "measured" ? sums.seen : sums.modelled, predicted, took);
  }
  Scratch scratch;
  sums.replayed = SimulateTimes(program, ReplayDurations(program, measured), Conditions{}, scratch).makespan;
  sums.gaps = UnexplainedGaps(program, measured);
  sums.step = measured.makespan;
  return sums;
}

ErrorSplit SplitError(const Program& program, const CostModel& costs, const Measurement& measurement,
                      const IsolatedTimes& isolated) {
  const std::vector<Nanos> by_launch = isolated.For(program);
  std::vector<SplitSums> sums;
  for (const Timeline& timeline : measurement.timelines) sums.push_back(SumUp(program, costs, timeline, by_launch));
  ErrorSplit split;
  split.kernels = MedianOver(sums, [](const SplitSums& s) { return s.kernels.Ratio(); });
  split.seen = MedianOver(sums, [](const SplitSums& s) { return s.seen.Ratio(); });
  split.modelled = MedianOver(sums, [](const SplitSums& s) { return s.modelled.Ratio(); });
  split.isolated = MedianOver(sums, [](const SplitSums& s) { return s.isolated.Ratio(); });
  split.context = MedianOver(sums, [](const SplitSums& s) { return s.context.Ratio(); });
  split.forward = MedianOver(sums, [](const SplitSums& s) { return s.forward.Ratio(); });
  split.recomputed = MedianOver(sums, [](const SplitSums& s) { return s.recomputed.Ratio(); });
  split.backward = MedianOver(sums, [](const SplitSums& s) { return s.backward.Ratio(); });
  split.copies = MedianOver(sums, [](const SplitSums& s) { return s.copies.Ratio(); });
  split.replay = MedianOver(sums, [](const SplitSums& s) { return Share(s.replayed, s.step); });
  split.gaps = MedianOver(sums, [](const SplitSums& s) { return Share(s.gaps, s.step); });
  split.seen_share = MedianOver(sums, [](const SplitSums& s) { return Share(s.seen.predicted, s.kernels.predicted); });
  const double instrumented = MedianOver(sums, [](const SplitSums& s) { return static_cast<double>(s.step); });
  const double plain = Median(Flat(measurement.step_times));
  split.perturbation = sums.empty() || plain <= 0 ? 0 : instrumented / plain - 1;
  return split;
}

Nanos UnexplainedGaps(const Program& program, const Timeline& measured) {
  const std::vector<Span> spans = ByInstruction(program, measured);
  std::vector<Nanos> ready(program.streams.size(), 0), event(program.events, 0);
  Nanos gaps = 0;
  for (std::size_t i = 0; i < program.code.size(); ++i) {
    const Instruction& in = program.code[i];
    Nanos& stream = ready[in.stream];
    if (in.opcode == Opcode::kRecord) event[in.arg] = stream;
    if (in.opcode == Opcode::kWait) stream = std::max(stream, event[in.arg]);
    // A host that waits issues the rest later: time that the Program explains.
    if (in.opcode == Opcode::kHostSync) {
      for (Nanos& other : ready) other = std::max(other, event[in.arg]);
    }
    if (in.opcode != Opcode::kKernel && in.opcode != Opcode::kCopy) continue;
    if (program.streams[in.stream].kind == StreamKind::kCompute) gaps += std::max<Nanos>(0, spans[i].start - stream);
    stream = spans[i].end;
  }
  return gaps;
}

// ---- Kernels by themselves.

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
