#include "calibrate/measure/host.h"

#include <algorithm>

#include "calibrate/measure/plan.h"
#include "model/stats/quantile.h"
#include "sim/execute/execute.h"

namespace spillway {
namespace {

constexpr StreamId kCompute = 0, kOut = 1, kIn = 2;
constexpr Bytes kCopyBytes = 4 * kKiB;

class Writer {
 public:
  Writer() {
    program_.streams = {{0, StreamKind::kCompute}, {0, StreamKind::kDeviceToHost}, {0, StreamKind::kHostToDevice}};
    program_.launches.resize(1);
    out_ = Add({.bytes = kCopyBytes, .offset = 0});
    in_ = Add({.bytes = kCopyBytes, .offset = kCopyBytes});
    host_out_ = Add({.bytes = kCopyBytes, .kind = BufferKind::kHost});
    host_in_ = Add({.bytes = kCopyBytes, .kind = BufferKind::kHost});
    Emit(Opcode::kAlloc, kCompute, out_);
    Emit(Opcode::kAlloc, kIn, in_);
  }
  void Round() {
    Kernel();
    Wait(kOut, Record(kCompute));
    Copy(kOut, Direction::kDeviceToHost);
    Copy(kIn, Direction::kHostToDevice);
    Wait(kCompute, Record(kIn));
    Kernel();
  }
  Program Finish() {
    Emit(Opcode::kFree, kIn, in_);
    Wait(kCompute, Record(kOut));
    Emit(Opcode::kFree, kCompute, out_);
    Emit(Opcode::kHostSync, kCompute, Record(kCompute));
    return std::move(program_);
  }

 private:
  BufferId Add(const Buffer& buffer) {
    program_.buffers.push_back(buffer);
    return static_cast<BufferId>(program_.buffers.size() - 1);
  }
  void Emit(Opcode opcode, StreamId stream, std::uint32_t arg) {
    program_.code.push_back({.opcode = opcode, .stream = stream, .arg = arg});
  }
  void Kernel() {
    Emit(Opcode::kKernel, kCompute, static_cast<std::uint32_t>(program_.kernels.size()));
    program_.kernels.push_back({.operands = static_cast<std::uint32_t>(program_.operands.size())});
  }
  void Copy(StreamId stream, Direction direction) {
    const bool in = direction == Direction::kHostToDevice;
    Emit(Opcode::kCopy, stream, static_cast<std::uint32_t>(program_.copies.size()));
    program_.copies.push_back(
        {.from = in ? host_in_ : out_, .to = in ? in_ : host_out_, .bytes = kCopyBytes, .direction = direction});
  }
  EventId Record(StreamId stream) {
    Emit(Opcode::kRecord, stream, program_.events);
    return program_.events++;
  }
  void Wait(StreamId stream, EventId event) { Emit(Opcode::kWait, stream, event); }

  Program program_;
  BufferId out_ = 0, in_ = 0, host_out_ = 0, host_in_ = 0;
};

}  // namespace

Program HostCallProgram(int rounds) {
  Writer writer;
  for (int round = 0; round < rounds; ++round) writer.Round();
  return writer.Finish();
}

TimedDevice::TimedDevice(ExecutionDevice& device, const Clock& clock) : ForwardingDevice(device), clock_(clock) {
  constexpr int kReadings = 100;
  std::vector<double> apart;
  for (int k = 0; k < kReadings; ++k) {
    const Nanos first = clock.Now();
    apart.push_back(static_cast<double>(clock.Now() - first));
  }
  reading_ = Median(std::move(apart));
}

template <typename Call>
void TimedDevice::Time(const char* name, const Call& call) {
  const Nanos begin = clock_.Now();
  call();
  times_[name].push_back(std::max(0.0, static_cast<double>(clock_.Now() - begin) - reading_));
}

void TimedDevice::Begin(const Session& session) {
  instrumented_ = session.instrumented;
  device_.Begin(session);
}

void TimedDevice::BeginStep() {
  device_.BeginStep();
  step_begin_ = synced_ = clock_.Now();
}

void TimedDevice::Enqueue(const KernelCall& call) {
  Time("kernel_launch", [&] { device_.Enqueue(call); });
}
void TimedDevice::Enqueue(const CopyCall& call) {
  Time("copy_submit", [&] { device_.Enqueue(call); });
}
void TimedDevice::Record(Issue issue, EventId event) {
  Time("event_record", [&] { device_.Record(issue, event); });
}
void TimedDevice::Wait(Issue issue, EventId event) {
  Time("stream_wait", [&] { device_.Wait(issue, event); });
}
void TimedDevice::HostSync(Issue issue, EventId event) {
  device_.HostSync(issue, event);
  synced_ = clock_.Now();
}

void TimedDevice::EndStep() {
  device_.EndStep();
  if (!instrumented_) return;
  Nanos last = 0;
  for (const Span& span : device_.ReadSpans()) last = std::max(last, span.end);
  // Where the host was not in time to wait for anything there was no waking up.
  const double late = static_cast<double>(synced_ - step_begin_ - last);
  if (late > 0) times_["sync"].push_back(late);
}

std::map<std::string, LoopResult> MeasureHostCalls(ExecutionDevice& device, const Clock& clock, int steps, int rounds) {
  const Program program = HostCallProgram(rounds);
  TimedDevice timed(device, clock);
  // Spans are of the last iteration only, so that each step is a session of its own; the first one warms up.
  for (int step = 0; step < steps; ++step) {
    const ExecuteResult result = Execute(program, nullptr, timed, clock, {.warm_up = 1, .instrumented = true});
    if (result.failure) throw DeviceError(result.failure->fault, result.failure->instruction, result.failure->message);
  }
  std::map<std::string, LoopResult> calls;
  for (const auto& [name, times] : timed.times()) calls[name] = ResultOfTimes(times);
  return calls;
}

}  // namespace spillway
