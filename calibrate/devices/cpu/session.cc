#include "calibrate/devices/cpu/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <system_error>

#include "calibrate/host/host_memory.h"

namespace spillway {

CpuSession::CpuSession(const CpuDeviceOptions& options, const Clock& clock, std::shared_ptr<CpuKernels> kernels,
                       const Session& session)
    : options_(options),
      clock_(clock),
      gated_clock_(clock, gate_),
      session_(session),
      cores_(ChooseCores(AllowedCores(), options.threads, options.compute_core, options.copy_core)),
      pinned_(std::in_place, cores_.others),
      library_(std::move(kernels)),
      link_(options.link_rate, gated_clock_),
      training_({.seed = options.seed, .learning_rate = options.learning_rate, .momentum = options.momentum}),
      order_(*session.program),
      memory_(session_, options.available_memory),
      kernels_(session_, *library_, memory_, training_),
      actions_(session.program->code.size()),
      events_(session.program->events),
      ends_(session.program->streams.size()),
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

bool CpuSession::Stop() noexcept {
  failure_.Set(Fault::kFailed, kNoInstruction, "the session is over");
  std::erase_if(streams_, [](const auto& stream) { return stream->Finish(0); });  // all are told
  const Nanos end = clock_.Now() + options_.patience;
  std::erase_if(streams_, [&](const auto& stream) {
    while (!stream->Finish(std::max<Nanos>(0, end - clock_.Now()))) {
      if (clock_.Now() >= end) return false;
    }
    return true;
  });
  pinned_.reset();
  return streams_.empty();
}

void CpuSession::Abandon(const std::shared_ptr<CpuSession>& self) noexcept {
  gate_.Close();
  for (const auto& stream : streams_) stream->Abandon(self);
}

std::string CpuSession::Pinning() const {
  const bool all = std::all_of(streams_.begin(), streams_.end(), [](const auto& stream) { return stream->pinned(); });
  if (!pinned_ || !pinned_->pinned() || !all) return "not pinned: the system does not allow it";
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
  order_.BeginStep();
  for (Span& span : spans_) span.end = -1;
  if (session_.debug) memory_.StartStep();
  start_ = clock_.Now();
}

CpuSession::Action& CpuSession::NewAction(Opcode opcode, Issue issue) {
  Action& action = actions_[issue.instruction];
  action.opcode = opcode;
  action.stream = issue.stream;
  return action;
}

void CpuSession::Give(bool given, Issue issue) const {
  if (given) return;
  throw DeviceError(Fault::kContract, issue.instruction,
                    fmt::format("stream {} is given more than the Program has", issue.stream));
}

void CpuSession::Enqueue(const KernelCall& call) {
  const Issue issue = call.issue;
  failure_.Check();
  order_.GiveKernel(issue);
  if (NewAction(Opcode::kKernel, issue).kernel == nullptr) {
    throw DeviceError(Fault::kContract, issue.instruction, "a kernel that Begin was not told of");
  }
  Give(streams_[issue.stream]->Call(issue.instruction), issue);
}

void CpuSession::Enqueue(const CopyCall& call) {
  const Issue issue = call.issue;
  failure_.Check();
  order_.GiveCopy(issue, call.copy->direction);
  Action& action = NewAction(Opcode::kCopy, issue);
  action.direction = call.copy->direction;
  action.at = call.from;
  action.to = call.to;
  action.offset = call.copy->offset;
  action.fill = call.copy->fill;
  if (call.runs != nullptr && !action.boxed) action.runs = *call.runs;
  action.boxed = call.runs != nullptr;
  action.from_bytes = memory_.At(call.from, issue.instruction);
  action.to_bytes = memory_.At(call.to, issue.instruction);
  Give(streams_[issue.stream]->Call(issue.instruction), issue);
}

void CpuSession::AllocOrFree(Opcode opcode, Issue issue, const Location& buffer) {
  failure_.Check();
  order_.Give(issue);
  memory_.At(buffer, issue.instruction);
  NewAction(opcode, issue).at = buffer;
  Give(streams_[issue.stream]->Call(issue.instruction), issue);
}

void CpuSession::Record(Issue issue, EventId event) {
  failure_.Check();
  order_.Record(issue, event);
  Give(streams_[issue.stream]->Record(issue.instruction, events_[event]), issue);
}

void CpuSession::Wait(Issue issue, EventId event) {
  failure_.Check();
  order_.Wait(issue, event);
  Give(streams_[issue.stream]->Wait(issue.instruction, events_[event]), issue);
}

void CpuSession::HostSync(Issue issue, EventId event) {
  failure_.Check();
  order_.HostSync(issue, event);
  Await(events_[event], issue.instruction);
  failure_.Check();
}

void CpuSession::EndStep() {
  for (StreamId s = 0; s < streams_.size(); ++s) {
    Give(streams_[s]->Record(kNoInstruction, ends_[s]), {kNoInstruction, s});
  }
  for (CpuEvent& end : ends_) Await(end, kNoInstruction);
  failure_.Check();
  order_.EndStep();
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
