// The stand-in for CUDA does what streams and events are to do, and sees misuse: else tests over it would prove nothing.
#include "tests/cuda/cuda_stand_in.h"

#include <catch2/catch.hpp>
#include <cstring>

namespace spillway {
namespace {

StandInOptions Plain() {
  StandInOptions options;
  options.compute = false;
  options.poll_cost = 0;
  return options;
}

// Everything that a small use of CUDA needs, given back at the end.
struct Small {
  explicit Small(const StandInOptions& options = Plain()) : cuda(options) {
    one = cuda.MakeStream(false);
    two = cuda.MakeStream(false);
    device = static_cast<std::byte*>(cuda.Malloc(1000));
    host = static_cast<std::byte*>(cuda.MallocHost(1000));
  }
  void GiveBack() {
    cuda.Destroy(one);
    cuda.Destroy(two);
    cuda.Free(device);
    cuda.FreeHost(host);
  }
  CudaStandIn cuda;
  CudaStream *one = nullptr, *two = nullptr;
  std::byte *device = nullptr, *host = nullptr;
};

TEST_CASE("streams run side by side, waits and events order them, times are those of the options") {
  Small s;  // 10 bytes per ns: 1000 bytes take 100 ns
  CudaEvent* const from = s.cuda.MakeEvent(true);
  CudaEvent* const to = s.cuda.MakeEvent(true);
  s.cuda.Record(from, s.one);
  s.cuda.Spin(500, s.one);
  s.cuda.Copy(s.device, s.host, 1000, Direction::kHostToDevice, s.one);
  s.cuda.Record(to, s.one);
  s.cuda.Spin(50, s.two);
  s.cuda.Wait(s.two, to);
  s.cuda.Spin(7, s.two);
  s.cuda.SynchronizeDevice();
  CHECK(s.cuda.Elapsed(from, to) == 600);
  REQUIRE(s.cuda.done().size() == 4);
  CHECK(s.cuda.done()[0].end == 50);
  CHECK(s.cuda.done()[3].start == 600);
  CHECK(s.cuda.Now() == 607);
  s.cuda.Destroy(from);
  s.cuda.Destroy(to);
  s.GiveBack();
  CHECK(s.cuda.leaks() == "");
  CHECK(s.cuda.violations().empty());
}

TEST_CASE("nothing is copied before its stream gets there") {
  Small s;
  s.host[0] = std::byte{7};
  s.device[0] = std::byte{1};
  s.cuda.Spin(100, s.one);
  s.cuda.Copy(s.device, s.host, 1, Direction::kHostToDevice, s.one);
  CHECK(s.device[0] == std::byte{1});
  s.host[0] = std::byte{8};  // too early: what is there when the stream gets there is copied
  s.cuda.Synchronize(s.one);
  CHECK(s.device[0] == std::byte{8});
  s.GiveBack();
}

TEST_CASE("a stream is held until the flag is set, or the hold runs out") {
  Small s;
  auto* const flag = static_cast<volatile int*>(static_cast<void*>(s.host));
  *flag = 0;
  s.cuda.Spin(0, s.two);  // loaded
  s.cuda.HoldUntil(flag, s.one);
  s.cuda.Spin(10, s.one);
  s.cuda.Sleep(1000);
  *flag = 1;
  s.cuda.Synchronize(s.one);
  CHECK(s.cuda.Now() == 1010);
  *flag = 0;
  s.cuda.HoldUntil(flag, s.one);
  s.cuda.Synchronize(s.one);
  CHECK(s.cuda.Now() == 1010 + kCudaLongestHold);
  CHECK(*flag == kCudaHoldRanOut);
  s.GiveBack();
  CHECK(s.cuda.violations().empty());
}

// What the last thing done wrong is called.
std::string Last(const CudaStandIn& cuda) { return cuda.violations().empty() ? "" : cuda.violations().back(); }

TEST_CASE("misuse is seen") {
  Small s;
  s.cuda.Copy(s.device + 500, s.host, 501, Direction::kHostToDevice, s.one);
  s.cuda.Synchronize(s.one);
  CHECK(Last(s.cuda) == "a copy touches device memory that is not there");
  s.cuda.Fill(s.device - 1, 0, 10, s.one);
  s.cuda.Synchronize(s.one);
  CHECK(Last(s.cuda) == "a fill touches memory that is not there");
  const std::unique_ptr<CudaKernel> kernel = s.cuda.Prepare({});
  void* const stray = s.host;
  kernel->Run(s.one, {.reads = {&stray, 1}});
  s.cuda.Synchronize(s.one);
  CHECK(Last(s.cuda).find("a kernel touches memory that is not there") == 0);
  auto* const flag = static_cast<volatile int*>(static_cast<void*>(s.host));
  *flag = 0;
  s.cuda.HoldUntil(flag, s.one);
  s.cuda.Spin(1, s.two);
  CHECK(Last(s.cuda) == "first launched while a stream is held: spin");
  s.cuda.Free(s.device);
  CHECK(Last(s.cuda) == "memory is freed while streams work");
  *flag = 1;
  s.cuda.SynchronizeDevice();
  s.cuda.Free(s.device);
  CHECK(Last(s.cuda) == "memory is freed that is not there");
  CHECK(s.cuda.leaks() == "2 streams, 1 allocations, 1 kernels");
}

TEST_CASE("another seed is another order of what is not ordered, never of what is") {
  int first_stream_first = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    StandInOptions options = Plain();
    options.shuffle_seed = seed;
    Small s(options);
    for (CudaStream* const stream : {s.one, s.two}) {
      for (const int at : {0, 1}) s.cuda.Copy(s.device + at, s.host, 1, Direction::kHostToDevice, stream);
    }
    s.cuda.SynchronizeDevice();
    std::array<const void*, 2> last{nullptr, nullptr};
    for (const CudaStandIn::Done& done : s.cuda.done()) {
      const auto stream = static_cast<std::size_t>(done.stream);
      CHECK((last[stream] == nullptr ? done.to == s.device : done.to == s.device + 1));
      last[stream] = done.to;
    }
    first_stream_first += s.cuda.done()[0].stream == 0 ? 1 : 0;
    s.GiveBack();
  }
  CHECK(first_stream_first > 0);
  CHECK(first_stream_first < 20);
}

}  // namespace
}  // namespace spillway
