#include "sim/execute/session_order.h"

#include <fmt/format.h>

#include <algorithm>

namespace spillway {

namespace {

[[noreturn]] void Broken(std::uint32_t instruction, const std::string& what) {
  throw DeviceError(Fault::kContract, instruction, what);
}

// Which streams may run it.
bool RunsOn(StreamKind kind, Direction direction) {
  if (kind == StreamKind::kCopy) return true;
  const bool in = direction == Direction::kHostToDevice;
  return kind == (in ? StreamKind::kHostToDevice : StreamKind::kDeviceToHost);
}

}  // namespace

SessionOrder::SessionOrder(const Program& program)
    : program_(program), given_(program.code.size(), 0), recorded_(program.events, 0) {}

void SessionOrder::BeginStep() {
  ++step_;
  std::fill(recorded_.begin(), recorded_.end(), 0);
  records_ = 0;
}

StreamKind SessionOrder::KindOf(Issue issue) const {
  if (issue.stream < program_.streams.size()) return program_.streams[issue.stream].kind;
  Broken(issue.instruction, fmt::format("there is no stream {}", issue.stream));
}

void SessionOrder::Give(Issue issue) {
  KindOf(issue);
  if (issue.instruction >= given_.size()) Broken(issue.instruction, "there is no such instruction");
  if (given_[issue.instruction] == step_) Broken(issue.instruction, "it is issued a second time");
  given_[issue.instruction] = step_;
}

void SessionOrder::GiveKernel(Issue issue) {
  if (KindOf(issue) != StreamKind::kCompute) Broken(issue.instruction, "a kernel on a copy stream");
  Give(issue);
}

void SessionOrder::GiveCopy(Issue issue, Direction direction) {
  if (!RunsOn(KindOf(issue), direction)) Broken(issue.instruction, "the stream does not copy in this direction");
  Give(issue);
}

void SessionOrder::NeedEvent(Issue issue, EventId event, bool recorded) const {
  if (event >= recorded_.size()) Broken(issue.instruction, fmt::format("there is no event {}", event));
  if ((recorded_[event] != 0) == recorded) return;
  Broken(issue.instruction,
         fmt::format("event {} {}", event, recorded ? "is not recorded before" : "is recorded a second time"));
}

void SessionOrder::Record(Issue issue, EventId event) {
  NeedEvent(issue, event, false);
  KindOf(issue);
  recorded_[event] = 1;
  ++records_;
}

void SessionOrder::Wait(Issue issue, EventId event) const {
  NeedEvent(issue, event, true);
  KindOf(issue);
}

void SessionOrder::HostSync(Issue issue, EventId event) const { NeedEvent(issue, event, true); }

void SessionOrder::EndStep() const {
  if (records_ == recorded_.size()) return;
  const auto never = std::find(recorded_.begin(), recorded_.end(), 0) - recorded_.begin();
  Broken(kNoInstruction, fmt::format("event {} is never recorded", never));
}

}  // namespace spillway
