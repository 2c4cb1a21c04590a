// What calls cost the thread that issues them (model/profile/machine.h, HostCosts), measured on any ExecutionDevice.
//
// A Program of kernels that do nothing and small copies, with the events between them that swapping needs, is executed
// with every call timed. The issuing thread runs ahead of the streams, as in training.
#ifndef SPILLWAY_CALIBRATE_MEASURE_HOST_H_
#define SPILLWAY_CALIBRATE_MEASURE_HOST_H_

#include <map>
#include <string>
#include <vector>

#include "calibrate/measure/loop.h"
#include "sim/execute/forwarding_device.h"

namespace spillway {

// `rounds` times: a kernel, its event, a copy out that waits for it, a copy in, its event, a kernel that waits for that;
// then the host waits for the last kernel. Memory holds whatever it holds. REQUIRES: rounds > 0.
Program HostCallProgram(int rounds);

// Passes every call on and keeps how long it took, by the names of HostCallNames(). What reading the clock costs is
// taken off. "sync" is the time from the end of the last span of a step until the host goes on, so that it needs an
// instrumented session.
class TimedDevice : public ForwardingDevice {
 public:
  TimedDevice(ExecutionDevice& device, const Clock& clock);

  void Begin(const Session& session) override;
  void BeginStep() override;
  void Enqueue(const KernelCall& call) override;
  void Enqueue(const CopyCall& call) override;
  void Record(Issue issue, EventId event) override;
  void Wait(Issue issue, EventId event) override;
  void HostSync(Issue issue, EventId event) override;
  void EndStep() override;

  // Nanoseconds of each call so far.
  const std::map<std::string, std::vector<double>>& times() const { return times_; }

 private:
  template <typename Call>
  void Time(const char* name, const Call& call);
  const Clock& clock_;
  double reading_ = 0;  // what two readings of the clock are apart
  Nanos step_begin_ = 0, synced_ = 0;
  bool instrumented_ = false;
  std::map<std::string, std::vector<double>> times_;
};

// By the names of HostCallNames(), of which it measures the first five. Throws what Execute() throws; DeviceError if the device failed.
std::map<std::string, LoopResult> MeasureHostCalls(ExecutionDevice& device, const Clock& clock, int steps, int rounds);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_MEASURE_HOST_H_
