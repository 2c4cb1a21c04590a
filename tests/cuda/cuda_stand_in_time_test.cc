// The stand-in in real time: what streams do takes that long, and whoever waits waits. A machine that is busy makes things
// later, never earlier: all bounds are lower ones, but for what the device does by itself, which is exact.
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <memory>
#include <thread>

#include "sim/execute/clock.h"
#include "tests/cuda/cuda_stand_in.h"

namespace spillway {
namespace {

constexpr double kMilli = 1e6;

StandInOptions RealTime() {
  StandInOptions options;
  options.real_time = true;
  options.compute = false;
  options.kernel_time = [](const OpCall&) { return 20 * kMilli; };
  options.copy_rate = {1, 1};
  options.poll_cost = 0;
  return options;
}

struct Real {
  explicit Real(const StandInOptions& options = RealTime()) : cuda(options) {
    flag = static_cast<volatile int*>(cuda.MallocHost(sizeof(int)));
    one = cuda.MakeStream(false);
    two = cuda.MakeStream(false);
    for (CudaEvent*& event : events) event = cuda.MakeEvent(true);
  }
  void GiveBack() {
    cuda.FreeHost(const_cast<int*>(flag));
    cuda.Destroy(one);
    cuda.Destroy(two);
    for (CudaEvent* const event : events) cuda.Destroy(event);
  }
  static Nanos Now() { return SteadyClock().Now(); }

  CudaStandIn cuda;
  volatile int* flag = nullptr;
  CudaStream *one = nullptr, *two = nullptr;
  CudaEvent* events[3] = {};
};

}  // namespace

TEST_CASE("real time: two kernels on one stream, a copy beside them on another") {
  constexpr Bytes kBytes = 20'000'000;  // 20 ms
  Real r;
  auto* const device = static_cast<std::byte*>(r.cuda.Malloc(kBytes));
  auto* const host = static_cast<std::byte*>(r.cuda.MallocHost(kBytes));
  const std::unique_ptr<CudaKernel> kernel = r.cuda.Prepare({});
  const auto [start, kernels, copy] = r.events;
  *r.flag = 0;
  r.cuda.HoldUntil(r.flag, r.one);  // so that both begin at one time, however late the host is
  r.cuda.Record(start, r.one);
  r.cuda.Wait(r.two, start);
  for (int k = 0; k < 2; ++k) kernel->Run(r.one, {});
  r.cuda.Record(kernels, r.one);
  r.cuda.Copy(device, host, kBytes, Direction::kHostToDevice, r.two);
  r.cuda.Record(copy, r.two);
  const Nanos begin = Real::Now();
  *r.flag = 1;
  r.cuda.SynchronizeDevice();
  CHECK(Real::Now() - begin >= 40 * kMillisecond);
  CHECK(r.cuda.Elapsed(start, kernels) == Approx(40 * kMilli));
  CHECK(r.cuda.Elapsed(start, copy) == Approx(20 * kMilli));
  CHECK(r.cuda.Now() <= Real::Now());
  r.cuda.Free(device);
  r.cuda.FreeHost(host);
  r.GiveBack();
  CHECK(r.cuda.leaks() == "1 kernels");
}

TEST_CASE("real time: who waits for an event waits for it alone") {
  Real r;
  r.cuda.Spin(10 * kMilli, r.one);
  r.cuda.Record(r.events[0], r.one);
  r.cuda.Spin(1e5 * kMilli, r.one);
  r.cuda.Record(r.events[1], r.one);
  const Nanos begin = Real::Now();
  r.cuda.Synchronize(r.events[0]);
  CHECK(Real::Now() - begin < 50 * kSecond);
  CHECK(r.cuda.IsDone(r.events[0]));
  CHECK(!r.cuda.IsDone(r.events[1]));
  CHECK_THROWS_AS(r.cuda.Elapsed(r.events[0], r.events[1]), DeviceError);
}

TEST_CASE("real time: what has ended is done without anybody waiting") {
  Real r;
  r.cuda.Spin(kMilli, r.one);
  r.cuda.Record(r.events[0], r.one);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  r.GiveBack();
  CHECK(r.cuda.leaks() == "");
  CHECK(r.cuda.violations().empty());
}

TEST_CASE("real time: a hold lasts until the flag is set, or runs out") {
  Real r;
  *r.flag = 0;
  r.cuda.Record(r.events[0], r.one);
  r.cuda.HoldUntil(r.flag, r.one);
  r.cuda.Record(r.events[1], r.one);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  *r.flag = 1;
  r.cuda.Synchronize(r.one);
  CHECK(r.cuda.Elapsed(r.events[0], r.events[1]) >= 5 * kMilli);
  CHECK(*r.flag == 1);
  *r.flag = 0;
  const Nanos begin = Real::Now();
  r.cuda.HoldUntil(r.flag, r.one);
  r.cuda.Synchronize(r.one);
  CHECK(*r.flag == kCudaHoldRanOut);
  CHECK(Real::Now() - begin >= kCudaLongestHold);
  r.GiveBack();
}

TEST_CASE("real time: a full queue makes the host wait") {
  StandInOptions options = RealTime();
  options.queue = 2;
  Real r(options);
  const Nanos begin = Real::Now();
  for (int k = 0; k < 4; ++k) r.cuda.Spin(5 * kMilli, r.one);
  CHECK(Real::Now() - begin >= 10 * kMillisecond);
  r.cuda.SynchronizeDevice();
  CHECK(Real::Now() - begin >= 20 * kMillisecond);
  r.GiveBack();
}

TEST_CASE("times with noise: drawn in order, of the spread asked for") {
  StandInOptions options;
  options.compute = false;
  options.noise = 0.1;
  const auto times = [&] {
    CudaStandIn cuda(options);
    CudaStream* const stream = cuda.MakeStream(false);
    const std::unique_ptr<CudaKernel> kernel = cuda.Prepare({});
    for (int k = 0; k < 1000; ++k) kernel->Run(stream, {});
    cuda.SynchronizeDevice();
    std::vector<double> logs;
    for (const CudaStandIn::Done& done : cuda.done()) logs.push_back(std::log((done.end - done.start) / 1000));
    return logs;
  };
  const std::vector<double> logs = times();
  CHECK(logs == times());
  double sum = 0, squares = 0;
  for (const double log : logs) {
    sum += log;
    squares += log * log;
  }
  CHECK(std::abs(sum / 1000) < 0.02);
  CHECK(std::sqrt(squares / 1000) == Approx(0.1).epsilon(0.1));
}

TEST_CASE("a sparse device has more memory than this machine, and keeps what goes in piece by piece") {
  StandInOptions options = RealTime();
  options.real_time = false;
  options.sparse = true;
  options.memory = 80 * kGB;
  options.pinned = 1000 * kGB;
  options.carried = kMiB;
  CudaStandIn cuda(options);
  CudaStream* const stream = cuda.MakeStream(false);
  constexpr Bytes kDevice = 70 * kGB, kHost = 500 * kGB;
  auto* const device = static_cast<std::byte*>(cuda.Malloc(kDevice));
  auto* const host = static_cast<std::byte*>(cuda.MallocHost(kHost));
  host[kHost - 1] = std::byte{5};
  cuda.Fill(device, 0xff, kDevice, stream);
  cuda.Copy(device + 99, host + kHost - 1, 1, Direction::kHostToDevice, stream);
  cuda.Synchronize(stream);
  cuda.CopyOnDevice(device + kDevice / 2, device, kDevice / 2, stream);
  cuda.Copy(host, device + kDevice / 2 + 98, 3, Direction::kDeviceToHost, stream);
  cuda.Synchronize(stream);
  CHECK(host[0] == std::byte{0xff});
  CHECK(host[1] == std::byte{5});
  CHECK(host[2] == std::byte{0xff});
  // Long copies take their time and carry nothing; what they reach is no longer empty.
  cuda.Copy(device, host, 2 * kMiB, Direction::kHostToDevice, stream);
  cuda.Synchronize(stream);
  cuda.Copy(host + 7, device, 1, Direction::kDeviceToHost, stream);
  cuda.Synchronize(stream);
  CHECK(host[7] == std::byte{0});
  cuda.Free(device);
  cuda.FreeHost(host);
  cuda.Destroy(stream);
  CHECK(cuda.leaks() == "");
  CHECK(cuda.violations().empty());
}

}  // namespace spillway
