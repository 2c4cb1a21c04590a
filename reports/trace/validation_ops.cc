#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/kernels/kernel_form.h"
#include "model/profile/launch_text.h"
#include "model/stats/quantile.h"
#include "reports/tables/text.h"
#include "reports/trace/trace.h"
#include "reports/trace/trace_internal.h"

namespace spillway {

namespace {

// By instruction: how long it took in each step.
std::vector<std::vector<double>> TimesOf(const Program& program, std::span<const Timeline> measured) {
  std::vector<std::vector<double>> times(program.code.size());
  for (const Timeline& step : measured) {
    for (const Span& span : step.spans) times[span.instruction].push_back(static_cast<double>(span.end - span.start));
  }
  return times;
}

// what, name, shape, algorithm, bytes, how
std::string KernelColumns(const TraceSubject& subject, Instruction in) {
  const Kernel& kernel = subject.program.kernels[in.arg];
  const Launch& launch = subject.program.launches[kernel.launch];
  const Cost cost = subject.costs->Kernel(launch);
  const std::string name =
      kernel.op == kNoOp ? fmt::format("kernel {}", in.arg) : subject.step->ops[Index(kernel.op)].name;
  return fmt::format("{},{},{},{},,{}", kernel.recomputation ? "recompute" : "kernel", CsvField(name),
                     CsvField(OpShapeText(launch.shape)),
                     CsvField(AlgorithmName(launch.kind, launch.pass, cost.algorithm)), CsvField(cost.how));
}

std::string CopyColumns(const TraceSubject& subject, Instruction in) {
  const Copy& copy = subject.program.copies[in.arg];
  const TensorId tensor = TensorOf(subject.program, copy);
  const std::string name =
      tensor == kNoTensor ? fmt::format("copy {}", in.arg) : subject.step->tensors[Index(tensor)].name;
  return fmt::format("{},{},,,{},{}", copy.direction == Direction::kHostToDevice ? "swap-in" : "swap-out",
                     CsvField(name), copy.bytes,
                     SourceKindName(subject.costs->Copy(copy.bytes, copy.direction).source));
}

}  // namespace

std::string ValidationOpsCsv(const TraceSubject& subject, std::span<const Timeline> measured) {
  const Program& program = subject.program;
  const std::vector<Nanos> predicted = Durations(program, *subject.costs);
  const std::vector<std::vector<double>> times = TimesOf(program, measured);
  std::string text =
      "instruction,what,name,shape,algorithm,bytes,how,predicted_s,measured_s,low_s,high_s,steps,error\n";
  for (std::uint32_t i = 0; i < program.code.size(); ++i) {
    const Instruction in = program.code[i];
    const bool is_copy = in.opcode == Opcode::kCopy;
    if (times[i].empty() || (!is_copy && in.opcode != Opcode::kKernel)) continue;
    const auto [low, high] = std::minmax_element(times[i].begin(), times[i].end());
    const double median = Median(times[i]);
    const auto seconds = [](double nanos) { return SecondsText(std::llround(nanos)); };
    text += fmt::format("{},{},{},{},{},{},{},{}\n", i, is_copy ? CopyColumns(subject, in) : KernelColumns(subject, in),
                        SecondsText(predicted[i]), seconds(median), seconds(*low), seconds(*high), times[i].size(),
                        median > 0 ? fmt::format("{:.6f}", static_cast<double>(predicted[i]) / median - 1) : "");
  }
  return text;
}

}  // namespace spillway
