#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "reports/reports.h"
#include "reports/text.h"

namespace spillway {

namespace {

std::string Microseconds(Nanos time) { return fmt::format("{}.{:03}", time / 1000, time % 1000); }

const char* StreamName(StreamKind kind) {
  switch (kind) {
    case StreamKind::kCompute:
      return "compute";
    case StreamKind::kHostToDevice:
      return "swap-in";
    case StreamKind::kDeviceToHost:
      return "swap-out";
    case StreamKind::kCopy:
      return "copies";
  }
  return "";
}

// Streams one event after another into a text; knows where commas go and nothing else.
class Writer {
 public:
  template <typename... Args>
  void Event(fmt::format_string<Args...> format, Args&&... args) {
    text_ += first_ ? "\n" : ",\n";
    first_ = false;
    text_ += fmt::format(format, std::forward<Args>(args)...);
  }
  std::string Finish() { return std::move(text_) + "\n]}\n"; }

 private:
  std::string text_ = R"({"displayTimeUnit":"ms","traceEvents":[)";
  bool first_ = true;
};

class Trace {
 public:
  Trace(const Program& program, const TrainingStep* step, const Machine& machine)
      : program_(program), step_(step), machine_(machine) {}

  std::string Run(const Timeline& timeline) {
    Names();
    std::vector<Span> spans = timeline.spans;
    std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
    auto point = timeline.memory.begin();
    for (const Span& span : spans) {
      for (; point != timeline.memory.end() && point->time <= span.start; ++point) Memory(*point);
      Work(span);
    }
    for (; point != timeline.memory.end(); ++point) Memory(*point);
    return writer_.Finish();
  }

 private:
  void Names() {
    ProcessName(0, "host");
    ThreadName(0, 0, "issue");
    for (std::size_t d = 0; d < machine_.devices.size(); ++d) ProcessName(d + 1, machine_.devices[d].name);
    for (std::size_t s = 0; s < program_.streams.size(); ++s) {
      ThreadName(Process(s), s, fmt::format("{} (stream {})", StreamName(program_.streams[s].kind), s));
    }
  }
  void ProcessName(std::size_t process, const std::string& name) {
    writer_.Event(R"({{"name":"process_name","ph":"M","pid":{},"tid":0,"args":{{"name":{}}}}})", process,
                  JsonString(name));
  }
  void ThreadName(std::size_t process, std::size_t thread, const std::string& name) {
    writer_.Event(R"({{"name":"thread_name","ph":"M","pid":{},"tid":{},"args":{{"name":{}}}}})", process, thread,
                  JsonString(name));
  }
  void Memory(const Timeline::MemoryPoint& point) {
    writer_.Event(R"({{"name":"live memory","ph":"C","pid":1,"tid":0,"ts":{},"args":{{"bytes":{}}}}})",
                  Microseconds(point.time), point.live);
  }
  void Work(const Span& span) {
    const Instruction in = program_.code[span.instruction];
    const bool on_host = in.opcode == Opcode::kHostSync;
    writer_.Event(R"({{"name":{},"cat":"{}","ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
                  JsonString(Name(in)), Category(in), on_host ? 0 : Process(in.stream),
                  on_host ? 0 : static_cast<std::size_t>(in.stream), Microseconds(span.start),
                  Microseconds(span.end - span.start), Arguments(span.instruction, in));
  }

  std::size_t Process(std::size_t stream) const {
    return static_cast<std::size_t>(program_.streams[stream].device) + 1;
  }
  const char* Category(Instruction in) const {
    if (in.opcode == Opcode::kHostSync) return "host";
    if (in.opcode == Opcode::kCopy) return "copy";
    return program_.kernels[in.arg].recomputation ? "recompute" : "kernel";
  }
  std::string Name(Instruction in) const {
    if (in.opcode == Opcode::kHostSync) return fmt::format("host waits ({})", CauseName(in.cause));
    if (in.opcode == Opcode::kKernel) return KernelName(program_.kernels[in.arg], in.arg);
    const Copy& copy = program_.copies[in.arg];
    const char* direction = copy.direction == Direction::kHostToDevice ? "swap-in" : "swap-out";
    return fmt::format("{} {}", direction, TensorName(copy, in.arg));
  }
  std::string KernelName(const Kernel& kernel, std::uint32_t index) const {
    const std::string name = step_ != nullptr && kernel.op != kNoOp
                                 ? step_->ops[static_cast<std::size_t>(kernel.op)].name
                                 : fmt::format("kernel {}", index);
    return kernel.recomputation ? "recompute " + name : name;
  }
  std::string TensorName(const Copy& copy, std::uint32_t index) const {
    for (const BufferId buffer : {copy.from, copy.to}) {
      if (step_ == nullptr || buffer == kNoBuffer || program_.buffers[buffer].tensor == kNoTensor) continue;
      return step_->tensors[static_cast<std::size_t>(program_.buffers[buffer].tensor)].name;
    }
    return fmt::format("{}", index);
  }
  std::string Arguments(std::uint32_t instruction, Instruction in) const {
    const std::string key = fmt::format(R"("instruction":{})", instruction);
    if (in.opcode != Opcode::kCopy) return key;
    return key + fmt::format(R"(,"bytes":{})", program_.copies[in.arg].bytes);
  }

  const Program& program_;
  const TrainingStep* step_;
  const Machine& machine_;
  Writer writer_;
};

}  // namespace

std::string TraceJson(const Timeline& timeline, const Program& program, const TrainingStep* step,
                      const Machine& machine) {
  return Trace(program, step, machine).Run(timeline);
}

std::string MemoryCsv(const Timeline& timeline) {
  std::string text = "time_ns,live_bytes\n";
  for (const auto& point : timeline.memory) text += fmt::format("{},{}\n", point.time, point.live);
  return text;
}

}  // namespace spillway
