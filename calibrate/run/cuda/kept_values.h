// Copies on the device of values that are brought there again and again: parameters of a step that is timed in many
// sessions. They lie beside everything else, in memory that nobody else wants, and go as soon as somebody may.
// Private to calibrate/run/cuda/.
//
// No plan and no figure is to see them: debug sessions, in which memory is measured, run without any, what the device
// tells of memory in use leaves them out, and kSpare bytes stay free beside them and a session's arena.
//
// Tested by cuda_kept_values_test (tests/).
#ifndef SPILLWAY_CALIBRATE_RUN_CUDA_KEPT_VALUES_H_
#define SPILLWAY_CALIBRATE_RUN_CUDA_KEPT_VALUES_H_

#include <cstdint>
#include <map>
#include <utility>

#include "calibrate/run/cuda/owned.h"

namespace spillway {

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

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_RUN_CUDA_KEPT_VALUES_H_
