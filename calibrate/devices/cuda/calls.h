// The thin table of calls through which everything here reaches CUDA, cuDNN and cuBLAS.
//
// The CUDA device and its calibration are written against this class alone and know no CUDA header, so that they are built
// and tested everywhere. Two implementations: the plugin (calibrate/devices/cuda/plugin/, the only code that includes CUDA's
// headers, loaded at run time by calibrate/devices/cuda/load.h), and a stand-in on host memory for tests (tests/cuda/cuda_stand_in.h).
//
// Errors: every call that can fail throws DeviceError (sim/execute/device.h) whose text names the expression that failed,
// file and line, and the library's own word for it. Fault::kNoMemory: memory of the device or pinned memory ran out;
// kRefused: the library does not do this shape, type or algorithm, or needs more workspace than granted; kFailed:
// everything else, a lost device among it. Destroy and Free calls never throw.
//
// Threads: calls come from one thread; a device is chosen by MakeCudaCalls (load.h).
// Times are nanoseconds, sizes bytes, pointers to device memory opaque.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_CALLS_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_CALLS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibrate/ops/op_call.h"
#include "model/profile/machine.h"

namespace spillway {

struct CudaStream;  // opaque, owned by the implementation
struct CudaEvent;

inline constexpr Nanos kCudaLongestHold = 100 * kMillisecond;
inline constexpr int kCudaHoldRanOut = 2;

// When a stream came by, by the device's own clocks, as one multiprocessor sees it.
struct CudaMoment {
  std::int64_t cycles = 0;       // of the multiprocessor's clock
  std::int64_t nanoseconds = 0;  // of the device's timer; 0: this multiprocessor took no part
};
inline constexpr int kCudaMostMultiprocessors = 256;

// The properties that the device and its software report; -1 or "": unknown.
struct CudaProperties {
  std::string name;                    // "NVIDIA H200"
  std::string driver;                  // "580.65.06", else the CUDA version that the driver supports
  std::string runtime, cudnn, cublas;  // "13.0", "9.19.0", "13.1"
  int compute_major = 0, compute_minor = 0;
  int multiprocessors = 0;
  Bytes total_memory = 0, l2_cache = 0;
  std::int64_t sm_clock_khz = -1, memory_clock_khz = -1;  // highest
  int memory_bus_bits = -1;
  int copy_engines = -1;
  std::string pci_bus;          // "0000:18:00.0"
  int numa_node = -1;           // of the host memory near it
  bool managed_memory = false;  // concurrent managed access
};

struct CudaMemory {
  Bytes free = 0, total = 0;
};

// Where clocks stand and whether they are held back, at this moment.
struct CudaClocks {
  int sm_mhz = -1, memory_mhz = -1, temperature = -1, watts = -1;
  std::string throttled;  // why: heat, power brake, slowdown by hardware; "" if not, or not known
  std::string limited;    // by settings: power cap, configured clocks; "" likewise
};

// The arguments of a kernel that change from run to run.
struct CudaArguments {
  std::span<void* const> reads{};   // device memory, in the order of Op::reads; shared as the op's lists share tensors
  std::span<void* const> writes{};  // in the order of Op::writes
  void* workspace = nullptr;        // CudaKernel::workspace() bytes at a multiple of 256
  std::uint64_t random_stream = 0;  // dropout forward: the same number gives the same mask, see RandomStream
  const void* labels =
      nullptr;  // softmax loss backward: one-hot rows, fp32, of the probabilities' shape, on the device
  float learning_rate = 0.01f, momentum = 0.9f;  // update
  // Batch norm: running means, then variances, fp32, on the device. Empty (nullptr): left alone, as in recomputations.
  void* running_statistics = nullptr;
};

// An op made ready: descriptors, plans, constants. Run() allocates nothing and waits for nothing.
class CudaKernel {
 public:
  virtual ~CudaKernel() = default;
  virtual void Run(CudaStream* stream, const CudaArguments& arguments) = 0;
  Bytes workspace() const { return workspace_; }
  const std::string& implementation() const { return implementation_; }  // "implicit_precomp_gemm, tf32"

 protected:
  Bytes workspace_ = 0;
  std::string implementation_;
};

// A convolution's algorithm for one shape, as AlgorithmNames (model/kernels/kernel_form.h) numbers them.
struct CudaAlgorithm {
  std::int32_t algorithm = 0;
  Bytes workspace = 0;
  bool deterministic = true;
  int rank = -1;  // in the library's own order of preference, 0 = first
};

class CudaCalls {
 public:
  virtual ~CudaCalls() = default;

  virtual CudaProperties Properties() = 0;
  virtual CudaMemory Memory() = 0;
  virtual CudaClocks Clocks() = 0;

  virtual void* Malloc(Bytes bytes) = 0;  // at least 256 bytes aligned
  virtual void Free(void* memory) noexcept = 0;
  virtual void* MallocHost(Bytes bytes) = 0;  // pinned
  virtual void FreeHost(void* memory) noexcept = 0;
  virtual void* MallocManaged(Bytes bytes) = 0;  // the caller never asks for more than is free
  virtual void PrefetchManaged(void* memory, Bytes bytes, bool to_device, CudaStream* stream) = 0;
  // The host reads a byte of every page of managed memory, which brings those to it that are on the device. REQUIRES: no
  // stream uses it.
  virtual void TouchOnHost(const void* memory, Bytes bytes) = 0;
  // Memory from the device's stream-ordered pool.
  virtual void* MallocAsync(Bytes bytes, CudaStream* stream) = 0;
  virtual void FreeAsync(void* memory, CudaStream* stream) = 0;

  // Does not wait for the default stream. `urgent`: its kernels go before those that other streams have waiting.
  virtual CudaStream* MakeStream(bool urgent) = 0;
  virtual void Destroy(CudaStream* stream) noexcept = 0;
  virtual CudaEvent* MakeEvent(bool timed) = 0;
  virtual void Destroy(CudaEvent* event) noexcept = 0;
  virtual void Record(CudaEvent* event, CudaStream* stream) = 0;
  virtual void Wait(CudaStream* stream, CudaEvent* event) = 0;
  virtual bool IsDone(CudaEvent* event) = 0;  // also reports what failed on the device meanwhile
  virtual void Synchronize(CudaEvent* event) = 0;
  virtual void Synchronize(CudaStream* stream) = 0;
  virtual void SynchronizeDevice() = 0;
  virtual double Elapsed(CudaEvent* from, CudaEvent* to) = 0;  // both timed, recorded and done

  // Asynchronous where the host side is pinned.
  virtual void Copy(void* to, const void* from, Bytes bytes, Direction direction, CudaStream* stream) = 0;
  virtual void CopyRows(void* to, Bytes to_pitch, const void* from, Bytes from_pitch, Bytes row_bytes,
                        std::int64_t rows, Direction direction, CudaStream* stream) = 0;
  virtual void CopyOnDevice(void* to, const void* from, Bytes bytes, CudaStream* stream) = 0;
  virtual void Fill(void* at, unsigned char value, Bytes bytes, CudaStream* stream) = 0;
  // Keeps the stream busy for so long without memory or arithmetic units (emulation; holding a stream back). A launch
  // even for 0.
  virtual void Spin(double nanoseconds, CudaStream* stream) = 0;
  // Keeps the stream waiting until *flag, in pinned memory, is not 0; after kCudaLongestHold goes on all the same and
  // sets *flag to kCudaHoldRanOut, so that a host which waits for the held stream is not stuck for ever.
  virtual void HoldUntil(volatile int* flag, CudaStream* stream) = 0;
  // Writes to moments[m] when the stream comes by, for each multiprocessor m that takes part: some microseconds of a
  // kernel that uses neither memory nor arithmetic units to speak of. `moments`: kCudaMostMultiprocessors of them, in
  // pinned memory.
  virtual void Mark(CudaMoment* moments, CudaStream* stream) = 0;
  // Writes the next `count` values that the device's timer takes, each another one: how it ticks. To pinned memory.
  virtual void ReadTicks(std::int64_t* nanoseconds, int count, CudaStream* stream) = 0;

  // Other devices of this machine, numbered as CUDA numbers them, for copies between two of them. Memory of another one
  // makes a context there, which stays as long as the process.
  virtual int DeviceNumber() = 0;  // of this one
  virtual int DeviceCount() = 0;   // this one among them
  virtual CudaMemory MemoryOf(int device) = 0;
  virtual void* MallocOn(int device, Bytes bytes) = 0;
  virtual void FreeOn(int device, void* memory) noexcept = 0;
  // True if `device` can be given access to the memory of `peer`. The calls below give access (false: it had access
  // already) and take it back.
  virtual bool CanAccessPeer(int device, int peer) = 0;
  virtual bool EnablePeerAccess(int device, int peer) = 0;
  virtual void DisablePeerAccess(int device, int peer) noexcept = 0;
  // Straight where the two reach each other, else through the host. `stream` is of this device.
  virtual void CopyPeer(void* to, int to_device, const void* from, int from_device, Bytes bytes,
                        CudaStream* stream) = 0;

  // Kernels compute on fp32 in NCHW, products with launch.math kFp32 (true fp32) or kTf32. Anything else is kRefused.
  //
  // The algorithms that the library offers for a convolution's shape, whatever their workspace. launch.algorithm and
  // launch.workspace do not matter.
  virtual std::vector<CudaAlgorithm> Algorithms(const OpCall& call) = 0;
  // Algorithm 0: the library's first choice within launch.workspace.
  virtual std::unique_ptr<CudaKernel> Prepare(const OpCall& call) = 0;
  // The libraries' handles take device memory when the first kernel is prepared. These bytes belong to no arena, so
  // Prepare everything before measuring Memory().
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_CALLS_H_
