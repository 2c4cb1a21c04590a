// Memory on the device and on the host that the measurements of one calibration share. Each block grows to the largest
// size that a measurement asks for.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_MEMORY_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_MEMORY_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "calibrate/devices/cuda/calls.h"

namespace spillway {

// Device memory; pinned host memory; managed memory, whose pages the driver moves; ordinary host memory.
enum class CudaPlace : std::uint8_t { kDevice, kPinned, kManaged, kPageable };

// Owns one allocation, which grows on demand. Growing frees the old memory, and its contents are lost.
class CudaBlock {
 public:
  CudaBlock(CudaCalls& calls, CudaPlace place) : calls_(calls), place_(place) {}
  ~CudaBlock() { Drop(); }
  CudaBlock(const CudaBlock&) = delete;
  CudaBlock& operator=(const CudaBlock&) = delete;
  // Returns the memory, grown to at least `bytes` if it is smaller. Throws NoRoom, a UserError, if the device has too
  // little free memory. Throws as CudaCalls does if an allocation fails.
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

// Owns the blocks of one calibration, by name. Measurements that ask for the same name get the same block, so they must
// not rely on its contents from one measurement to the next.
class CudaBenchMemory {
 public:
  // `l2_cache`: bytes of the device's L2 cache; 0 if unknown, which assumes 50 MiB.
  CudaBenchMemory(CudaCalls& calls, Bytes l2_cache);

  Bytes l2_cache() const { return l2_cache_; }
  // Total size of the ring of operand sets: twice the cache, so that a set has left the cache when its turn comes
  // again.
  Bytes RingBytes() const { return 2 * l2_cache_; }
  // The block called `name`, such as "ring" or "workspace". The first call creates it, empty, in `place`; later calls
  // ignore `place`.
  CudaBlock& Block(const std::string& name, CudaPlace place = CudaPlace::kDevice);
  // Fills `bytes` of device memory from `at` on with BenchNumbers(sparse), repeated, in the order of the stream.
  void Fill(std::byte* at, Bytes bytes, bool sparse, CudaStream* stream);
  // Overwrites RingBytes() of other memory, so that the cache holds nothing of the ring afterwards.
  void Evict(CudaStream* stream);
  void DropAll();  // waits for the device, then frees the memory of all blocks

 private:
  CudaBlock& Pattern(bool sparse, CudaStream* stream);
  CudaCalls& calls_;
  Bytes l2_cache_;
  std::map<std::string, CudaBlock> blocks_;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_MEMORY_H_
