#include "calibrate/cpu/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <system_error>

#include "calibrate/cpu/canary.h"

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

CpuSession::CpuSession(const Network& network, const CpuDeviceOptions& options, const Clock& clock, CpuKernels& kernels,
                       const Session& session)
    : options_(options),
      clock_(clock),
      session_(session),
      cores_(ChooseCores(AllowedCores(), options.threads, options.compute_core, options.copy_core)),
      pinned_(cores_.others),
      link_(options.link_rate, clock),
      training_({.seed = options.seed, .learning_rate = options.learning_rate, .momentum = options.momentum}),
      memory_(session_, options.available_memory),
      kernels_(network, session_, kernels, memory_, training_),
      actions_(session.program->code.size()),
      events_(session.program->events),
      ends_(session.program->streams.size()),
      recorded_(session.program->events, 0),
      spans_(session.program->code.size()) {
  for (const KernelCall& call : session.kernels) actions_[call.issue.instruction].kernel = &call;
  StartStreams();
}

void CpuSession::StartStreams() {
  for (StreamId s = 0; s < session_.program->streams.size(); ++s) {
    try {
      streams_.push_back(
          std::make_unique<CpuStream>(StreamOptions(s), [this](std::uint32_t instruction) { Perform(instruction); }));
    } catch (const std::system_error& error) {
      throw DeviceError(Fault::kFailed, kNoInstruction, fmt::format("no thread for stream {}: {}", s, error.what()));
    }
  }
}

CpuStreamOptions CpuSession::StreamOptions(StreamId stream) {
  const Program& program = *session_.program;
  const auto count = std::count_if(program.code.begin(), program.code.end(),
                                   [&](const Instruction& in) { return in.stream == stream; });
  const bool compute = program.streams[stream].kind == StreamKind::kCompute;
  // Two more: the end of the step, and that of the step before, which may have fired and not be counted as done yet.
  return {.capacity = static_cast<std::uint32_t>(count) + 2,
          .cores = compute ? cores_.compute : cores_.others,
          .spin = compute && !cores_.shared ? kSpinAlone : kSpinShared,
          .failure = &failure_};
}

CpuSession::~CpuSession() { Stop(); }

void CpuSession::Stop() noexcept {
  if (streams_.empty()) return;
  failure_.Set(Fault::kFailed, kNoInstruction, "the session is over");
  streams_.clear();
}

std::string CpuSession::Pinning() const {
  const bool all = std::all_of(streams_.begin(), streams_.end(), [](const auto& stream) { return stream->pinned(); });
  if (!pinned_.pinned() || !all) return "not pinned: the system does not allow it";
  if (cores_.shared) return "everything on " + CoresText(cores_.others);
  return "compute on " + CoresText(cores_.compute) + ", copies and host on " + CoresText(cores_.others);
}

// ---- contents -------------------------------------------------------------------------------------------------------

void CpuSession::Write(const Location& at, std::span<const std::byte> bytes) {
  const std::span<std::byte> place = memory_.At(at, kNoInstruction);
  assert(place.size() == bytes.size());
  if (!bytes.empty()) std::memcpy(place.data(), bytes.data(), bytes.size());
}

void CpuSession::Read(const Location& at, std::span<std::byte> bytes) {
  const std::span<std::byte> place = memory_.At(at, kNoInstruction);
  assert(place.size() == bytes.size());
  if (!bytes.empty()) std::memcpy(bytes.data(), place.data(), bytes.size());
}

// ---- issuing --------------------------------------------------------------------------------------------------------

void CpuSession::BeginStep() {
  failure_.Check();
  training_.StartIteration(step_++);
  for (CpuEvent& event : events_) event.Reset();
  for (CpuEvent& event : ends_) event.Reset();
  std::fill(recorded_.begin(), recorded_.end(), 0);
  records_ = 0;
  for (Span& span : spans_) span.end = -1;
  if (session_.debug) memory_.StartStep();
  start_ = clock_.Now();
}

CpuSession::Action& CpuSession::NewAction(Opcode opcode, Issue issue) {
  failure_.Check();
  if (issue.instruction >= actions_.size()) Broken(issue.instruction, "there is no such instruction");
  Action& action = actions_[issue.instruction];
  if (action.issued_in == step_) Broken(issue.instruction, "it is issued a second time");
  action.issued_in = step_;
  action.opcode = opcode;
  return action;
}

CpuStream& CpuSession::StreamOf(Issue issue) {
  if (issue.stream < streams_.size()) return *streams_[issue.stream];
  Broken(issue.instruction, fmt::format("there is no stream {}", issue.stream));
}

void CpuSession::Give(bool given, Issue issue) const {
  if (!given) Broken(issue.instruction, fmt::format("stream {} is given more than the Program has", issue.stream));
}

void CpuSession::Enqueue(const KernelCall& call) {
  const Issue issue = call.issue;
  CpuStream& stream = StreamOf(issue);
  if (session_.program->streams[issue.stream].kind != StreamKind::kCompute) {
    Broken(issue.instruction, "a kernel on a copy stream");
  }
  const Action& action = NewAction(Opcode::kKernel, issue);
  if (action.kernel == nullptr) Broken(issue.instruction, "a kernel that Begin was not told of");
  Give(stream.Call(issue.instruction), issue);
}

void CpuSession::Enqueue(const CopyCall& call) {
  const Issue issue = call.issue;
  CpuStream& stream = StreamOf(issue);
  if (!RunsOn(session_.program->streams[issue.stream].kind, call.copy->direction)) {
    Broken(issue.instruction, "the stream does not copy in this direction");
  }
  Action& action = NewAction(Opcode::kCopy, issue);
  action.direction = call.copy->direction;
  action.at = call.from;
  action.to = call.to;
  action.offset = call.copy->offset;
  action.from_bytes = memory_.At(call.from, issue.instruction);
  action.to_bytes = memory_.At(call.to, issue.instruction);
  Give(stream.Call(issue.instruction), issue);
}

void CpuSession::AllocOrFree(Opcode opcode, Issue issue, const Location& buffer) {
  CpuStream& stream = StreamOf(issue);
  Action& action = NewAction(opcode, issue);
  memory_.At(buffer, issue.instruction);
  action.at = buffer;
  Give(stream.Call(issue.instruction), issue);
}

void CpuSession::NeedEvent(Issue issue, EventId event, bool recorded) const {
  failure_.Check();
  if (event >= events_.size()) Broken(issue.instruction, fmt::format("there is no event {}", event));
  if ((recorded_[event] != 0) == recorded) return;
  Broken(issue.instruction,
         fmt::format("event {} {}", event, recorded ? "is not recorded before" : "is recorded a second time"));
}

void CpuSession::Record(Issue issue, EventId event) {
  NeedEvent(issue, event, false);
  recorded_[event] = 1;
  ++records_;
  Give(StreamOf(issue).Record(issue.instruction, events_[event]), issue);
}

void CpuSession::Wait(Issue issue, EventId event) {
  NeedEvent(issue, event, true);
  Give(StreamOf(issue).Wait(issue.instruction, events_[event]), issue);
}

void CpuSession::HostSync(Issue issue, EventId event) {
  NeedEvent(issue, event, true);
  Await(events_[event], issue.instruction);
  failure_.Check();
}

void CpuSession::EndStep() {
  for (StreamId s = 0; s < streams_.size(); ++s) {
    Give(streams_[s]->Record(kNoInstruction, ends_[s]), {kNoInstruction, s});
  }
  for (CpuEvent& end : ends_) Await(end, kNoInstruction);
  failure_.Check();
  if (records_ != events_.size()) {
    const auto never = std::find(recorded_.begin(), recorded_.end(), 0) - recorded_.begin();
    Broken(kNoInstruction, fmt::format("event {} is never recorded", never));
  }
  if (!session_.debug) return;
  memory_.CheckEnd();
  CheckResidents();
}

// ---- waiting --------------------------------------------------------------------------------------------------------

// Streams come to their ends even after a failure; only one that stands still keeps the caller waiting.
void CpuSession::Await(CpuEvent& event, std::uint32_t instruction) {
  if (event.fired()) return;
  std::uint64_t progress = Progress();
  Nanos since = clock_.Now();
  while (!event.Wait(kSpinShared, options_.patience)) {
    const std::uint64_t now = Progress();
    if (now == progress && clock_.Now() - since >= options_.patience) Hang(instruction);
    if (now != progress) since = clock_.Now();
    progress = now;
  }
}

std::uint64_t CpuSession::Progress() const {
  std::uint64_t sum = 0;
  for (const auto& stream : streams_) sum += stream->done();
  return sum;
}

// Blames what runs, not who waits for it.
void CpuSession::Hang(std::uint32_t instruction) const {
  for (const bool waits : {false, true}) {
    for (const auto& stream : streams_) {
      const CpuStream::Position at = stream->At();
      if (at.instruction == kNoInstruction || at.waits != waits) continue;
      throw DeviceError(
          Fault::kHung, at.instruction,
          fmt::format("{} for {}", waits ? "waits for an event" : "runs", FormatDuration(options_.patience)));
    }
  }
  throw DeviceError(Fault::kHung, instruction, "waits for streams that have nothing to do");
}

std::vector<Span> CpuSession::ReadSpans() const {
  std::vector<Span> spans;
  if (!session_.instrumented) return spans;
  std::copy_if(spans_.begin(), spans_.end(), std::back_inserter(spans), [](const Span& span) { return span.end >= 0; });
  return spans;
}

}  // namespace spillway
