// The kernels of the CPU device: every op of a training step computed on buffers in this machine's memory.
//
// oneDNN computes where it has the operation (convolution, linear, batch norm, pooling, LRN forward, softmax, ReLU,
// add); plain loops do the rest (bias, concat, dropout, the loss, max pooling and LRN backward, update, copy).
//
//   CpuKernels kernels;                                               // once per device
//   const CpuKernel& kernel = kernels.Prepare(CallOf(op));  // once per op: builds code, may take ms
//   kernel.Run({.reads = ..., .writes = ..., .workspace = ...});      // each time it runs
//
// Buffers are dense fp32 NCHW (dropout's mask: one byte an element). Where a kernel works in another layout, the
// reorders of its operands are part of the op, and the reordered copies part of its workspace.
//
// Results are the same bits each time for the same numbers, thread count and machine: nothing here depends on time or
// on where buffers lie (aligned alike), and dropout's random numbers come from CpuArguments::random_stream.
//
// Threads: Prepare is not thread-safe. Kernels may run on any thread, one at a time per CpuKernels; the caller pins it.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_H_
#define SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "calibrate/ops/op_call.h"

namespace spillway {

// True if this program was built with oneDNN. Without it the constructor of CpuKernels throws a UserError.
bool HasCpuKernels();
std::string CpuLibrary();  // "oneDNN 2.6.3"; "" without it

// The arguments of one run. Numbers of elements are those of the op's tensors.
struct CpuArguments {
  std::span<void* const> reads{};  // in the order of Op::reads; reads and writes may share buffers as the op's lists do
  std::span<void* const> writes{};         // in the order of Op::writes
  void* workspace = nullptr;               // CpuKernel::workspace() bytes at a multiple of 64; contents do not matter
  std::uint64_t random_stream = 0;         // dropout forward: the same number gives the same mask, see training_state.h
  std::span<const std::int32_t> labels{};  // softmax loss backward: class per sample and position, batch outermost
  float learning_rate = 0.01f;             // update
  float momentum = 0.9f;                   // update
  // Batch norm: running means, then running variances of all channels. Training updates them, unless empty: a
  // recomputation passes none. Inference reads them.
  std::span<float> running_statistics{};
};

class CpuKernel {
 public:
  virtual ~CpuKernel() = default;
  virtual void Run(const CpuArguments& arguments) const = 0;
  Bytes workspace() const { return workspace_; }
  // The implementation that computes it: oneDNN's name, such as "jit:avx512_core", or "loop".
  const std::string& implementation() const { return implementation_; }

 protected:
  Bytes workspace_ = 0;
  std::string implementation_ = "loop";
};

// Convolutions have the algorithms "direct", "winograd", "gemm" and "reference" of AlgorithmNames
// (model/kernels/kernel_form.h), numbered as there; others have no choice.
struct CpuAlgorithm {
  std::int32_t algorithm = 0;  // as in Launch; 0 where there is no choice
  Bytes workspace = 0;
  std::string implementation;
};

class CpuKernels {
 public:
  // `threads`: OpenMP threads of oneDNN; loops use one. On a busy machine more than one is slower than it looks:
  // libgomp's waiting threads spin.
  explicit CpuKernels(int threads = 1);
  ~CpuKernels();
  CpuKernels(const CpuKernels&) = delete;
  CpuKernels& operator=(const CpuKernels&) = delete;

  // The algorithms that exist for this shape, in the order in which algorithm 0 tries them; launch.algorithm and
  // launch.workspace do not matter. "reference" (very slow, no workspace) is only listed where there is nothing else.
  std::vector<CpuAlgorithm> Algorithms(const OpCall& call);

  // The kernel for a call; equal calls share one, which lives as long as this. Algorithm 0 takes the first one of
  // Algorithms() that fits the workspace granted (kUsualWorkspace: any). Throws a UserError that names op and shape
  // where the library refuses the shape, has no such algorithm or needs more workspace than granted.
  // Only convolutions are granted a workspace by plans: the small scratch of other ops (workspace()) counts as the
  // library's own, and launch.workspace is ignored for them.
  const CpuKernel& Prepare(const OpCall& call);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_H_
