// The CPU device: a real ExecutionDevice on any machine. Kernels are oneDNN's on a compute thread, memory is an arena of
// a stated capacity, the link is memcpy at a stated rate on a thread per copy stream. Evidence for semantics and
// scheduling, not for any GPU.
//
//   SteadyClock clock;
//   CpuDevice device({.link_rate = 2}, clock);                     // 2 GB/s in each direction
//   TrainingValues values(step, 1);
//   Execute(program, &step, device, clock, {.iterations = 20, .values = &values});
//   device.losses();
//
// Threads: one per stream of the Program, and the caller's, which issues. Compute runs on a core of its own, copies and
// the caller on the others (calibrate/host/pin.h); from Begin to End the caller is pinned too. Where pinning is not
// allowed, or there is one core only, everything works the same, only slower; LastSession().placement tells.
//
// Training: steps are real ones. Labels and dropout's random numbers come from seed and iteration (BeginStep calls since
// Begin), so that the same seed trains the same whatever the plan; recomputations repeat masks and leave running
// statistics alone. Sessions without a step compute launches as CallOf(launch) does: operands in the order of the op's
// reads, then its writes; a kernel without operands is a launch that does nothing, for measuring the cost of a launch.
//
// Debug sessions find more mistakes than sim/execute/device.h demands, at the instruction where they happen
// (kContents): reads of memory that was never written or has been freed, and buffers allocated over live ones. At the
// end of the step they find writes beyond the arena and parameters that are NaN.
//
// Errors: as sim/execute/device.h says. kHung: no stream got anywhere for `patience`; waits for events cannot go round in
// circles, as each event's Record has to be issued before a Wait.
//
// End waits for a running kernel or copy no longer than `patience`, because nothing can stop a thread inside a library.
// It then abandons the thread, with the memory and kernels of its session; they are freed if the thread returns. The
// thread no longer touches objects of the caller (Program, clock). The device can be used again, with one core less as
// long as the thread runs.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CPU_DEVICE_H_
#define SPILLWAY_CALIBRATE_DEVICES_CPU_DEVICE_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/execute/clock.h"
#include "sim/execute/device.h"

namespace spillway {

class CpuKernels;
class CpuSession;

struct CpuDeviceOptions {
  double link_rate = 0;  // bytes per nanosecond (1 = 1 GB/s) in each direction; 0 = as fast as memcpy goes
  int threads = 1;       // of kernels. More are slower than they look on a busy machine: libgomp's threads spin
  int compute_core = -1, copy_core = -1;  // -1: chosen
  std::uint64_t seed = 1;                 // of labels and dropout
  float learning_rate = 0.01f;
  float momentum = 0.9f;
  Nanos patience =
      120 * kSecond;            // the device counts as hung, or a thread is abandoned, after this time without progress
  Bytes available_memory = -1;  // the machine's memory, for tests; -1 = as the system says
  // For tests: called before each kernel and copy (debug sessions: each Alloc and Free too) on its stream's thread. An
  // exception from it is the instruction's failure; its time is part of the instruction's time.
  std::function<void(Issue)> before{};
};

class CpuDevice : public ExecutionDevice {
 public:
  // The clock must outlive this. Throws UserError if the program was built without
  // oneDNN or options make no sense.
  CpuDevice(CpuDeviceOptions options, const Clock& clock);
  ~CpuDevice() override;

  bool GathersOperands() const override { return true; }
  void Begin(const Session& session) override;
  void End() noexcept override;
  void Write(const Location& at, std::span<const std::byte> bytes) override;
  void Read(const Location& at, std::span<std::byte> bytes) override;
  void BeginStep() override;
  void Enqueue(const KernelCall& call) override;
  void Enqueue(const CopyCall& call) override;
  void Record(Issue issue, EventId event) override;
  void Wait(Issue issue, EventId event) override;
  void HostSync(Issue issue, EventId event) override;
  void Alloc(Issue issue, const Location& buffer) override;
  void Free(Issue issue, const Location& buffer) override;
  void EndStep() override;
  std::vector<Span> ReadSpans() override;
  Bytes HighWater() override;
  SessionReport LastSession() const override {
    return {.losses = losses_, .host_bytes = host_bytes_, .placement = pinning_, .step_clocks = {}};
  }

  // Results of the last session, also after End: mean cross-entropy by iteration (NaN if the step has no loss), and
  // running means and variances by batch-norm layer.
  const std::vector<double>& losses() const { return losses_; }
  const std::map<LayerId, std::vector<float>>& running_statistics() const { return statistics_; }
  // Host memory of the last session: all host buffers, and the library's memory besides the arena.
  Bytes host_bytes() const { return host_bytes_; }
  Bytes library_bytes() const { return library_bytes_; }

 private:
  CpuSession& Open();

  CpuDeviceOptions options_;
  const Clock& clock_;
  std::shared_ptr<CpuKernels> kernels_;  // kept from session to session: making them takes long
  std::shared_ptr<CpuSession> session_;  // between Begin and End
  std::vector<double> losses_;
  std::map<LayerId, std::vector<float>> statistics_;
  Bytes host_bytes_ = 0, library_bytes_ = 0;
  std::string pinning_;  // "compute on core 1, copies and host on core 0", or what was not allowed
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CPU_DEVICE_H_
