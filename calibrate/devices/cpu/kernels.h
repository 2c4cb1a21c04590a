// The kernels of the CPU device. They compute every op of a training step on buffers in host memory.
//
// oneDNN computes convolution, transposed or not, linear, batch norm, pooling, LRN forward, softmax, ReLU and add. Plain
// loops compute the rest: bias, concat, resize, slice, dropout, the loss, max pooling and LRN backward, updates (also by lists, and clipping), copy.
//
//   CpuKernels kernels;                                               // once per device
//   const CpuKernel& kernel = kernels.Prepare(CallOf(op));  // once per op: builds code, may take ms
//   kernel.Run({.reads = ..., .writes = ..., .workspace = ...});      // each time it runs
//
// Buffers are dense fp32 NCHW; dropout's mask has one byte per element. If a kernel needs another layout, it reorders
// its operands as part of the op, into its workspace.
//
// Results are deterministic: the same operands, thread count, machine and alignment of buffers give the same bits.
// Dropout takes its random numbers from CpuArguments::random_stream.
//
// Threads: Prepare is not thread-safe. Kernels of one CpuKernels may run on any thread, but only one at a time. The
// caller pins the thread.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_H_
#define SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "calibrate/ops/op_call.h"

namespace spillway {

// True if this program was built with oneDNN. If not, the constructor of CpuKernels throws a UserError.
bool HasCpuKernels();
std::string CpuLibrary();  // such as "oneDNN 2.6.3"; "" without oneDNN

// The arguments of one run. The caller owns all buffers; each has as many elements as its tensor.
struct CpuArguments {
  std::span<void* const> reads{};          // in the order of Op::reads; an op in place has one buffer in both
  std::span<void* const> writes{};         // in the order of Op::writes
  void* workspace = nullptr;               // CpuKernel::workspace() bytes, aligned to 64; any contents
  std::uint64_t random_stream = 0;         // dropout forward: the same number gives the same mask, see training_state.h
  std::span<const std::int32_t> labels{};  // softmax loss backward: class per sample and position, batch outermost
  float learning_rate = 0.01f;             // update
  float momentum = 0.9f;                   // update
  std::uint64_t iteration = 0;             // update: steps before this one
  // Batch norm: the running means of all channels, then their running variances. Training updates them, inference reads
  // them. A recomputation passes an empty span and updates nothing.
  std::span<float> running_statistics{};
};

class CpuKernel {
 public:
  virtual ~CpuKernel() = default;
  virtual void Run(const CpuArguments& arguments) const = 0;
  Bytes workspace() const { return workspace_; }
  // The code that computes the op: oneDNN's name of it, such as "jit:avx512_core", or "loop".
  const std::string& implementation() const { return implementation_; }

 protected:
  Bytes workspace_ = 0;
  std::string implementation_ = "loop";
};

// An algorithm of an op. Convolutions have "direct", "winograd", "gemm" and "reference", numbered as in AlgorithmNames
// (model/kernels/kernel_form.h). Other ops have no choice.
struct CpuAlgorithm {
  std::int32_t algorithm = 0;  // as in Launch; 0 where there is no choice
  Bytes workspace = 0;
  std::string implementation;
};

class CpuKernels {
 public:
  // `threads`: OpenMP threads of oneDNN; loops use one. On a busy machine several threads are slow, because waiting
  // threads of libgomp spin.
  explicit CpuKernels(int threads = 1);
  ~CpuKernels();
  CpuKernels(const CpuKernels&) = delete;
  CpuKernels& operator=(const CpuKernels&) = delete;

  // The algorithms that exist for the shape of `call`, in the order in which algorithm 0 tries them. launch.algorithm
  // and launch.workspace are ignored. "reference", very slow and without workspace, is listed only if no other exists.
  std::vector<CpuAlgorithm> Algorithms(const OpCall& call);

  // The kernel for a call. Equal calls share one kernel, which this CpuKernels owns. Algorithm 0 takes the first of
  // Algorithms() that fits into the workspace granted; kUsualWorkspace grants any. Throws a UserError with op and shape
  // if the library refuses the shape, lacks the algorithm or needs more workspace. Plans grant workspace to
  // convolutions only. For other ops launch.workspace is ignored, and their small workspace() counts as the library's
  // own memory.
  const CpuKernel& Prepare(const OpCall& call);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_H_
