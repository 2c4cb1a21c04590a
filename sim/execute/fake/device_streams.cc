// How the fake device's streams run: event by event in virtual time, only as far as the host needs to know.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "sim/execute/fake/device.h"

namespace spillway {

namespace {

// Of a buffer, from the first byte that the runs touch on one side of a copy to the last.
Location Touched(Location at, Bytes offset, const BoxRuns& runs, Bytes BoxRuns::Loop::*pitch) {
  at.offset += offset;
  at.bytes = runs.run;
  for (const BoxRuns::Loop& loop : runs.loops) at.bytes += (loop.count - 1) * loop.*pitch;
  return at;
}

}  // namespace

void FakeDevice::RunUntil(const Event* fired, std::uint32_t sync) {
  while (true) {
    while (Progress()) {
    }
    if (fired != nullptr ? fired->fired : Idle()) return;
    const std::optional<Nanos> next = NextMoment();
    if (!next) Hang(fired, sync);
    now_ = *next;
  }
}

bool FakeDevice::Idle() const {
  return std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.queue.empty(); });
}

// What ends now, ends before anything starts now.
bool FakeDevice::Progress() {
  for (Lane& lane : lanes_) {
    if (lane.running && lane.end <= now_) {
      Finish(lane);
      return true;
    }
  }
  return std::any_of(lanes_.begin(), lanes_.end(), [this](Lane& lane) { return ProgressOn(lane); });
}

bool FakeDevice::ProgressOn(Lane& lane) {
  if (lane.running || lane.queue.empty() || lane.queue.front().issued > now_) return false;
  const Queued& head = lane.queue.front();
  switch (head.opcode) {
    case Opcode::kKernel:
    case Opcode::kCopy:
      Start(lane);
      return true;
    case Opcode::kWait:
      if (!events_[head.event].fired) return false;
      break;
    case Opcode::kRecord:
      Fire(head);
      break;
    case Opcode::kAlloc:
      memory_->Alloc(head.instruction, head.accesses[0].at, keep_at_alloc_[head.accesses[0].at.buffer]);
      break;
    case Opcode::kFree:
      memory_->Free(head.instruction, head.accesses[0].at, keep_at_free_[head.accesses[0].at.buffer]);
      break;
    case Opcode::kHostSync:
      assert(false && "the host's own");
  }
  lane.queue.pop_front();
  return true;
}

std::optional<Nanos> FakeDevice::NextMoment() const {
  std::optional<Nanos> next;
  for (const Lane& lane : lanes_) {
    if (lane.queue.empty()) continue;
    const Nanos moment = lane.running ? lane.end : lane.queue.front().issued;
    if (moment > now_ && (!next || moment < *next)) next = moment;
  }
  return next;
}

// Blames whoever waits for an event that should have fired, rather than one who waits for an event behind that.
void FakeDevice::Hang(const Event* fired, std::uint32_t sync) const {
  const auto hang = [this](std::uint32_t instruction, const Event& event) {
    throw DeviceError(Fault::kHung, instruction, fmt::format("event {} never comes", &event - events_.data()));
  };
  for (const bool reached : {true, false}) {
    if (fired != nullptr && fired->reached == reached) hang(sync, *fired);
    for (const Lane& lane : lanes_) {
      if (lane.queue.empty()) continue;
      const Event& event = events_[lane.queue.front().event];
      if (event.reached == reached) hang(lane.queue.front().instruction, event);
    }
  }
  assert(false && "streams that hold nothing are idle, and so is the host");
}

void FakeDevice::Fire(const Queued& head) {
  events_[head.event].reached = true;
  if (Injected(Injection::What::kEventNeverFires, records_++)) return;
  events_[head.event].fired = true;
  events_[head.event].time = now_;
}

void FakeDevice::Start(Lane& lane) {
  const Queued& head = lane.queue.front();
  std::vector<OperandCall> at_work(head.accesses.begin(), head.accesses.end());
  if (head.runs != nullptr) {  // a copy of a box, of which others may be under way in the same buffer
    at_work[0].at = Touched(at_work[0].at, head.runs->from_offset, *head.runs, &BoxRuns::Loop::from_pitch);
    if (!head.fill) at_work[1].at = Touched(at_work[1].at, head.runs->to_offset, *head.runs, &BoxRuns::Loop::to_pitch);
  }
  memory_->Start(head.instruction, at_work);
  if (session_.debug) CheckReads(head);
  lane.running = true;
  lane.end = now_ + (options_.durations.empty() ? 0 : options_.durations[head.instruction]);
  spans_.push_back({head.instruction, now_, lane.end});
}

void FakeDevice::Finish(Lane& lane) {
  const Queued head = std::move(lane.queue.front());
  lane.queue.pop_front();
  lane.running = false;
  memory_->Finish(head.instruction);
  const bool kernel = head.opcode == Opcode::kKernel;
  const std::uint32_t count = kernel ? kernels_++ : copies_++;
  if (kernel && Injected(Injection::What::kKernelFails, count)) {
    throw DeviceError(Fault::kFailed, head.instruction, "the kernel reports a failure");
  }
  if (!session_.debug) return;
  if (!kernel && Injected(Injection::What::kCopyLost, count)) return;
  WriteResults(head);
  if (!kernel || !Injected(Injection::What::kMemoryCorrupted, count)) return;
  for (const OperandCall& operand : head.accesses) {
    if (operand.access != Access::kRead) memory_->Set(operand.at, kNothing);
  }
}

}  // namespace spillway
