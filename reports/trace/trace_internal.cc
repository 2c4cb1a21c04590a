#include "reports/trace/trace_internal.h"

#include <fmt/format.h>

#include "model/kernels/kernel_form.h"
#include "model/profile/launch_text.h"
#include "model/step/launch.h"
#include "reports/tables/text.h"

namespace spillway {

namespace {

// Between its quotes.
std::string Inner(const std::string& text) {
  const std::string quoted = JsonString(text);
  return quoted.substr(1, quoted.size() - 2);
}

}  // namespace

std::vector<std::uint32_t> WorkBefore(const Program& program) {
  std::vector<std::uint32_t> before(program.code.size(), kNoInstruction);
  std::vector<std::uint32_t> last(program.streams.size(), kNoInstruction), of_event(program.events, kNoInstruction);
  for (std::uint32_t i = 0; i < program.code.size(); ++i) {
    const Instruction in = program.code[i];
    if (in.opcode == Opcode::kKernel || in.opcode == Opcode::kCopy) last[in.stream] = i;
    if (in.opcode == Opcode::kRecord) of_event[in.arg] = last[in.stream];
    const bool waits = in.opcode == Opcode::kWait || in.opcode == Opcode::kHostSync;
    before[i] = waits ? of_event[in.arg] : last[in.stream];
  }
  return before;
}

WorkTexts::WorkTexts(const TraceSubject& subject)
    : program_(subject.program),
      step_(subject.step),
      costs_(subject.costs),
      row_(subject.row),
      op_names_(step_ != nullptr ? step_->ops.size() : 0),
      tensor_names_(step_ != nullptr ? step_->tensors.size() : 0),
      launch_arguments_(program_.launches.size()) {
  if (subject.plan == nullptr) return;
  for (const GapDecision& gap : subject.plan->gaps) {
    if (!gap.reason.empty()) reasons_.emplace(gap.tensor, fmt::format(R"(,"reason":{})", JsonString(gap.reason)));
  }
}

const char* WorkTexts::Category(Instruction in) const {
  if (in.opcode == Opcode::kHostSync) return "host";
  if (in.opcode == Opcode::kCopy) return "copy";
  return program_.kernels[in.arg].recomputation ? "recompute" : "kernel";
}

const char* WorkTexts::Does(Instruction in) const {
  if (in.opcode == Opcode::kHostSync) return "host waits: ";
  if (in.opcode == Opcode::kCopy) {
    return program_.copies[in.arg].direction == Direction::kHostToDevice ? "swap-in " : "swap-out ";
  }
  return program_.kernels[in.arg].recomputation ? "recompute " : "";
}

TensorId TensorOf(const Program& program, const Copy& copy) {
  for (const BufferId buffer : {copy.from, copy.to}) {
    if (buffer != kNoBuffer && program.buffers[buffer].tensor != kNoTensor) return program.buffers[buffer].tensor;
  }
  return kNoTensor;
}

const std::string& WorkTexts::OpName(OpId op) {
  std::string& name = op_names_[Index(op)];
  if (name.empty()) name = Inner(step_->ops[Index(op)].name);
  return name;
}

const std::string& WorkTexts::TensorName(TensorId tensor) {
  std::string& name = tensor_names_[Index(tensor)];
  if (name.empty()) name = Inner(step_->tensors[Index(tensor)].name);
  return name;
}

std::string WorkTexts::Name(Instruction in) {
  if (in.opcode == Opcode::kHostSync) return CauseName(in.cause);
  if (in.opcode == Opcode::kCopy) {
    const TensorId tensor = TensorOf(program_, program_.copies[in.arg]);
    return step_ != nullptr && tensor != kNoTensor ? TensorName(tensor) : std::to_string(in.arg);
  }
  const OpId op = program_.kernels[in.arg].op;
  return step_ != nullptr && op != kNoOp ? OpName(op) : fmt::format("kernel {}", in.arg);
}

std::string WorkTexts::ReasonOf(TensorId tensor) const {
  const auto reason = reasons_.find(tensor);
  return reason == reasons_.end() ? "" : reason->second;
}

const std::string& WorkTexts::LaunchArguments(std::uint32_t index) {
  std::string& text = launch_arguments_[index];
  if (costs_ == nullptr || !text.empty()) return text;
  const Launch& launch = program_.launches[index];
  const Cost cost = costs_->Kernel(launch);
  const Work work = CountWork(launch);
  const std::string algorithm = AlgorithmName(launch.kind, launch.pass, cost.algorithm);
  if (!algorithm.empty()) text = fmt::format(R"(,"algorithm":"{}","workspace":{})", algorithm, cost.workspace);
  text += fmt::format(R"(,"source":"{}","how":"{}","shape":"{}","flops":{:.0f},"bytes":{:.0f})",
                      SourceKindName(cost.source), cost.how, Inner(OpShapeText(launch.shape)), work.flops, work.bytes);
  if (cost.calls > 1) text += fmt::format(R"(,"calls":{})", cost.calls);
  return text;
}

std::string WorkTexts::Arguments(Instruction in) {
  if (in.opcode == Opcode::kCopy) {
    const Copy& copy = program_.copies[in.arg];
    const TensorId tensor = TensorOf(program_, copy);
    const std::string bytes = fmt::format(R"(,"bytes":{})", copy.bytes);
    if (step_ == nullptr || tensor == kNoTensor) return bytes;
    return fmt::format(R"({},"map":"{}"{})", bytes, TensorName(tensor), ReasonOf(tensor));
  }
  if (in.opcode != Opcode::kKernel) return "";
  const Kernel& kernel = program_.kernels[in.arg];
  const std::string& launch = LaunchArguments(kernel.launch);
  if (!kernel.recomputation || step_ == nullptr || kernel.op == kNoOp) return launch;
  for (const TensorId tensor : step_->ops[Index(kernel.op)].writes) {
    const std::string reason = ReasonOf(tensor);
    if (!reason.empty()) return launch + reason;
  }
  return launch;
}

void LiveClasses::Change(const Program& program, const TrainingStep& step, const MemoryChange& change) {
  const Buffer& buffer = program.buffers[change.buffer];
  const bool scratch = buffer.kind == BufferKind::kWorkspace || buffer.tensor == kNoTensor;
  const std::size_t at = scratch ? live_.size() - 1 : static_cast<std::size_t>(step.tensors[Index(buffer.tensor)].use);
  live_[at] += change.is_alloc ? buffer.bytes : -buffer.bytes;
}

std::string LiveClasses::Text() const {
  std::string text;
  for (std::size_t i = 0; i < live_.size(); ++i) {
    if (live_[i] == 0) continue;
    const char* const name = i + 1 == live_.size() ? "workspace" : TensorClassName(static_cast<TensorClass>(i));
    text += fmt::format(R"({}"{}":{})", text.empty() ? "" : ",", name, live_[i]);
  }
  return text.empty() ? R"("bytes":0)" : text;
}

}  // namespace spillway
