// What goes between the caller's memory and the device's between steps, by way of pinned memory in two halves: while one
// half is copied over the link, the host fills or reads the other. So it takes as long as the slower of the two, and one
// piece of the other. Private to calibrate/devices/cuda/.
//
// Everything is given to the service's stream, in the order of the calls; the host waits by events, as CudaWatch does.
// Sizes are bytes. Errors: as CudaCalls::Copy and CudaWatch::Await; what fails while it is copied is told by a later call.
//
// Tested by cuda_staging_test (tests/).
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_STAGING_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_STAGING_H_

#include <array>
#include <cstddef>
#include <functional>
#include <span>

#include "calibrate/devices/cuda/watch.h"

namespace spillway {

class CudaStaging {
 public:
  static constexpr Bytes kPage = 4 * kKiB;
  // Of each half, where as much as `most` could be used: whole pages, no more than `needed` at a time.
  static Bytes HalfFor(Bytes needed, Bytes most);

  // Both must outlive this. Throws as CudaCalls::MakeEvent.
  CudaStaging(CudaCalls& calls, CudaService& service);
  // Pinned memory of two halves. REQUIRES: before anything else, once; a multiple of two pages.
  void Use(std::span<std::byte> pinned);

  // Returns when `from` may be used again; the rest is in order of the stream.
  void Upload(std::byte* to, std::span<const std::byte> from);
  // Done when it returns.
  void Download(std::span<std::byte> to, const std::byte* from);

  // Shows `bytes` bytes of the device a piece at a time, with its offset; until `see` says false. Pieces are whole words
  // of 4 bytes but for the last one in this order. kFromEnd: the last piece first.
  enum class Order : std::uint8_t { kFromBegin, kFromEnd };
  using See = std::function<bool(Bytes offset, std::span<const std::byte> piece)>;
  void Look(const std::byte* from, Bytes bytes, Order order, const See& see);

 private:
  struct Half {
    std::byte* memory = nullptr;
    OwnedCudaEvent moved;    // behind the last copy from or to it
    bool in_flight = false;  // the host has not waited for that since
  };
  void Give(Half& half, std::byte* to, const std::byte* from, Bytes bytes, Direction direction);
  void Await(Half& half);

  CudaCalls& calls_;
  CudaService& service_;
  std::array<Half, 2> halves_;
  std::size_t next_ = 0;  // the half that was used longer ago
  Bytes half_bytes_ = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_STAGING_H_
