// What goes through pinned memory arrives, whatever its length; the host fills one half while the other is copied.
#include <algorithm>

#include "calibrate/devices/cuda/staging.h"
#include "tests/cuda/cuda_copies.h"

namespace spillway {
namespace {

constexpr Bytes kHalf = 8 * kKiB;
constexpr Nanos kPatience = 10 * kMillisecond;

std::vector<std::byte> Counted(Bytes bytes) {
  std::vector<std::byte> values(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::byte>(i * 7 + i / 251);
  return values;
}

// A staging area of two halves, and memory on the device.
struct Staged {
  explicit Staged(StandInOptions options = Plain())
      : cuda(std::move(options)),
        watch(cuda, cuda, kPatience, 0, 0, false),
        service(cuda, watch),
        staging(cuda, service),
        pinned(NewPinnedMemory(cuda, 2 * kHalf)),
        device(NewDeviceMemory(cuda, kMiB)) {
    staging.Use({pinned.get(), 2 * kHalf});
  }
  CudaStandIn cuda;
  CudaWatch watch;
  CudaService service;
  CudaStaging staging;
  OwnedPinnedMemory pinned;
  OwnedDeviceMemory device;
};

TEST_CASE("what is brought is what is taken, at any length and offset, without waiting in between") {
  Staged s;
  for (const Bytes bytes : {Bytes{0}, Bytes{1}, kHalf - 1, kHalf, kHalf + 1, 2 * kHalf, 5 * kHalf + 3}) {
    const std::vector<std::byte> values = Counted(bytes);
    std::vector<std::byte> caller = values, taken(values.size()), other(values.size());
    s.staging.Upload(s.device.get() + 512, caller);
    std::fill(caller.begin(), caller.end(), std::byte{0});  // it may be used again
    s.staging.Upload(s.device.get() + kMiB / 2, values);
    s.staging.Download(taken, s.device.get() + 512);
    s.staging.Download(other, s.device.get() + kMiB / 2);
    CHECK(taken == values);
    CHECK(other == values);
  }
  CHECK(s.cuda.violations().empty());
}

TEST_CASE("pieces are shown in order from either end, until somebody has seen enough") {
  Staged s;
  const std::vector<std::byte> values = Counted(3 * kHalf + 5);
  s.staging.Upload(s.device.get(), values);
  using Order = CudaStaging::Order;
  const auto seen = [&](Order order, int enough) {
    std::string text;
    s.staging.Look(s.device.get(), static_cast<Bytes>(values.size()), order,
                   [&](Bytes offset, std::span<const std::byte> piece) {
                     CHECK(std::equal(piece.begin(), piece.end(), values.begin() + offset));
                     text += std::to_string(offset) + "+" + std::to_string(piece.size()) + " ";
                     return --enough > 0;
                   });
    return text;
  };
  CHECK(seen(Order::kFromBegin, 9) == "0+8192 8192+8192 16384+8192 24576+5 ");
  CHECK(seen(Order::kFromEnd, 9) == "16389+8192 8197+8192 5+8192 0+5 ");
  CHECK(seen(Order::kFromBegin, 1) == "0+8192 ");
  CHECK(seen(Order::kFromEnd, 2) == "16389+8192 8197+8192 ");  // a third one is on its way, and in nobody's way
  CHECK(seen(Order::kFromBegin, 9) == "0+8192 8192+8192 16384+8192 24576+5 ");
}

// Bytes per nanosecond of the link; filling a half takes the host no time on the virtual clock.
TEST_CASE("the link never rests: the next piece is there before the last one has left") {
  StandInOptions options = Plain();
  options.copy_rate = {1, 1};
  options.poll_cost = 0;
  Staged s(options);
  std::vector<std::byte> values = Counted(8 * kHalf);
  const auto busy = [&](const auto& act) {
    s.cuda.ForgetDone();
    act();
    s.service.Wait();
    double gaps = 0;
    const auto& done = s.cuda.done();
    for (std::size_t k = 1; k < done.size(); ++k) gaps += done[k].start - done[k - 1].end;
    CHECK(done.size() == 8);
    return gaps;
  };
  CHECK(busy([&] { s.staging.Upload(s.device.get(), values); }) == 0);
  CHECK(busy([&] { s.staging.Download(values, s.device.get()); }) == 0);
}

TEST_CASE("no more pinned memory than is needed, nor than is allowed") {
  CHECK(CudaStaging::HalfFor(0, 64 * kMiB) == 4 * kKiB);
  CHECK(CudaStaging::HalfFor(5000, 64 * kMiB) == 8 * kKiB);
  CHECK(CudaStaging::HalfFor(kGiB, 64 * kMiB) == 64 * kMiB);
  CHECK(CudaStaging::HalfFor(kGiB, 1) == 4 * kKiB);
}

TEST_CASE("a copy that fails is told by the next call that waits") {
  StandInOptions options = Plain();
  options.fault = {StandInFault::What::kCopyFails, 1};
  Staged s(options);
  std::vector<std::byte> values = Counted(8 * kHalf);
  CHECK_THROWS_WITH(s.staging.Upload(s.device.get(), values), Catch::Contains("failed on the device"));
}

}  // namespace
}  // namespace spillway
