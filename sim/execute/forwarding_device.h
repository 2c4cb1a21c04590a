// A device that passes every call on to another one, for those that look at some of the calls on the way.
//
// Whoever derives from it overrides what it wants to see and calls the method of this class to go on. Errors, times and
// threads are the other device's (sim/execute/device.h); nothing is added, so that a session through it is the session
// that there would have been.
#ifndef SPILLWAY_SIM_EXECUTE_FORWARDING_DEVICE_H_
#define SPILLWAY_SIM_EXECUTE_FORWARDING_DEVICE_H_

#include <vector>

#include "sim/execute/device.h"

namespace spillway {

class ForwardingDevice : public ExecutionDevice {
 public:
  // `device` must outlive this.
  explicit ForwardingDevice(ExecutionDevice& device) : device_(device) {}

  bool GathersOperands() const override { return device_.GathersOperands(); }
  void Begin(const Session& session) override { device_.Begin(session); }
  void End() noexcept override { device_.End(); }
  void Write(const Location& at, std::span<const std::byte> bytes) override { device_.Write(at, bytes); }
  void Read(const Location& at, std::span<std::byte> bytes) override { device_.Read(at, bytes); }
  bool WriteKept(const Location& at, std::uint64_t identity) override { return device_.WriteKept(at, identity); }
  void Keep(const Location& at, std::uint64_t identity) override { device_.Keep(at, identity); }
  void BeginStep() override { device_.BeginStep(); }
  void Enqueue(const KernelCall& call) override { device_.Enqueue(call); }
  void Enqueue(const CopyCall& call) override { device_.Enqueue(call); }
  void Record(Issue issue, EventId event) override { device_.Record(issue, event); }
  void Wait(Issue issue, EventId event) override { device_.Wait(issue, event); }
  void HostSync(Issue issue, EventId event) override { device_.HostSync(issue, event); }
  void Alloc(Issue issue, const Location& buffer) override { device_.Alloc(issue, buffer); }
  void Free(Issue issue, const Location& buffer) override { device_.Free(issue, buffer); }
  void EndStep() override { device_.EndStep(); }
  std::vector<Span> ReadSpans() override { return device_.ReadSpans(); }
  Bytes HighWater() override { return device_.HighWater(); }
  SessionReport LastSession() const override { return device_.LastSession(); }

 protected:
  ExecutionDevice& device_;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_EXECUTE_FORWARDING_DEVICE_H_
