// Checks that copies deliver the bytes that were sent. Timing alone does not show lost bytes, and a profile must not be
// made from a link that loses bytes.
//
// The check makes one untimed copy in each direction: random bytes, between the memory that timed copies use, in one
// piece as they do. The bytes go the other way as differently as possible: in small pieces, through ordinary memory,
// which the driver stages. So a wrong byte most likely comes from the checked direction. The message names both ways.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_COPY_CHECK_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_COPY_CHECK_H_

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "calibrate/devices/cuda/bench_memory.h"
#include "calibrate/measure/refused.h"

namespace spillway {

// Thrown if bytes were lost. This concerns one machine and not the kind of device, so the journal does not remember it.
class WrongCopy : public NotRemembered {
 public:
  using NotRemembered::NotRemembered;
};

class CudaCopyCheck {
 public:
  // `bytes`: the size of the copy, rounded down to a multiple of 8; 0: nothing is checked. `calls` and `memory` must
  // outlive this.
  CudaCopyCheck(CudaCalls& calls, CudaBenchMemory& memory, Bytes bytes)
      : calls_(calls), memory_(memory), bytes_(bytes / 8 * 8) {}

  // The first call for a direction checks a pinned copy and waits for it. If it failed, this and every later call
  // throws WrongCopy with the direction, the first wrong byte, and the checksums sent and found. Other exceptions of
  // memory and calls pass; then the next call checks again.
  void Check(Direction direction, CudaStream* stream);

 private:
  std::string CheckToDevice(CudaStream* stream);
  std::string CheckToHost(CudaStream* stream);
  std::byte* Device() { return memory_.Block("copied").AtLeast(bytes_); }
  std::byte* Pinned() { return memory_.Block("pinned", CudaPlace::kPinned).AtLeast(bytes_); }
  CudaCalls& calls_;
  CudaBenchMemory& memory_;
  Bytes bytes_;
  std::array<std::optional<std::string>, 2>
      found_;  // by Direction: the mistake found; "": none; nullopt: not checked yet
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_COPY_CHECK_H_
