// The CUDA device: an ExecutionDevice on a GPU, written against the thin call table (calibrate/devices/cuda/calls.h).
// It has one CUDA stream for each stream of the Program, the Program's events, one cudaMalloc of exactly the arena, and
// host buffers in pinned memory. It runs the library's kernels with the algorithms and workspaces of the plan.
//
//   std::unique_ptr<CudaCalls> calls = ...;                                  // calibrate/devices/cuda/load.h
//   CudaDevice device({}, *calls, clock);
//   Execute(program, &step, device, clock, {.iterations = 20, .values = &values});
//   device.losses();
//
// Training: each step is a real training step. Labels and dropout's random numbers follow from seed and iteration, as
// on the CPU device (calibrate/ops/training_state.h). Training and the library need memory besides the arena: one-hot
// labels, running statistics, a copy of the probabilities (made after the loss's kernel, read after the step), scratch,
// and results of recomputations that have no buffer. A session without a step computes launches as CallOf(launch) does;
// a kernel without operands is a launch of an empty kernel.
//
// Kept values: values that timed sessions write again and again stay on the GPU, as long as no session needs the room.
// Debug sessions, which measure memory, begin without kept values.
//
// Host: the issuing thread polls for the end of waits. It gives up when nothing has moved for `patience`.
//
// Emulation (calibrate/devices/cuda/emulation.h): a spin follows each kernel, so that both together take
// compute_slowdown times the kernel's own time. Copies go in pieces; a spin after each piece makes it last bytes /
// link_rate.
//
// Debug sessions: memory without a value is filled with 0xff, which is NaN, after Free and at BeginStep. The device
// finds the highest byte that changes by reading back the bytes above the highest one known. For that the host waits at
// the first Free of each buffer. A parameter that is NaN at the end of a step is an error (kContents).
//
// Errors: as sim/execute/device.h says. A later call throws errors of the GPU. DeviceError::instruction() is the
// instruction that failed, if only one can have failed; otherwise the text names the candidates. Debug and instrumented
// sessions are the most precise, because they have an event after each instruction. End() waits for running streams up
// to twice `patience`, and does not wait if a stream was found to hang. CUDA itself may still wait when memory is
// freed.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_DEVICE_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_DEVICE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/devices/cuda/bound_kernels.h"
#include "calibrate/devices/cuda/calls.h"
#include "calibrate/devices/cuda/emulation.h"
#include "calibrate/devices/cuda/owned.h"
#include "calibrate/devices/cuda/session_memory.h"
#include "sim/execute/clock.h"
#include "sim/execute/device.h"

namespace spillway {

// Kept values: copies on the GPU of values that are written there again and again, such as the parameters of a step
// that many sessions time. They use memory that is free otherwise, and are freed as soon as a session may need it.
// Private to calibrate/devices/cuda/.
//
// Kept values must not change any plan or figure. Debug sessions, which measure memory, run without them. Reports of
// memory in use leave them out. kSpare bytes stay free in addition to the kept values and a session's arena.
class CudaKeptValues {
 public:
  // Room for later allocations: code of kernels at their first run, the libraries, other users of the GPU.
  static constexpr Bytes kSpare = kGiB;

  explicit CudaKeptValues(CudaCalls& calls) : calls_(calls) {}

  // The copy of this identity and size; nullptr: there is none.
  const std::byte* Find(std::uint64_t identity, Bytes bytes) const;
  // Memory for a new copy, owned by this; nullptr if too little memory would stay free. Throws as CudaCalls::Memory.
  std::byte* Make(std::uint64_t identity, Bytes bytes);

  Bytes bytes() const { return bytes_; }
  // True if a session with an arena of `arena_bytes` would have too little memory. Throws as CudaCalls::Memory.
  bool Crowd(Bytes arena_bytes) const;
  // Frees all copies. REQUIRES: all streams are idle.
  void Release() noexcept;

 private:
  CudaCalls& calls_;
  std::map<std::pair<std::uint64_t, Bytes>, OwnedDeviceMemory> copies_;  // by identity and bytes
  Bytes bytes_ = 0;
};

class CudaSession;

struct CudaDeviceOptions {
  std::uint64_t seed = 1;  // for labels and dropout
  float learning_rate = 0.01f;
  float momentum = 0.9f;
  CudaEmulation emulate{};
  // The size of each of the two halves of the pinned staging memory, for Write and Read
  // (calibrate/devices/cuda/staging.h).
  Bytes staging = 64 * kMiB;
  std::string placement{};         // the text for SessionReport::placement
  Nanos patience = 120 * kSecond;  // the device counts as hung when nothing has happened for once or twice this time
};

// Memory in use on the GPU, in bytes: by this process, its context and libraries, and by other processes; without kept
// values (CudaKeptValues). -1: unknown.
struct CudaMemoryUse {
  Bytes before = -1;   // when the CudaDevice was made
  Bytes highest = -1;  // in the last session, with arena, library's memory and kernels
  Bytes total = -1;    // the GPU's memory
  // The device's reserve: `highest` without the session's arena and library memory. It holds the context, the
  // libraries, the code of all kernels loaded so far, other processes, and the bytes by which cudaMalloc rounds blocks
  // up (to 2 MiB).
  Bytes beside = -1;
};

class CudaDevice : public ExecutionDevice {
 public:
  // `calls` and `clock` must outlive the device. Throws UserError if an option makes no sense, DeviceError if the GPU
  // does not answer.
  CudaDevice(CudaDeviceOptions options, CudaCalls& calls, const Clock& clock);
  ~CudaDevice() override;

  void Begin(const Session& session) override;
  void End() noexcept override;
  void Write(const Location& at, std::span<const std::byte> bytes) override;
  void Read(const Location& at, std::span<std::byte> bytes) override;
  bool WriteKept(const Location& at, std::uint64_t identity) override;
  void Keep(const Location& at, std::uint64_t identity) override;
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
  SessionReport LastSession() const override;

  // ---- Figures of the last session, also after End, but not within a step.

  // Mean cross-entropy by iteration; NaN where the step has no loss or failed.
  const std::vector<double>& losses();
  // Clock of the multiprocessors in megahertz by iteration, from their own counters; 0: unknown.
  const std::vector<double>& clocks();
  // Running means and variances by batch-norm layer; set by End of a session without failure.
  const std::map<LayerId, std::vector<float>>& running_statistics() const { return statistics_; }
  Bytes host_bytes() const { return host_bytes_; }        // all host buffers
  Bytes library_bytes() const { return library_bytes_; }  // reserved on the GPU besides the arena
  const CudaMemoryUse& memory() const { return memory_; }
  // Frees pinned memory, kernels and kept values, which otherwise stay from session to session. Only after End.
  void Forget() noexcept;

 private:
  friend class CudaSession;
  CudaSession& Open();
  void Settle();
  void NoteMemory();
  void Open(const Session& session);

  const CudaDeviceOptions options_;
  CudaCalls& calls_;
  const Clock& clock_;
  PinnedPool pool_;
  CudaKeptValues kept_;
  std::unique_ptr<CudaKernelCache> kernels_;
  std::optional<LinkTimes> pieces_;       // if a link is emulated: measured in the first session
  std::optional<double> spin_gap_;        // if a slowdown is emulated
  std::unique_ptr<CudaSession> session_;  // between Begin and End
  std::vector<double> losses_, clocks_;
  bool loss_pending_ = false;  // the last iteration's values have not been read yet
  std::map<LayerId, std::vector<float>> statistics_;
  Bytes host_bytes_ = 0, library_bytes_ = 0;
  CudaMemoryUse memory_;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_DEVICE_H_
