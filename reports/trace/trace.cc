#include "reports/trace/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <concepts>
#include <iterator>
#include <utility>
#include <vector>

#include "reports/tables/text.h"
#include "reports/trace/trace_internal.h"

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

// Microseconds.
struct Micro {
  Nanos time;
};

// One event after another; knows where commas and pieces end and nothing else. Of millions of events formatting is what
// takes the time: pieces of text and numbers are put one behind the other.
class EventWriter {
 public:
  EventWriter(const std::function<void(std::string_view)>& sink, const std::string& head) : sink_(sink) {
    text_.reserve(kPiece + kPiece / 8);
    Put(R"({"displayTimeUnit":"ms",)");
    if (!head.empty()) {
      Put("\"otherData\":");
      Put(head);
      Put(",\n");
    }
    Put(R"("traceEvents":[)");
  }
  template <typename... Parts>
  void Event(const Parts&... parts) {
    Put(first_ ? "\n{" : ",\n{");
    first_ = false;
    (Put(parts), ...);
    text_ += '}';
    if (text_.size() >= kPiece) Flush();
  }
  void Finish() {
    Put("\n]}\n");
    Flush();
  }

 private:
  void Put(std::string_view text) { text_.append(text); }
  void Put(std::integral auto number) {
    char digits[24];
    text_.append(digits, std::to_chars(digits, std::end(digits), number).ptr);
  }
  void Put(Micro micro) {
    const auto thousandths = static_cast<int>(micro.time % 1000);
    Put(micro.time / 1000);
    const char digits[] = {'.', static_cast<char>('0' + thousandths / 100),
                           static_cast<char>('0' + thousandths / 10 % 10), static_cast<char>('0' + thousandths % 10)};
    text_.append(digits, std::size(digits));
  }
  void Flush() {
    sink_(text_);
    text_.clear();
  }
  const std::function<void(std::string_view)>& sink_;
  std::string text_;
  bool first_ = true;
};

class Trace {
 public:
  Trace(const TraceSubject& subject, EventWriter& writer)
      : timeline_(subject.timeline),
        program_(subject.program),
        machine_(subject.machine),
        measured_(subject.measured),
        texts_(subject),
        work_(WorkBefore(subject.program)),
        swaps_(subject.program),
        writer_(writer) {}

  void Run() {
    Names();
    if (texts_.row() != nullptr) Limit(0);
    TraceItems items(timeline_, program_, measured_);
    Nanos last = timeline_.makespan;
    for (TraceItem item; items.Next(item); last = std::max(last, item.time)) Show(item);
    if (texts_.row() != nullptr) Limit(last);
    writer_.Finish();
  }

 private:
  void Show(const TraceItem& item) {
    switch (item.kind) {
      case TraceItem::kMemory:
        return Memory(item.index);
      case TraceItem::kWork:
        return Work(timeline_.spans[item.index], false);
      case TraceItem::kMeasured:
        return Work(measured_->spans[item.index], true);
      case TraceItem::kStall:
        return Waiting(timeline_.stalls[item.index], false);
      case TraceItem::kHostWait:
        return Waiting(timeline_.host_waits[item.index], true);
      case TraceItem::kIssue:
        return Issue(timeline_.spans[item.index].instruction, item.time, timeline_.issued[item.index]);
    }
  }

  void Names() {
    NamesOf(false, measured_ != nullptr ? " (predicted)" : "");
    if (measured_ != nullptr) NamesOf(true, " (measured)");
  }
  // Of what was measured there are no stalls, and of the host only its waits.
  void NamesOf(bool measured, const char* which) {
    ProcessName(Host(measured), std::string("host") + which);
    ThreadName(Host(measured), 0, measured ? "waits" : "issue");
    for (std::size_t d = 0; d < machine_.devices.size(); ++d) {
      ProcessName(Host(measured) + d + 1, machine_.devices[d].name + which);
    }
    for (std::size_t s = 0; s < program_.streams.size(); ++s) {
      ThreadName(Process(s, measured), s, fmt::format("{} (stream {})", StreamName(program_.streams[s].kind), s));
    }
    for (std::size_t s = 0; s < program_.streams.size() && !measured && !timeline_.stalls.empty(); ++s) {
      if (program_.streams[s].kind != StreamKind::kCompute) continue;
      ThreadName(Process(s), StallThread(s), fmt::format("stalls of stream {}", s));
    }
  }
  void ProcessName(std::size_t process, const std::string& name) {
    writer_.Event(R"("name":"process_name","ph":"M","pid":)", process, R"(,"tid":0,"args":{"name":)", JsonString(name),
                  R"(})");
  }
  void ThreadName(std::size_t process, std::size_t thread, const std::string& name) {
    writer_.Event(R"("name":"thread_name","ph":"M","pid":)", process, R"(,"tid":)", thread, R"(,"args":{"name":)",
                  JsonString(name), R"(})");
    writer_.Event(R"("name":"thread_sort_index","ph":"M","pid":)", process, R"(,"tid":)", thread,
                  R"(,"args":{"sort_index":)", thread, R"(})");
  }

  void Limit(Nanos time) {
    writer_.Event(R"("name":"memory limit","ph":"C","pid":1,"tid":0,"ts":)", Micro{time}, R"(,"args":{"bytes":)",
                  texts_.row()->memory_limit, R"(})");
  }
  // By class where it is known whose memory changed.
  void Memory(std::uint32_t index) {
    if (timeline_.changes.empty() || texts_.step() == nullptr) {
      const Timeline::MemoryPoint& point = timeline_.memory[index];
      writer_.Event(R"("name":"live memory","ph":"C","pid":1,"tid":0,"ts":)", Micro{point.time}, R"(,"args":{"bytes":)",
                    point.live, R"(})");
      return;
    }
    classes_.Change(program_, *texts_.step(), timeline_.changes[index]);
    writer_.Event(R"("name":"live memory","ph":"C","pid":1,"tid":0,"ts":)", Micro{timeline_.changes[index].time},
                  R"(,"args":{)", classes_.Text(), R"(})");
  }

  void Work(const Span& span, bool measured) {
    const Instruction in = program_.code[span.instruction];
    const bool on_host = in.opcode == Opcode::kHostSync;
    const std::size_t process = on_host ? Host(measured) : Process(in.stream, measured),
                      thread = on_host ? 0 : in.stream;
    writer_.Event(R"("name":")", texts_.Does(in), texts_.Name(in), R"(","cat":")", texts_.Category(in),
                  R"(","ph":"X","pid":)", process, R"(,"tid":)", thread, R"(,"ts":)", Micro{span.start}, R"(,"dur":)",
                  Micro{span.end - span.start}, R"(,"args":{"instruction":)", span.instruction,
                  measured ? Predicted(span.instruction) : "", texts_.Arguments(in), R"(})");
    if (in.opcode == Opcode::kCopy) Flows(span, in, process, thread, measured);
  }

  // What the same instruction was predicted to take, "" of one that has no span there.
  std::string Predicted(std::uint32_t instruction) const {
    const auto span = std::lower_bound(timeline_.spans.begin(), timeline_.spans.end(), instruction,
                                       [](const Span& a, std::uint32_t b) { return a.instruction < b; });
    const bool there = span != timeline_.spans.end() && span->instruction == instruction;
    return there ? fmt::format(R"(,"predicted_ns":{})", span->end - span->start) : "";
  }

  // From a swap-out to every swap-in of the same piece: both ends lie at the beginning of the slice that they belong to.
  // A flow is called by its swap-in; those that were measured come behind those that were predicted.
  void Flows(const Span& span, Instruction in, std::size_t process, std::size_t thread, bool measured) {
    const std::size_t first_id = measured ? program_.code.size() : 0;
    if (program_.copies[in.arg].direction == Direction::kHostToDevice) {
      if (!swaps_.brings_back[span.instruction]) return;
      writer_.Event(R"("name":"swapped","cat":"flow","ph":"f","bp":"e","id":)", first_id + span.instruction,
                    R"(,"pid":)", process, R"(,"tid":)", thread, R"(,"ts":)", Micro{span.start});
      return;
    }
    auto pair = std::lower_bound(swaps_.pairs.begin(), swaps_.pairs.end(), std::pair(span.instruction, 0u));
    for (; pair != swaps_.pairs.end() && pair->first == span.instruction; ++pair) {
      writer_.Event(R"("name":"swapped","cat":"flow","ph":"s","id":)", first_id + pair->second, R"(,"pid":)", process,
                    R"(,"tid":)", thread, R"(,"ts":)", Micro{span.start});
    }
  }

  void Waiting(const Stall& stall, bool host) {
    const std::uint32_t by = WaitedFor(stall.instruction);
    const bool known = by != kNoInstruction && stall.cause != Cause::kNone;
    const std::size_t stream = program_.code[stall.instruction == kNoInstruction ? 0 : stall.instruction].stream;
    const std::size_t process = host ? 0 : Process(ComputeStreamBeside(stream));
    writer_.Event(R"("name":"waits for )", known ? texts_.Does(program_.code[by]) : "",
                  known ? texts_.Name(program_.code[by]) : WaitName(stall), R"(","cat":")", host ? "host" : "stall",
                  R"(","ph":"X","pid":)", process, R"(,"tid":)", host ? 0 : StallThread(ComputeStreamBeside(stream)),
                  R"(,"ts":)", Micro{stall.start}, R"(,"dur":)", Micro{stall.end - stall.start},
                  R"(,"args":{"cause":")", CauseWord(stall), R"(")", known ? fmt::format(R"(,"by":{})", by) : "",
                  R"(})");
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
    writer_.Event(R"("name":"issue","cat":"issue","ph":"X","pid":0,"tid":0,"ts":)", Micro{start}, R"(,"dur":)",
                  Micro{end - start}, R"(,"args":{"instruction":)", instruction, R"(})");
  }

  std::size_t Host(bool measured) const { return measured ? machine_.devices.size() + 1 : 0; }
  std::size_t Process(std::size_t stream, bool measured = false) const {
    return Host(measured) + static_cast<std::size_t>(program_.streams[stream].device) + 1;
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
  const Timeline* measured_;  // nullptr: nothing was
  WorkTexts texts_;
  LiveClasses classes_;
  std::vector<std::uint32_t> work_;
  Swaps swaps_;
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
