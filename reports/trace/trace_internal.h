// Parts of trace.cc: the order of events, the copies that belong together, and the texts of kernels and copies.
#ifndef SPILLWAY_REPORTS_TRACE_TRACE_INTERNAL_H_
#define SPILLWAY_REPORTS_TRACE_TRACE_INTERNAL_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "reports/trace/trace.h"

namespace spillway {

// An event to come: when, and what of the timeline it shows.
struct TraceItem {
  enum Kind : std::uint32_t {
    kMemory,    // index into Timeline::changes, or memory
    kWork,      // into spans
    kStall,     // into stalls
    kHostWait,  // into host_waits
    kIssue,     // into issued; from `time` on, when the host began with it
    kMeasured,  // into spans of TraceSubject::measured
  };
  Nanos time = 0;
  std::uint32_t index = 0;
  Kind kind = kMemory;
};

// Iterates over all events by time; at equal times in the order of the kinds, then by index. Spans of a stream, issues
// of the host, and memory changes are each sorted already, and are merged. Memory needed besides the timelines: 4 bytes
// per stall, which are not sorted. REQUIRES: spans by instruction, those of one stream one after another; the arguments
// outlive this.
class TraceItems {
 public:
  TraceItems(const Timeline& timeline, const Program& program, const Timeline* measured = nullptr);
  bool Next(TraceItem& item);  // false: there are no more

 private:
  // One thread's spans, in the list of all.
  struct Lane {
    const std::vector<Span>* spans;
    TraceItem::Kind kind;
    std::uint32_t stream;  // as many as there are: the host
    std::uint32_t at = 0;
  };
  void AddLanes(const std::vector<Span>& spans, TraceItem::Kind kind);
  bool Seek(Lane& lane) const;  // to its next span
  void Advance(std::size_t source);
  bool AdvanceIssue();

  const Timeline& timeline_;
  const Program& program_;
  std::vector<std::uint32_t> stalls_;  // by start
  std::vector<Lane> lanes_;
  // The next event of each source: memory, stalls, the host's waits, its issues, lanes; kNone: no more.
  static constexpr std::uint32_t kNone = 0xffffffff;
  std::vector<TraceItem> next_;
  std::uint32_t issue_ = 0;  // the next one that may take time
  std::size_t issue_wait_ = 0;
  Nanos busy_from_ = 0;  // the host, since the last one issued or waited for
};

// Which swap-out took away what a swap-in brings back: the last one before it of that piece of that host buffer.
// Twelve bytes a copy.
struct Swaps {
  explicit Swaps(const Program& program);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;  // instructions of swap-out and swap-in, sorted
  std::vector<bool> brings_back;                               // by instruction: a swap-in of a pair
};

// By instruction: the last kernel or copy that is done when the instruction is reached; kNoInstruction: none. For a
// kernel or copy the instruction itself; for a wait or a host's wait the kernel or copy before the record of its event.
std::vector<std::uint32_t> WorkBefore(const Program& program);

// The tensor that the copy moves; kNoTensor: none.
TensorId TensorOf(const Program& program, const Copy& copy);

// Names and arguments as they stand between the quotes and braces of JSON, each made once.
class WorkTexts {
 public:
  explicit WorkTexts(const TraceSubject& subject);
  const ResultRow* row() const { return row_; }
  const TrainingStep* step() const { return step_; }
  const char* Category(Instruction in) const;  // "kernel", "recompute", "copy", "host"
  const char* Does(Instruction in) const;      // "recompute ", "swap-in ", ... before the name
  std::string Name(Instruction in);
  std::string Arguments(Instruction in);  // each with a comma before it

 private:
  const std::string& OpName(OpId op);
  const std::string& TensorName(TensorId tensor);
  const std::string& LaunchArguments(std::uint32_t index);
  std::string ReasonOf(TensorId tensor) const;  // as an argument; "": there is none

  const Program& program_;
  const TrainingStep* step_;
  const CostModel* costs_;
  const ResultRow* row_;
  std::map<TensorId, std::string> reasons_;
  std::vector<std::string> op_names_, tensor_names_, launch_arguments_;  // "": not made yet
};

// Live bytes by class of tensor.
class LiveClasses {
 public:
  void Change(const Program& program, const TrainingStep& step, const MemoryChange& change);
  std::string Text() const;  // of those that are not 0, or "bytes":0

 private:
  std::array<Bytes, kTensorTraits.size() + 1> live_{};  // the last: workspace
};

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_TRACE_TRACE_INTERNAL_H_
