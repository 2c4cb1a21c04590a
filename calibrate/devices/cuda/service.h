// The stream for what a session has done between steps, and the host's waiting for it: work is given to stream(), then
// Wait() returns when it is done. Private to calibrate/devices/cuda/.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_SERVICE_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_SERVICE_H_

#include "calibrate/devices/cuda/owned.h"
#include "calibrate/devices/cuda/watch.h"

namespace spillway {

class CudaService {
 public:
  // Both must outlive this. Throws as CudaCalls::MakeStream and MakeEvent.
  CudaService(CudaCalls& calls, CudaWatch& watch)
      : calls_(calls), watch_(watch), stream_(NewStream(calls)), served_(NewEvent(calls, false)) {}

  CudaStream* stream() const { return stream_.get(); }
  // Until everything given to stream(), or to another one, is done. Throws as CudaWatch::Await; `instruction` is who waits.
  void Wait() { WaitFor(stream(), kNoInstruction); }
  void WaitFor(CudaStream* stream, std::uint32_t instruction) {
    calls_.Record(served_.get(), stream);
    watch_.Await(served_.get(), instruction);
  }
  void Await(CudaEvent* event) { watch_.Await(event, kNoInstruction); }  // one recorded on stream()
  CudaEvent* probe() const { return served_.get(); }                     // of CudaWatch::Blame

 private:
  CudaCalls& calls_;
  CudaWatch& watch_;
  OwnedCudaStream stream_;
  OwnedCudaEvent served_;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_SERVICE_H_
