// CUDA on this machine's memory, for tests of what is written against CudaCalls: no GPU, no CUDA.
//
// Streams are queues that are carried out in time order on a virtual clock. The host's time goes on by `call_cost` with
// each call that gives work to a stream, by `issue_time` with those that launch kernels, by `poll_cost` with each IsDone
// that is false, and by however long it waits.
// Nothing contends: what things take is stated in the options. Kernels are computed by CpuKernels where this program has them.
//
// With `real_time` the clock is the host's own: what streams are given ends when it would by these times, calls that wait
// sleep until then, and what the host takes is what it takes. With `sparse` memory a device may have more of it than this
// machine (sparse_memory.h). So a program that knows no virtual clock can be rehearsed (tests/cuda/rehearsal/).
//
// Everything that calls do is recorded, misuse too (violations()): memory used after it was freed or outside of what
// was allocated, memory freed while streams still work, things given back twice, kernels launched for the first time while a stream is
// held (CUDA loads them then, which may wait for the stream), events made meanwhile (which may wait likewise).
//
//   CudaStandIn cuda({.copy_rate = {10, 10}});
//   CudaDevice device({}, cuda, cuda);           // it is the clock as well
//   ... CHECK(cuda.leaks() == ""); CHECK(cuda.violations().empty());
#ifndef SPILLWAY_TESTS_CUDA_CUDA_STAND_IN_H_
#define SPILLWAY_TESTS_CUDA_CUDA_STAND_IN_H_

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "calibrate/devices/cpu/kernels.h"
#include "calibrate/devices/cuda/calls.h"
#include "sim/execute/clock.h"
#include "sim/execute/device.h"
#include "tests/cuda/sparse_memory.h"

namespace spillway {

// What goes wrong, once: with the `nth` of its kind (from 0) since the stand-in was made.
struct StandInFault {
  enum class What {
    kNone,
    kMalloc,           // no device memory is left
    kMallocHost,       // no pinned memory is left
    kMakeStream,       // the call fails
    kMakeEvent,        // the call fails
    kPrepare,          // the library refuses the kernel
    kRecord,           // the call fails
    kWait,             // the call fails
    kCopyCall,         // the call fails; nothing is copied
    kPeer,             // the call that lets one device reach another's memory fails
    kLaunch,           // the call fails; nothing runs
    kCopyCorrupts,     // a byte of it arrives as another one
    kCopyFails,        // while it runs: the device cannot be used any more
    kKernelFails,      // while it runs: the device cannot be used any more
    kKernelHangs,      // it never ends
    kEventNeverFires,  // the stream never gets past the record
    kLost,             // with the nth call of all that can fail, the device cannot be used any more
  };
  What what = What::kNone;
  std::uint32_t nth = 0;
};

struct StandInOptions {
  std::function<double(const OpCall&)> kernel_time{};   // nanoseconds; empty: 1000 for every kernel
  double copy_latency = 0;                              // ns of each copy between host and device
  std::array<double, 2> copy_rate{10, 10};              // by Direction: bytes per ns
  std::function<double(Bytes, Direction)> copy_time{};  // in place of both
  double device_rate = 0;                               // of copies and fills on the device; 0: they take no time
  double spin_gap = 0;                                  // ns that a Spin takes beyond what it is told
  std::function<double(double now)> clock_ghz{};        // of its one multiprocessor at `now` ns; empty: 1
  double tick = 32;                                     // ns, of its timer
  double record_time = 0;                               // ns that the device takes to record an event
  std::size_t queue = 0;                                // what a stream holds before the host waits for it; 0: all
  double call_cost = 0;                                 // ns of the host
  std::function<double(const OpCall&)> issue_time{};    // ns of the host of a kernel's call beyond call_cost; empty: 0
  double poll_cost = 1000;             // ns of the host; 0: it sleeps until something ends, or for a millisecond
  Bytes memory = kGiB, pinned = kGiB;  // how much there is
  // Of a copy's row, at most; less where tests are about calls, not contents. With `sparse` longer copies carry nothing, nor
  // do those that are made while others are or kernels work, and those of more than a MiB of memory that is not pinned: real
  // time has none for it.
  Bytes carried = kGiB;
  // Device memory without pages behind it, and pinned memory without a reservation. REQUIRES: not `compute`.
  bool sparse = false;
  bool real_time = false;   // `call_cost` and its kin are waited for, on top of what calls really take
  double noise = 0;         // standard deviation of the logarithm of kernels' and copies' times, drawn in order
  Bytes context_bytes = 0;  // of device memory that is never free
  Bytes library_bytes = 0;  // taken for good by the first Prepare
  Bytes code_bytes = 0;     // taken for good by each kernel when it is first launched
  // Not 0: kernels and copies take random times up to 20 us instead of their own: another order that streams and events
  // allow.
  std::uint64_t shuffle_seed = 0;
  // Devices of the machine, this one being the first; whether they can reach each other, and bytes per ns of a copy
  // between two that do and two that do not.
  int devices = 1;
  bool peers = true;
  double peer_rate = 20, staged_rate = 5;
  double fault_rate = 1;  // bytes per ns at which managed memory comes that is on the other side
  bool remember = true;   // done(): false where it would grow for minutes
  // In place of the two that are made up: a convolution's algorithms, and what a kernel wants of workspace, which may throw
  // that it is refused.
  std::function<std::vector<CudaAlgorithm>(const OpCall&)> algorithms{};
  std::function<Bytes(const OpCall&)> workspace{};
  std::set<std::int32_t> without_tf32{};  // algorithms that compute in fp32 where TF32 is allowed
  bool compute = true;  // false: kernels only take time, but for OpKind::kCopy without slices, which copies
  std::set<std::int32_t> varying{};  // algorithms that are said not to be deterministic
  StandInFault fault{};
  CudaProperties properties{};  // name "": "stand-in"
};

class StandInKernel;

class CudaStandIn : public CudaCalls, public Clock {
 public:
  explicit CudaStandIn(StandInOptions options = {});
  ~CudaStandIn() override;

  // ---- what tests ask ---------------------------------------------------------------------------------------------

  // What streams did, in the order in which it ended.
  enum class Work { kKernel, kCopy, kOnDevice, kPeer, kSpin, kHold };
  struct Done {
    Work work = Work::kKernel;
    int stream = 0;  // in the order of MakeStream, from 0
    bool urgent = false;
    double start = 0, end = 0;
    std::string kernel{};  // what Prepare was told: Text(call)
    std::vector<const void*> reads{}, writes{};
    const void* to = nullptr;  // of copies and fills
    const void* from = nullptr;
    Bytes bytes = 0;
    Direction direction = Direction::kHostToDevice;
  };
  const std::vector<Done>& done() const { return done_; }
  void ForgetDone() { done_.clear(); }
  static std::string Text(const OpCall& call);

  // How often each kind of what a StandInFault can hit was there; kLost: all calls that can fail.
  std::uint32_t count(StandInFault::What what) const { return counts_[static_cast<std::size_t>(what)]; }
  // "" if everything was given back, else what was not: "2 streams, 1 allocation".
  std::string leaks() const;
  const std::vector<std::string>& violations() const { return violations_; }
  struct Allocation {
    Bytes bytes = 0;
    bool device = false;
    int on = 0;            // which device
    bool managed = false;  // unified; `on_host`: its pages are there now
    bool on_host = false;
    std::shared_ptr<void> owned{};
    std::byte* data = nullptr;
  };
  const std::map<const std::byte*, Allocation>& allocations() const { return allocations_; }
  const std::set<std::pair<int, int>>& peer_access() const { return peer_access_; }  // which device reaches which
  Nanos Now() const override { return static_cast<Nanos>(now_); }
  void Sleep(double nanoseconds) { Pass(nanoseconds); }

  // ---- CudaCalls ----------------------------------------------------------------------------------------------------

  CudaProperties Properties() override;
  CudaMemory Memory() override;
  CudaClocks Clocks() override { return {}; }
  void* Malloc(Bytes bytes) override;
  void Free(void* memory) noexcept override;
  void* MallocHost(Bytes bytes) override;
  void FreeHost(void* memory) noexcept override;
  void* MallocManaged(Bytes bytes) override;
  void PrefetchManaged(void* memory, Bytes bytes, bool to_device, CudaStream* stream) override;
  void TouchOnHost(const void* memory, Bytes bytes) override;
  void* MallocAsync(Bytes bytes, CudaStream* stream) override;
  void FreeAsync(void* memory, CudaStream* stream) override;
  CudaStream* MakeStream(bool urgent) override;
  void Destroy(CudaStream* stream) noexcept override;
  CudaEvent* MakeEvent(bool timed) override;
  void Destroy(CudaEvent* event) noexcept override;
  void Record(CudaEvent* event, CudaStream* stream) override;
  void Wait(CudaStream* stream, CudaEvent* event) override;
  bool IsDone(CudaEvent* event) override;
  // Throw std::logic_error where a real device would wait for ever.
  void Synchronize(CudaEvent* event) override;
  void Synchronize(CudaStream* stream) override;
  void SynchronizeDevice() override;
  double Elapsed(CudaEvent* from, CudaEvent* to) override;
  void Copy(void* to, const void* from, Bytes bytes, Direction direction, CudaStream* stream) override;
  void CopyRows(void* to, Bytes to_pitch, const void* from, Bytes from_pitch, Bytes row_bytes, std::int64_t rows,
                Direction direction, CudaStream* stream) override;
  void CopyOnDevice(void* to, const void* from, Bytes bytes, CudaStream* stream) override;
  void Fill(void* at, unsigned char value, Bytes bytes, CudaStream* stream) override;
  void Spin(double nanoseconds, CudaStream* stream) override;
  void HoldUntil(volatile int* flag, CudaStream* stream) override;
  void Mark(CudaMoment* moments, CudaStream* stream) override;
  void ReadTicks(std::int64_t* nanoseconds, int count, CudaStream* stream) override;
  int DeviceNumber() override { return 0; }
  int DeviceCount() override { return options_.devices; }
  CudaMemory MemoryOf(int device) override;
  void* MallocOn(int device, Bytes bytes) override;
  void FreeOn(int device, void* memory) noexcept override;
  bool CanAccessPeer(int device, int peer) override;
  bool EnablePeerAccess(int device, int peer) override;
  void DisablePeerAccess(int device, int peer) noexcept override;
  void CopyPeer(void* to, int to_device, const void* from, int from_device, Bytes bytes, CudaStream* stream) override;
  // Those of CpuKernels; without them, or without `compute`, algorithms 1 and 2 with a workspace of 0 and 1 MiB.
  std::vector<CudaAlgorithm> Algorithms(const OpCall& call) override;
  std::unique_ptr<CudaKernel> Prepare(const OpCall& call) override;

  struct Item;  // private to the stand-in's files

 private:
  friend class StandInKernel;

  // Time (cuda_stand_in_time.cc).
  void Advance();
  void MoveTo(double time);
  void Pass(double nanoseconds) { MoveTo(now_ + nanoseconds); }
  double Noisy(double time);

  // The engine (cuda_stand_in_engine.cc).
  void Give(CudaStream* stream, Item item);
  void Run(double until);
  CudaStream* NextToEnd(double& end);
  bool EndOf(const CudaStream& stream, double& end) const;
  void CarryOut(CudaStream& stream, double end);
  void RunUntilDone(const std::function<bool()>& done);
  bool Idle() const;
  bool IsHeld() const;
  // Nothing else works, and at most one copy is on its way: as staging between steps has it, in two halves.
  bool IsBetweenSteps(const CudaStream& stream) const;

  void Enter(StandInFault::What what, const char* expression);
  bool Hits(StandInFault::What what);
  void CheckAlive(const char* expression) const;
  void Violated(const std::string& what) { violations_.push_back(what); }
  bool Holds(const void* at, Bytes bytes, bool device, int on = 0) const;
  const Allocation* Find(const void* at) const;
  Bytes FreeBytes() const;
  std::shared_ptr<CudaEvent> Known(CudaEvent* event);
  bool Broken() const;
  void Load(const std::string& kernel);
  std::byte* Allocate(Bytes bytes, bool device, int on = 0);
  void Erase(std::map<const std::byte*, Allocation>::iterator allocation);
  void CarryOverLink(void* to, const void* from, Bytes bytes, Direction direction, bool carries);
  void CarryOnDevice(void* to, const void* from, Bytes bytes);
  void TouchWrites(const std::vector<void*>& writes);
  void Release(void* memory, bool device, int on = 0) noexcept;
  bool HasDevice(int device, const char* expression);
  double FaultTime(const StandInKernel& kernel, const std::vector<void*>& reads) const;
  double CopyTime(Bytes bytes, Direction direction) const;
  double OnDeviceTime(Bytes bytes);
  double Shuffled(double time);
  void RunKernel(const StandInKernel& kernel, CudaStream* stream, const CudaArguments& arguments);

  StandInOptions options_;
  std::unique_ptr<CpuKernels> kernels_;
  double now_ = 0;
  std::vector<std::unique_ptr<CudaStream>> streams_;
  int streams_made_ = 0;
  std::map<CudaEvent*, std::shared_ptr<CudaEvent>> events_;
  std::map<const std::byte*, Allocation> allocations_;
  SparseMemory contents_;  // of `sparse` devices
  std::map<int, Bytes> device_bytes_;
  std::set<std::pair<int, int>> peer_access_;
  Bytes pinned_bytes_ = 0, library_bytes_ = 0;
  int live_kernels_ = 0;
  double cycles_ = 0, marked_ = 0;  // of the multiprocessor's clock, at the last mark
  std::set<std::string> loaded_;
  std::array<std::uint32_t, 32> counts_{};
  std::uint64_t drawn_ = 0;
  std::string lost_;  // why the device cannot be used any more
  std::vector<Done> done_;
  std::vector<std::string> violations_;
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_CUDA_CUDA_STAND_IN_H_
