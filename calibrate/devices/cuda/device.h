// The CUDA device: a real ExecutionDevice on a GPU, written against the thin call table (calibrate/devices/cuda/calls.h). One
// CUDA stream for each stream of the Program, the Program's events, one cudaMalloc of exactly the arena, host buffers in
// pinned memory, the library's kernels with the algorithms and workspaces of the plan.
//
//   std::unique_ptr<CudaCalls> calls = ...;                                  // calibrate/devices/cuda/load.h
//   CudaDevice device({}, *calls, clock);
//   Execute(program, &step, device, clock, {.iterations = 20, .values = &values});
//   device.losses();
//
// Training: steps are real ones, with labels and dropout's random numbers from seed and iteration, as on the CPU device
// (calibrate/ops/training_state.h). Beside the arena stands what training and the library need: one-hot labels, running
// statistics, a copy of the probabilities (made behind the loss's kernel, read when the step is over), scratch and
// results of recomputations that have no buffer. Sessions without a step compute launches as CallOf(launch) does; a kernel
// without operands is a launch of an empty kernel.
//
// Values that timed sessions bring again and again are kept on the GPU, where there is room that no session wants: debug
// sessions, whose memory is measured, begin without any.
//
// Host: the issuing thread also waits, by asking; nothing is waited for longer than `patience` unless something moves.
//
// Emulation (calibrate/devices/cuda/emulation.h): each kernel is followed by a spin, so that both take compute_slowdown times
// what the kernel takes by itself; copies go in pieces, each followed by a spin up to bytes / link_rate.
//
// Debug sessions: memory that holds nothing is 0xff, which is NaN: after Free, and at BeginStep where no value lasts. The
// highest byte that changes is found by reading back what lies above the highest one known; until a buffer's Free was
// looked at once, the host waits for it. At the end of a step parameters that are NaN are told (kContents).
//
// Errors: as sim/execute/device.h says. What fails on the GPU is told by a later call: DeviceError::instruction() is
// the one that failed if only one can have, else the text names those that can. Debug and instrumented sessions know
// best, as they have an event behind each instruction. End() waits for streams that still run, up to twice `patience`,
// and not at all when something was found to hang; CUDA itself may wait when memory is given back.
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

// Copies on the device of values that are brought there again and again: parameters of a step that is timed in many
// sessions. They lie beside everything else, in memory that nobody else wants, and go as soon as somebody may.
// Private to calibrate/devices/cuda/.
//
// No plan and no figure is to see them: debug sessions, in which memory is measured, run without any, what the device
// tells of memory in use leaves them out, and kSpare bytes stay free beside them and a session's arena.
class CudaKeptValues {
 public:
  // For what comes late: code of kernels when they first run, what the libraries take, other users of the GPU.
  static constexpr Bytes kSpare = kGiB;

  explicit CudaKeptValues(CudaCalls& calls) : calls_(calls) {}

  // A copy that was made; nullptr: there is none of so many bytes.
  const std::byte* Find(std::uint64_t identity, Bytes bytes) const;
  // Memory for a copy; nullptr where it would leave too little. Throws as CudaCalls::Memory.
  std::byte* Make(std::uint64_t identity, Bytes bytes);

  Bytes bytes() const { return bytes_; }
  // Whether a session with such an arena would have too little. Throws as CudaCalls::Memory.
  bool Crowd(Bytes arena_bytes) const;
  // REQUIRES: no stream works.
  void Release() noexcept;

 private:
  CudaCalls& calls_;
  std::map<std::pair<std::uint64_t, Bytes>, OwnedDeviceMemory> copies_;  // by identity and bytes
  Bytes bytes_ = 0;
};

class CudaSession;

struct CudaDeviceOptions {
  std::uint64_t seed = 1;  // of labels and dropout
  float learning_rate = 0.01f;
  float momentum = 0.9f;
  CudaEmulation emulate{};
  // Of pinned memory for what goes to and fro between steps, at most: each of two halves (calibrate/devices/cuda/staging.h).
  Bytes staging = 64 * kMiB;
  std::string placement{};         // as LastSession() tells
  Nanos patience = 120 * kSecond;  // how long nothing may happen before the device counts as hung: once or twice
};

// Memory in use on the GPU: by this process, its context and libraries, and whoever else is there; without the copies of
// values that timed sessions keep (CudaKeptValues). -1: not known.
struct CudaMemoryUse {
  Bytes before = -1;   // when the CudaDevice was made
  Bytes highest = -1;  // in the last session, with arena, library's memory and kernels
  Bytes total = -1;    // of the GPU
  // The device's reserve: of `highest` all but the session's own blocks, the arena and the library's memory; so context,
  // libraries, code of all kernels loaded so far, other users, and what cudaMalloc rounds blocks up by (2 MiB each).
  Bytes beside = -1;
};

class CudaDevice : public ExecutionDevice {
 public:
  // Both must outlive this. Throws UserError if options make no sense,
  // DeviceError if the GPU does not answer.
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

  // Of the last session, also after End: mean cross-entropy by iteration, NaN where the step has none or failed, and
  // running means and variances by batch-norm layer (behind End of a session without failure). Not within a step.
  const std::vector<double>& losses();
  // Likewise: at how many megahertz the multiprocessors ran in each iteration, by their own counters; 0 where not known.
  const std::vector<double>& clocks();
  const std::map<LayerId, std::vector<float>>& running_statistics() const { return statistics_; }
  // Of the last session: all host buffers; what was reserved on the GPU beside the arena; memory in use on the GPU.
  Bytes host_bytes() const { return host_bytes_; }
  Bytes library_bytes() const { return library_bytes_; }
  const CudaMemoryUse& memory() const { return memory_; }
  // Pinned memory, kernels and kept values stay from session to session. Gives them back; after End only.
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
  std::optional<LinkTimes> pieces_;       // with a link to emulate, from the first session on
  std::optional<double> spin_gap_;        // with a slowdown to emulate
  std::unique_ptr<CudaSession> session_;  // between Begin and End
  std::vector<double> losses_, clocks_;
  bool loss_pending_ = false;  // the last ones have not been read yet
  std::map<LayerId, std::vector<float>> statistics_;
  Bytes host_bytes_ = 0, library_bytes_ = 0;
  CudaMemoryUse memory_;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_DEVICE_H_
