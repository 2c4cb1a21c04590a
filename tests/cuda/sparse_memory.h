// What lies in memory that takes none of this machine's: a device of 80 GB on a host of 24.
//
// Ranges of addresses hold one byte repeated, or a piece of bytes that were brought. Nothing is ever read or written at
// the addresses themselves, which need not have pages. Copies within share what they copy, so that they cost by the number
// of ranges, not of bytes. What nobody has written is 0. Ranges may end anywhere; sizes are bytes.
//
//   SparseMemory memory;
//   memory.Fill(at, 0xff, 80 * kGB);
//   memory.Bring(at + 7, bytes.data(), 100);
//   memory.Fetch(host, at, 200);              // 7 bytes of 0xff, the 100, 93 bytes of 0xff
#ifndef SPILLWAY_TESTS_CUDA_SPARSE_MEMORY_H_
#define SPILLWAY_TESTS_CUDA_SPARSE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "hw/text/units.h"

namespace spillway {

class SparseMemory {
 public:
  void Fill(const void* at, unsigned char value, Bytes bytes);
  void Bring(const void* at, const void* from, Bytes bytes);  // from the host's memory
  void Fetch(void* to, const void* at, Bytes bytes) const;    // to the host's memory
  // Within; ranges may overlap.
  void Copy(const void* to, const void* from, Bytes bytes);
  void Forget(const void* at, Bytes bytes);  // 0 again
  // Where one byte is repeated, these become 0; what was brought stays.
  void Touch(const void* at, Bytes bytes);
  std::size_t ranges() const { return ranges_.size(); }

 private:
  using Address = std::uintptr_t;
  using Spare = std::vector<std::vector<std::byte>>;
  struct Range {
    Address end = 0;
    unsigned char value = 0;  // repeated, unless there are `bytes`
    std::shared_ptr<const std::vector<std::byte>> bytes{};
    std::size_t skipped = 0;  // of `bytes`
  };
  // Of `range` what lies behind its first `bytes` bytes.
  static Range Behind(Range range, std::size_t bytes);
  void Clear(Address begin, Address end);
  void Put(Address begin, Range range);
  // Calls take(begin, Range) for what of [begin, end) is not 0 by default.
  template <typename Take>
  void ForEach(Address begin, Address end, const Take& take) const;

  // Of what was brought and is gone, so that the system need not find pages again: a training step's worth of parameters is
  // brought again and again.
  std::shared_ptr<Spare> spare_ = std::make_shared<Spare>();
  std::map<Address, Range> ranges_;  // by where they begin; they do not overlap
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_CUDA_SPARSE_MEMORY_H_
