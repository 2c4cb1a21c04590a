// What the stand-in's files share.
#ifndef SPILLWAY_TESTS_CUDA_CUDA_STAND_IN_PARTS_H_
#define SPILLWAY_TESTS_CUDA_CUDA_STAND_IN_PARTS_H_

#include "tests/cuda/cuda_stand_in.h"

namespace spillway {

struct CudaEvent {
  bool timed = false;
  std::vector<double> times;   // of the records that were carried out, in order
  std::uint64_t recorded = 0;  // calls
  bool done() const { return times.size() == recorded; }
};

// What a stream does at one time.
struct CudaStandIn::Item {
  enum class Kind { kWork, kRecord, kWait, kHold };
  Kind kind = Kind::kWork;
  double duration = 0, issued = 0;
  bool never_ends = false;
  std::string fails{};                 // why; the device cannot be used any more
  std::function<void()> effect{};      // when it ends
  std::shared_ptr<CudaEvent> event{};  // kRecord, kWait; may be destroyed meanwhile, as with CUDA
  std::uint64_t record = 0;            // kWait: which one, from 1; 0: none
  volatile int* flag = nullptr;
  Done done{};
  bool reported = false;  // goes into done()
};

struct CudaStream {
  int id = 0;
  bool urgent = false;
  double free_at = 0;
  std::deque<CudaStandIn::Item> queue{};
};

// Carries out what its CpuKernel does, or nothing.
class StandInKernel : public CudaKernel {
 public:
  StandInKernel(CudaStandIn& owner, const OpCall& call, const CpuKernel* kernel);
  ~StandInKernel() override;
  void Run(CudaStream* stream, const CudaArguments& arguments) override;
  const OpCall& call() const { return call_; }
  const std::string& text() const { return text_; }
  // What the streams do. `arguments` with the pointers of the lists.
  void Compute(const std::vector<void*>& reads, const std::vector<void*>& writes, const CudaArguments& arguments) const;

 private:
  void RoundAsTf32(const std::vector<void*>& writes) const;
  CudaStandIn& owner_;
  OpCall call_;
  const CpuKernel* kernel_;
  std::string text_;
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_CUDA_CUDA_STAND_IN_PARTS_H_
