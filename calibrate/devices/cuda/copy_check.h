// Whether bytes arrive as they were sent. A copy that is only timed would be just as fast if they did not, and a link that
// loses some is not what a profile should be made of.
//
// One copy in each direction, not timed: of random bytes, between the memory that copies are timed on, in one piece as
// they are. The other way they go as differently as can be, in small pieces through ordinary memory, which the driver
// stages. So a wrong byte is most likely the checked direction's; the message says which way both ways went.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_COPY_CHECK_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_COPY_CHECK_H_

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "calibrate/devices/cuda/bench_memory.h"
#include "calibrate/measure/refused.h"

namespace spillway {

// Bytes did not arrive. That is this machine's matter, not the device's: not remembered.
class WrongCopy : public NotRemembered {
 public:
  using NotRemembered::NotRemembered;
};

class CudaCopyCheck {
 public:
  // `bytes`: of a copy, rounded down to a multiple of 8; 0: nothing is checked. All must outlive it.
  CudaCopyCheck(CudaCalls& calls, CudaBenchMemory& memory, Bytes bytes)
      : calls_(calls), memory_(memory), bytes_(bytes / 8 * 8) {}

  // Checks pinned copies in this direction the first time that it is called, and waits for them. WrongCopy, then and
  // ever after, if they went wrong: the direction, the first wrong byte, the checksums sent and found. Also throws what
  // memory and calls throw; then the next call checks.
  void Check(Direction direction, CudaStream* stream);

 private:
  std::string CheckToDevice(CudaStream* stream);
  std::string CheckToHost(CudaStream* stream);
  std::byte* Device() { return memory_.Block("copied").AtLeast(bytes_); }
  std::byte* Pinned() { return memory_.Block("pinned", CudaPlace::kPinned).AtLeast(bytes_); }
  CudaCalls& calls_;
  CudaBenchMemory& memory_;
  Bytes bytes_;
  std::array<std::optional<std::string>, 2> found_;  // by Direction: what was wrong; "": nothing
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_COPY_CHECK_H_
