#include "calibrate/devices/cuda/session.h"

#include <algorithm>
#include <cmath>

#include "calibrate/devices/cuda/timer.h"
#include "calibrate/ops/operands.h"

namespace spillway {

namespace {

constexpr float kSmall = 0x1p-5f;  // of the numbers that kernels are rehearsed on

// Of which no sum of products overflows.
std::vector<float> SmallNumbers() {
  std::vector<float> numbers = BenchNumbers(false);
  for (float& number : numbers) number *= kSmall;
  return numbers;
}

constexpr Bytes kMarksBytes = kCudaMostMultiprocessors * static_cast<Bytes>(sizeof(CudaMoment));

}  // namespace

// ---- from Begin to End --------------------------------------------------------------------------------------------------

CudaSession::CudaSession(CudaDevice& device, const Session& session)
    : device_(device),
      calls_(device.calls_),
      session_(session),
      training_({.seed = device.options_.seed,
                 .learning_rate = device.options_.learning_rate,
                 .momentum = device.options_.momentum}),
      order_(*session.program),
      memory_(calls_, session_, device.pool_),
      kernels_(session_, calls_, *device.kernels_, memory_, training_),
      watch_(calls_, device.clock_, device.options_.patience, session.program->streams.size(),
             session.program->code.size(), session.debug),
      service_(calls_, watch_),
      staging_(calls_, service_),
      start_(NewEvent(calls_, true)),
      ran_(session.program->code.size(), 0),
      looked_(session.program->buffers.size(), false) {
  const Bytes half = CudaStaging::HalfFor(MostBrought(), device.options_.staging);
  memory_.ReserveHost(2 * half + 2 * kMarksBytes);
  staging_.Use(memory_.staging().first(static_cast<std::size_t>(2 * half)));
  marks_ = reinterpret_cast<CudaMoment*>(memory_.staging().data() + 2 * half);
  // The spins that pace an emulated link must not queue up behind kernels.
  for (const Stream& stream : session.program->streams) {
    streams_.push_back(NewStream(calls_, stream.kind != StreamKind::kCompute));
  }
  MakeEvents();
  try {
    if (device.spin_gap_) Rehearse(device.options_.emulate.compute_slowdown, *device.spin_gap_);
    FillAtBegin();
  } catch (...) {
    Quiet();
    throw;
  }
}

// At once, between steps: debug sessions read the arena back.
Bytes CudaSession::MostBrought() const {
  if (session_.debug) return session_.arena_bytes;
  Bytes most = kernels_.staging_bytes();
  for (const Resident& resident : session_.residents) {
    if (resident.first.kind != BufferKind::kHost) most = std::max(most, resident.first.bytes);
  }
  return most;
}

void CudaSession::MakeEvents() {
  const Program& program = *session_.program;
  for (EventId e = 0; e < program.events; ++e) events_.push_back(NewEvent(calls_, false));
  for (std::size_t s = 0; s < streams_.size(); ++s) ends_.push_back(NewEvent(calls_, false));
  around_.resize(program.code.size());
  if (!session_.debug && !session_.instrumented) return;
  for (std::size_t i = 0; i < around_.size(); ++i) {
    const Opcode opcode = program.code[i].opcode;
    if (opcode != Opcode::kKernel && opcode != Opcode::kCopy) continue;
    if (session_.instrumented) around_[i].before = NewEvent(calls_, true);
    around_[i].behind = NewEvent(calls_, session_.instrumented);
  }
}

// On numbers as a step has them: on zeros a GPU draws less power, and runs faster than it will.
void CudaSession::Rehearse(double slowdown, double gap) {
  if (!kernels_.Rehearsed() && session_.arena_bytes > 0) {
    const std::vector<float> numbers = SmallNumbers();
    Guarded(kNoInstruction, [&] {
      memory_.FillArena(std::as_bytes(std::span(numbers)), staging_, service_.stream());
      service_.Wait();
    });
  }
  kernels_.Slow(slowdown, gap);
}

void CudaSession::FillAtBegin() {
  Guarded(kNoInstruction, [&] {
    if (session_.arena_bytes > 0) {
      const Location all{.buffer = 0, .offset = 0, .bytes = session_.arena_bytes};
      calls_.Fill(memory_.At(all, kNoInstruction), session_.debug ? kCudaEmpty : 0, session_.arena_bytes,
                  service_.stream());
    }
    service_.Wait();
    kernels_.UploadStatistics(staging_);
  });
}

CudaSession::~CudaSession() { Quiet(); }

void CudaSession::Quiet() noexcept {
  if (hung_) return;  // waiting once was enough
  for (std::size_t s = 0; s <= streams_.size(); ++s) {
    CudaStream* const stream = s < streams_.size() ? streams_[s].get() : service_.stream();
    try {
      service_.WaitFor(stream, kNoInstruction);
    } catch (const DeviceError& error) {
      if (error.fault() == Fault::kHung) return;
    }
  }
}

// ---- steps --------------------------------------------------------------------------------------------------------------

void CudaSession::BeginStep() {
  order_.BeginStep();
  watch_.BeginStep();
  std::fill(ran_.begin(), ran_.end(), 0);
  training_.StartIteration(step_++);
  Guarded(kNoInstruction, [&] {
    kernels_.UploadLabels(staging_);
    if (session_.debug) EmptyAll();
    std::fill_n(marks_, 2 * kCudaMostMultiprocessors, CudaMoment{});
    calls_.Mark(marks_, service_.stream());
    calls_.Record(start_.get(), service_.stream());
    service_.Wait();
  });
}

// Before the first step there is nothing to look for: what is not a resident's is as Begin filled it.
void CudaSession::EmptyAll() {
  for (const SessionLayout::Range& range : memory_.layout().EmptyInArena()) {
    if (step_ > 1) memory_.LookFor(range.begin, range.end, staging_);
    memory_.Empty(range.begin, range.end, service_.stream());
  }
  memory_.EmptyHost();
}

template <typename Call>
void CudaSession::Carry(Issue issue, const Call& call) {
  const Around& around = around_[issue.instruction];
  Guarded(issue.instruction, [&] {
    if (around.before != nullptr) calls_.Record(around.before.get(), StreamOf(issue));
    watch_.NoteWork(issue);
    call();
    if (around.behind == nullptr) return;
    calls_.Record(around.behind.get(), StreamOf(issue));
    watch_.NoteMark(issue, around.behind.get());
  });
  ran_[issue.instruction] = 1;
}

void CudaSession::Enqueue(const KernelCall& call) {
  order_.GiveKernel(call.issue);
  if (!kernels_.Has(call.issue.instruction)) {
    throw DeviceError(Fault::kContract, call.issue.instruction, "a kernel that Begin was not told of");
  }
  Carry(call.issue, [&] { kernels_.Run(call.issue.instruction, StreamOf(call.issue)); });
}

void CudaSession::Enqueue(const CopyCall& call) {
  order_.GiveCopy(call.issue, call.copy->direction);
  Copies(call);
}

void CudaSession::Copies(const CopyCall& call) {
  std::byte* const to = memory_.At(call.to, call.issue.instruction);
  const std::byte* const from = memory_.At(call.from, call.issue.instruction);
  if (call.from.bytes == 0) return;
  Carry(call.issue, [&] {
    const Direction direction = call.copy->direction;
    CudaStream* const stream = StreamOf(call.issue);
    if (call.runs != nullptr) return CopyBox(call, to, from, stream);
    if (!device_.pieces_) return calls_.Copy(to, from, call.from.bytes, direction, stream);
    PacedCopy(calls_, device_.options_.emulate.link_rate, *device_.pieces_, to, from, call.from.bytes, direction,
              stream);
  });
}

// Rows of the innermost loop go by one call. A link to emulate is too slow for pitches to matter beside its rate: each of
// these calls is followed by its spin.
void CudaSession::CopyBox(const CopyCall& call, std::byte* to, const std::byte* from, CudaStream* stream) {
  const Direction direction = call.copy->direction;
  if (call.copy->fill) calls_.Fill(to, 0, call.to.bytes, stream);
  const BoxRuns::Loop rows = call.runs->loops.empty() ? BoxRuns::Loop{} : call.runs->loops.front();
  const auto copy_rows = [&](Bytes from_offset, Bytes to_offset, Bytes run) {
    if (rows.count == 1) {
      calls_.Copy(to + to_offset, from + from_offset, run, direction, stream);
    } else {
      calls_.CopyRows(to + to_offset, rows.to_pitch, from + from_offset, rows.from_pitch, run, rows.count, direction,
                      stream);
    }
    if (!device_.pieces_) return;
    const Bytes bytes = run * rows.count;
    const double rest = static_cast<double>(bytes) / device_.options_.emulate.link_rate -
                        (*device_.pieces_)[static_cast<std::size_t>(direction)].Of(bytes);
    if (rest > 0) calls_.Spin(rest, stream);
  };
  ForEachRun(*call.runs, copy_rows, call.runs->loops.empty() ? 0 : 1);
}

void CudaSession::Record(Issue issue, EventId event) {
  order_.Record(issue, event);
  Guarded(issue.instruction, [&] { calls_.Record(events_[event].get(), StreamOf(issue)); });
  watch_.NoteMark(issue, events_[event].get());
}

void CudaSession::Wait(Issue issue, EventId event) {
  order_.Wait(issue, event);
  Guarded(issue.instruction, [&] { calls_.Wait(StreamOf(issue), events_[event].get()); });
  watch_.NoteWait(issue, events_[event].get());
}

void CudaSession::HostSync(Issue issue, EventId event) {
  order_.HostSync(issue, event);
  Guarded(issue.instruction, [&] { watch_.Await(events_[event].get(), issue.instruction); });
}

void CudaSession::Alloc(Issue issue, const Location& buffer) {
  order_.Give(issue);
  memory_.At(buffer, issue.instruction);
}

void CudaSession::Free(Issue issue, const Location& buffer) {
  order_.Give(issue);
  memory_.At(buffer, issue.instruction);
  if (memory_.layout().KeepsAtFree(buffer.buffer)) return;
  Guarded(issue.instruction, [&] {
    Look(issue, buffer);
    memory_.Empty(buffer.offset, buffer.offset + buffer.bytes, StreamOf(issue));
  });
}

// Before its contents are gone. Once is enough: every step writes the same bytes.
void CudaSession::Look(Issue issue, const Location& buffer) {
  if (looked_[buffer.buffer]) return;
  looked_[buffer.buffer] = true;
  const Bytes end = buffer.offset + buffer.bytes;
  if (!memory_.MayRaise(end)) return;
  service_.WaitFor(StreamOf(issue), issue.instruction);
  memory_.LookFor(buffer.offset, end, staging_);
}

void CudaSession::EndStep() {
  Guarded(kNoInstruction, [&] {
    for (StreamId s = 0; s < streams_.size(); ++s) calls_.Record(ends_[s].get(), streams_[s].get());
    for (StreamId s = 0; s < streams_.size(); ++s) {
      watch_.NoteMark({kNoInstruction, s}, ends_[s].get());
    }
    for (const OwnedCudaEvent& end : ends_) watch_.Await(end.get(), kNoInstruction);
    calls_.Mark(marks_ + kCudaMostMultiprocessors,
                service_.stream());  // nobody waits for it now: no step is longer for it
  });
  order_.EndStep();
  if (session_.debug) CheckResidents();
}

// ---- after a step -------------------------------------------------------------------------------------------------------

double CudaSession::ReadClock() {
  double megahertz = 0;
  Guarded(kNoInstruction, [&] {
    service_.Wait();
    megahertz = Megahertz(
        Between({marks_, kCudaMostMultiprocessors}, {marks_ + kCudaMostMultiprocessors, kCudaMostMultiprocessors}));
  });
  return megahertz;
}

std::vector<Span> CudaSession::ReadSpans() {
  std::vector<Span> spans;
  if (!session_.instrumented) return spans;
  Guarded(kNoInstruction, [&] {
    for (std::uint32_t i = 0; i < around_.size(); ++i) {
      if (ran_[i] == 0 || around_[i].before == nullptr) continue;
      const double start = calls_.Elapsed(start_.get(), around_[i].before.get());
      const double end = calls_.Elapsed(start_.get(), around_[i].behind.get());
      spans.push_back({i, std::llround(start), std::llround(end)});
    }
  });
  return spans;
}

}  // namespace spillway
