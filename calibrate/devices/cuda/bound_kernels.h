// The kernels of a session of the CUDA device, each bound to its memory, and the training state on the device besides
// tensors: one-hot labels, running statistics, and the probabilities from which the loss is computed.
//
// All of that lies in the library's memory, fp32: labels of the loss's input shape, means and then variances of all
// channels, probabilities of the loss's result. Its size is known when all kernels are bound; nothing is allocated
// afterwards.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_BOUND_KERNELS_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_BOUND_KERNELS_H_

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "calibrate/devices/cuda/calls.h"
#include "calibrate/devices/cuda/session_memory.h"
#include "calibrate/devices/cuda/staging.h"
#include "calibrate/ops/bind_kernel.h"
#include "calibrate/ops/training_state.h"
#include "model/step/work_hash.h"
#include "model/util/once_cache.h"

namespace spillway {

// Kernels by call; they stay from session to session, as making one takes long. Equal calls share one.
class CudaKernelCache {
 public:
  explicit CudaKernelCache(CudaCalls& calls) : calls_(calls) {}
  struct Entry {
    std::unique_ptr<CudaKernel> kernel;
    double time = -1;  // nanoseconds, as rehearsed; -1: not yet
  };
  // Throws as CudaCalls::Prepare. The entry stays where it is.
  Entry& Prepare(const OpCall& call);

 private:
  struct Hash {
    std::size_t operator()(const OpCall& call) const { return HashOfWork(call.launch); }
  };
  CudaCalls& calls_;
  OnceCache<OpCall, std::unique_ptr<Entry>, Hash> entries_;
};

class CudaBoundKernels {
 public:
  // Prepares every kernel and reserves the library's memory. Errors as CPU's BoundKernels (sim/execute/device.h):
  // kRefused naming the op where the library refuses it or wants more workspace than granted; kContract; kNoMemory. All
  // must outlive this.
  CudaBoundKernels(const Session& session, CudaCalls& calls, CudaKernelCache& cache, CudaSessionMemory& memory,
                   TrainingState& training);

  bool Has(std::uint32_t instruction) const { return row_[instruction] != kNone; }
  // Issues it, with what changes from step to step filled in. REQUIRES: Has(instruction); the session's arguments are
  // where they were when it was bound.
  void Run(std::uint32_t instruction, CudaStream* stream);
  bool Rehearsed() const;  // the times of all kernels are known
  // Sets the spin after each kernel, in nanoseconds. Rehearses kernels without a known time.
  void Slow(double slowdown, double gap);

  Bytes staging_bytes() const { return staging_bytes_; }  // the most that one of these brings or takes at once
  void UploadStatistics(CudaStaging& staging);            // at the beginning
  void DownloadStatistics(CudaStaging& staging);          // into the training state
  void UploadLabels(CudaStaging& staging);                // of the iteration
  // The loss of the iteration; NaN: there was none. Call after the step.
  double ReadLoss(CudaStaging& staging);

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  struct Bound {
    CudaKernelCache::Entry* entry = nullptr;  // nullptr: a launch of nothing
    CudaArguments arguments;                  // but for what changes from run to run
    TrainingRole role;
    Shape shape;
    Bytes kept = -1;  // where in the library's memory a copy of its probabilities goes
    double spin = 0;
  };
  // One-hot labels of one shape and part of the batch: all losses of these read the same.
  struct Labels {
    Shape shape;
    std::int64_t first = 0;  // TrainingRole::first_label
    Bytes offset = 0;        // in the library's memory
    std::span<const std::int32_t> classes;
  };
  struct Statistics {
    Bytes offset = 0;
    std::span<float> values;  // of the training state
  };
  void Bind(const KernelCall& call);
  void Prepare(const KernelCall& call, Bound& bound);
  // Training's own vectors get their offsets first; PlaceLibrary reserves the memory when all are known. Take: so many bytes
  // more of it; their offset.
  void PlaceTraining(Bound& bound);
  void PlaceLibrary();
  // kContract where kernels of several streams would share that memory.
  void NeedOneStream() const;
  Bytes Take(Bytes bytes);
  const Labels& LabelsOf(const Bound& bound);
  void RunBound(const Bound& bound, CudaStream* stream) const;

  const Session& session_;
  CudaCalls& calls_;
  CudaKernelCache& cache_;
  CudaSessionMemory& memory_;
  TrainingState& training_;
  std::vector<Bound> bound_;
  std::vector<KernelBinding> bindings_;  // of the same
  std::vector<std::uint32_t> row_;       // by instruction
  std::vector<Labels> labels_;
  std::map<LayerId, Statistics> statistics_;
  Bytes library_bytes_ = 0, staging_bytes_ = 0;
  std::vector<const Bound*> losses_;  // the kernels whose probabilities were kept
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_BOUND_KERNELS_H_
