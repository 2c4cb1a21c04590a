#include "reports/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "reports/text.h"
#include "reports/trace_parts.h"

namespace spillway {

namespace {

constexpr std::size_t kPiece = std::size_t{1} << 16;

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

// One event after another; knows where commas and pieces end and nothing else.
class EventWriter {
 public:
  EventWriter(const std::function<void(std::string_view)>& sink, const std::string& head) : sink_(sink) {
    text_ += R"({"displayTimeUnit":"ms",)";
    if (!head.empty()) text_ += "\"otherData\":" + head + ",\n";
    text_ += R"("traceEvents":[)";
  }
  template <typename... Args>
  void Event(fmt::format_string<Args...> format, Args&&... args) {
    text_ += first_ ? "\n" : ",\n";
    first_ = false;
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    if (text_.size() >= kPiece) Flush();
  }
  void Finish() {
    text_ += "\n]}\n";
    Flush();
  }

 private:
  void Flush() {
    sink_(text_);
    text_.clear();
  }
  const std::function<void(std::string_view)>& sink_;
  std::string text_;
  bool first_ = true;
};

// Microseconds.
struct Micro {
  Nanos time;
};

}  // namespace

}  // namespace spillway

template <>
struct fmt::formatter<spillway::Micro> : fmt::formatter<std::string_view> {
  auto format(const spillway::Micro& t, format_context& context) const {
    return fmt::format_to(context.out(), "{}.{:03}", t.time / 1000, t.time % 1000);
  }
};

namespace spillway {

namespace {

class Trace {
 public:
  Trace(const TraceSubject& subject, EventWriter& writer)
      : timeline_(subject.timeline),
        program_(subject.program),
        machine_(subject.machine),
        texts_(subject),
        work_(WorkBefore(subject.program)),
        writer_(writer) {}

  void Run() {
    Names();
    if (texts_.row() != nullptr) Limit(0);
    for (const TraceItem& item : ItemsOf(timeline_, program_)) Show(item);
    if (texts_.row() != nullptr) Limit(timeline_.makespan);
    writer_.Finish();
  }

 private:
  void Show(const TraceItem& item) {
    switch (item.kind) {
      case TraceItem::kMemory:
        return Memory(item.index);
      case TraceItem::kWork:
        return Work(timeline_.spans[item.index]);
      case TraceItem::kStall:
        return Waiting(timeline_.stalls[item.index], false);
      case TraceItem::kHostWait:
        return Waiting(timeline_.host_waits[item.index], true);
      case TraceItem::kIssue:
        return Issue(timeline_.spans[item.index].instruction, item.time, timeline_.issued[item.index]);
    }
  }

  void Names() {
    ProcessName(0, "host");
    ThreadName(0, 0, "issue");
    for (std::size_t d = 0; d < machine_.devices.size(); ++d) ProcessName(d + 1, machine_.devices[d].name);
    for (std::size_t s = 0; s < program_.streams.size(); ++s) {
      ThreadName(Process(s), s, fmt::format("{} (stream {})", StreamName(program_.streams[s].kind), s));
    }
    for (std::size_t s = 0; s < program_.streams.size() && !timeline_.stalls.empty(); ++s) {
      if (program_.streams[s].kind != StreamKind::kCompute) continue;
      ThreadName(Process(s), StallThread(s), fmt::format("stalls of stream {}", s));
    }
  }
  void ProcessName(std::size_t process, const std::string& name) {
    writer_.Event(R"({{"name":"process_name","ph":"M","pid":{},"tid":0,"args":{{"name":{}}}}})", process,
                  JsonString(name));
  }
  void ThreadName(std::size_t process, std::size_t thread, const std::string& name) {
    writer_.Event(R"({{"name":"thread_name","ph":"M","pid":{},"tid":{},"args":{{"name":{}}}}})", process, thread,
                  JsonString(name));
    writer_.Event(R"({{"name":"thread_sort_index","ph":"M","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", process,
                  thread, thread);
  }

  void Limit(Nanos time) {
    writer_.Event(R"({{"name":"memory limit","ph":"C","pid":1,"tid":0,"ts":{},"args":{{"bytes":{}}}}})", Micro{time},
                  texts_.row()->memory_limit);
  }
  // By class where it is known whose memory changed.
  void Memory(std::uint32_t index) {
    if (timeline_.changes.empty() || texts_.step() == nullptr) {
      const Timeline::MemoryPoint& point = timeline_.memory[index];
      writer_.Event(R"({{"name":"live memory","ph":"C","pid":1,"tid":0,"ts":{},"args":{{"bytes":{}}}}})",
                    Micro{point.time}, point.live);
      return;
    }
    classes_.Change(program_, *texts_.step(), timeline_.changes[index]);
    writer_.Event(R"({{"name":"live memory","ph":"C","pid":1,"tid":0,"ts":{},"args":{{{}}}}})",
                  Micro{timeline_.changes[index].time}, classes_.Text());
  }

  void Work(const Span& span) {
    const Instruction in = program_.code[span.instruction];
    const bool on_host = in.opcode == Opcode::kHostSync;
    const std::size_t process = on_host ? 0 : Process(in.stream), thread = on_host ? 0 : in.stream;
    writer_.Event(
        R"({{"name":"{}{}","cat":"{}","ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"args":{{"instruction":{}{}}}}})",
        texts_.Does(in), texts_.Name(in), texts_.Category(in), process, thread, Micro{span.start},
        Micro{span.end - span.start}, span.instruction, texts_.Arguments(in));
    if (in.opcode == Opcode::kCopy) Flows(span, in, process, thread);
  }

  // From a swap-out to every swap-in of the same piece: both ends lie at the beginning of the slice that they belong to.
  void Flows(const Span& span, Instruction in, std::size_t process, std::size_t thread) {
    const Copy& copy = program_.copies[in.arg];
    if (copy.direction == Direction::kHostToDevice) {
      const auto out = flow_of_in_.find(span.instruction);
      if (out == flow_of_in_.end()) return;
      writer_.Event(R"({{"name":"swapped","cat":"flow","ph":"f","bp":"e","id":{},"pid":{},"tid":{},"ts":{}}})",
                    span.instruction, process, thread, Micro{span.start});
      return;
    }
    if (flows_of_out_.empty() && flow_of_in_.empty()) FindFlows();
    const auto [first, last] = flows_of_out_.equal_range(span.instruction);
    for (auto flow = first; flow != last; ++flow) {
      writer_.Event(R"({{"name":"swapped","cat":"flow","ph":"s","id":{},"pid":{},"tid":{},"ts":{}}})", flow->second,
                    process, thread, Micro{span.start});
    }
  }
  // By instruction: the copy out that a copy in brings back, the last one of that piece of that host buffer before it.
  void FindFlows() {
    std::map<std::tuple<BufferId, Bytes, BoxId>, std::uint32_t> out;
    for (std::uint32_t i = 0; i < program_.code.size(); ++i) {
      if (program_.code[i].opcode != Opcode::kCopy) continue;
      const Copy& copy = program_.copies[program_.code[i].arg];
      if (copy.direction == Direction::kDeviceToHost) {
        out[{copy.to, copy.offset, copy.box}] = i;
      } else if (const auto found = out.find({copy.from, copy.offset, copy.box}); found != out.end()) {
        flows_of_out_.emplace(found->second, i);
        flow_of_in_[i] = found->second;
      }
    }
  }

  void Waiting(const Stall& stall, bool host) {
    const std::uint32_t by = WaitedFor(stall.instruction);
    const bool known = by != kNoInstruction && stall.cause != Cause::kNone;
    const std::size_t stream = program_.code[stall.instruction == kNoInstruction ? 0 : stall.instruction].stream;
    const std::size_t process = host ? 0 : Process(ComputeStreamBeside(stream));
    writer_.Event(
        R"({{"name":"waits for {}{}","cat":"{}","ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"args":{{"cause":"{}"{}}}}})",
        known ? texts_.Does(program_.code[by]) : "", known ? texts_.Name(program_.code[by]) : WaitName(stall),
        host ? "host" : "stall", process, host ? 0 : StallThread(ComputeStreamBeside(stream)), Micro{stall.start},
        Micro{stall.end - stall.start}, CauseWord(stall), known ? fmt::format(R"(,"by":{})", by) : "");
  }
  static std::string WaitName(const Stall& stall) {
    return stall.cause == Cause::kNone ? "the host" : CauseWord(stall);
  }
  static const char* CauseWord(const Stall& stall) {
    return stall.cause == Cause::kNone ? "host" : CauseName(stall.cause);
  }
  // The kernel or copy at whose end the waiting ended.
  std::uint32_t WaitedFor(std::uint32_t instruction) const {
    return instruction == kNoInstruction ? kNoInstruction : work_[instruction];
  }

  void Issue(std::uint32_t instruction, Nanos start, Nanos end) {
    writer_.Event(
        R"({{"name":"issue","cat":"issue","ph":"X","pid":0,"tid":0,"ts":{},"dur":{},"args":{{"instruction":{}}}}})",
        Micro{start}, Micro{end - start}, instruction);
  }

  std::size_t Process(std::size_t stream) const {
    return static_cast<std::size_t>(program_.streams[stream].device) + 1;
  }
  std::size_t StallThread(std::size_t stream) const { return program_.streams.size() + stream; }
  // Blocked by a copy, a stall is still that of the device's compute stream.
  std::size_t ComputeStreamBeside(std::size_t stream) const {
    for (std::size_t s = 0; s < program_.streams.size(); ++s) {
      const Stream& other = program_.streams[s];
      if (other.kind == StreamKind::kCompute && other.device == program_.streams[stream].device) return s;
    }
    return stream;
  }

  const Timeline& timeline_;
  const Program& program_;
  const Machine& machine_;
  WorkTexts texts_;
  LiveClasses classes_;
  std::vector<std::uint32_t> work_;
  std::multimap<std::uint32_t, std::uint32_t> flows_of_out_;
  std::map<std::uint32_t, std::uint32_t> flow_of_in_;
  EventWriter& writer_;
};

}  // namespace

void WriteTrace(const TraceSubject& subject, const std::function<void(std::string_view)>& sink) {
  const bool told = subject.row != nullptr && subject.plan != nullptr && subject.step != nullptr;
  EventWriter writer(sink, told && subject.costs != nullptr ? TraceHead(subject) : "");
  Trace(subject, writer).Run();
}

std::string TraceJson(const TraceSubject& subject) {
  std::string text;
  WriteTrace(subject, [&text](std::string_view piece) { text += piece; });
  return text;
}

std::string MemoryCsv(const Timeline& timeline) {
  std::string text = "time_ns,live_bytes\n";
  for (const auto& point : timeline.memory) text += fmt::format("{},{}\n", point.time, point.live);
  return text;
}

}  // namespace spillway
