// Memory of the device and of the host that measurements share, each piece as large as the largest that wanted it.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_MEMORY_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_MEMORY_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "calibrate/devices/cuda/calls.h"

namespace spillway {

// Of the device; of the host, pinned; of both, moved by the driver; of the host, as malloc gives it.
enum class CudaPlace : std::uint8_t { kDevice, kPinned, kManaged, kPageable };

// One allocation that grows; nothing is kept when it does.
class CudaBlock {
 public:
  CudaBlock(CudaCalls& calls, CudaPlace place) : calls_(calls), place_(place) {}
  ~CudaBlock() { Drop(); }
  CudaBlock(const CudaBlock&) = delete;
  CudaBlock& operator=(const CudaBlock&) = delete;
  // At least so many bytes. UserError where the device or the host has not got them to spare.
  std::byte* AtLeast(Bytes bytes);
  Bytes bytes() const { return bytes_; }
  void Drop() noexcept;

 private:
  void CheckRoom(Bytes bytes);
  CudaCalls& calls_;
  CudaPlace place_;
  std::byte* data_ = nullptr;
  Bytes bytes_ = 0;
  std::vector<std::byte> pageable_;
};

// All that the measurements of one calibration work on: blocks by name, whoever asks for one, each given back when this goes.
// No two of those who use the same name may need what the other put there.
class CudaBenchMemory {
 public:
  // `l2_cache`: 0 where not known; a usual size is assumed.
  CudaBenchMemory(CudaCalls& calls, Bytes l2_cache);

  Bytes l2_cache() const { return l2_cache_; }
  Bytes RingBytes() const { return 2 * l2_cache_; }  // of the sets of operands: more than the cache by far
  // By name: "ring", "workspace", ...
  CudaBlock& Block(const std::string& name, CudaPlace place = CudaPlace::kDevice);
  // Fills device memory with BenchNumbers(sparse), on the stream.
  void Fill(std::byte* at, Bytes bytes, bool sparse, CudaStream* stream);
  // Touches so much else that nothing of the ring stays in the cache.
  void Evict(CudaStream* stream);
  void DropAll();  // blocks go, to make room

 private:
  CudaBlock& Pattern(bool sparse, CudaStream* stream);
  CudaCalls& calls_;
  Bytes l2_cache_;
  std::map<std::string, CudaBlock> blocks_;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_MEMORY_H_
