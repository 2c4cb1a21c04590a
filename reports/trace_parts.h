// What trace.cc is made of: the order of the events, and the texts of kernels and copies.
#ifndef SPILLWAY_REPORTS_TRACE_PARTS_H_
#define SPILLWAY_REPORTS_TRACE_PARTS_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reports/trace.h"

namespace spillway {

// An event to come: when, and what of the timeline it shows.
struct TraceItem {
  enum Kind : std::uint32_t {
    kMemory,    // index into Timeline::changes, or memory
    kWork,      // into spans
    kStall,     // into stalls
    kHostWait,  // into host_waits
    kIssue,     // into issued
  };
  Nanos time = 0;
  std::uint32_t index = 0;
  Kind kind = kMemory;
};
// Sorted by time; at equal times in the order of the kinds.
std::vector<TraceItem> ItemsOf(const Timeline& timeline, const Program& program);

// By instruction: the last kernel or copy that was done when it was reached, kNoInstruction before the first. Of a kernel
// or copy itself; of a wait and a host's wait the one before the record of its event.
std::vector<std::uint32_t> WorkBefore(const Program& program);

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
  TensorId TensorOf(const Copy& copy) const;

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

#endif  // SPILLWAY_REPORTS_TRACE_PARTS_H_
