// Values that are brought again and again are kept on the device, where nobody sees it: not a plan, not a figure.
#include <algorithm>
#include <numeric>

#include "calibrate/devices/cuda/device.h"
#include "tests/cuda/cuda_copies.h"

namespace spillway {
namespace {

// As Counting, with names.
struct Named : Counting {
  std::uint64_t Identity(int iteration, TensorId tensor) const override {
    return 1 + static_cast<std::uint64_t>(tensor) + 100 * static_cast<std::uint64_t>(iteration);
  }
};

// A GPU with room; kernels copy, so that what was brought shows in what comes out.
StandInOptions Roomy() {
  StandInOptions options = Plain();
  options.memory = 4 * kGiB;
  return options;
}

struct Sessions {
  explicit Sessions(StandInOptions options = Roomy()) : cuda(std::move(options)) {}
  ~Sessions() { CHECK(Wrong(cuda) == ""); }

  ExecuteResult Run(CudaDevice& device, ExecuteOptions options = {}) {
    cuda.ForgetDone();
    options.values = &values;
    return Execute(program, &copies.step, device, cuda, options);
  }
  // Of the last session: copies to the device that begin where the pinned memory of a buffer does not.
  Bytes Copied(CudaStandIn::Work work, Direction direction) const {
    return std::accumulate(cuda.done().begin(), cuda.done().end(), Bytes{0}, [&](Bytes sum, const auto& done) {
      return sum + (done.work == work && done.direction == direction ? done.bytes : 0);
    });
  }
  Bytes Up() const { return Copied(CudaStandIn::Work::kCopy, Direction::kHostToDevice); }

  CudaStandIn cuda;
  CudaCopies copies;
  Named values;
  Program program = SwapProgram().program;
};

TEST_CASE("the second timed session is brought what is kept, and comes to the same") {
  Sessions s;
  {
    CudaDevice device({}, s.cuda, s.cuda);
    REQUIRE(Says(s.Run(device, {.iterations = 3})) == "");
    const Bytes first = s.Up();
    CHECK(s.values.result == Input(2));
    for (int again = 0; again < 3; ++again) {
      s.values.result.clear();
      REQUIRE(Says(s.Run(device, {.iterations = 3})) == "");
      CHECK(s.Up() == first - kBytes);  // the parameter; the batch goes up from its host buffer, in the step
      CHECK(s.values.result == Input(2));
    }
    CHECK(s.cuda.leaks().find("2 allocations") != std::string::npos);  // pinned memory, and the copy
  }
}

TEST_CASE("debug sessions, in which memory is measured, have nothing beside them") {
  Sessions s;
  CudaDevice device({}, s.cuda, s.cuda);
  const ExecuteOptions debug{.arena_bytes = 5000, .debug = true};
  REQUIRE(Says(s.Run(device, debug)) == "");
  const Bytes alone = device.memory().highest;
  REQUIRE(Says(s.Run(device, {.arena_bytes = 5000})) == "");
  const Bytes timed = device.memory().highest;
  CHECK(timed == alone);  // what is kept is nobody's use of memory
  REQUIRE(Says(s.Run(device, {.arena_bytes = 5000})) == "");
  CHECK(device.memory().highest == alone);
  const auto on_device = [&s] {
    return std::count_if(s.cuda.allocations().begin(), s.cuda.allocations().end(),
                         [](const auto& allocation) { return allocation.second.device; });
  };
  CHECK(on_device() == 1);
  REQUIRE(Says(s.Run(device, debug)) == "");
  CHECK(device.memory().highest == alone);
  CHECK(on_device() == 0);
}

TEST_CASE("nothing is kept where it would leave too little, and it goes where an arena wants the room") {
  StandInOptions options = Plain();
  options.memory = CudaKeptValues::kSpare + 64 * kMiB;  // little beside: arenas are filled
  Sessions s(options);
  CudaDevice device({}, s.cuda, s.cuda);
  const Bytes all = options.memory, spare = CudaKeptValues::kSpare;
  const auto kept = [&s] { return s.cuda.leaks().find("2 allocations") != std::string::npos; };
  REQUIRE(Says(s.Run(device, {.arena_bytes = all - spare})) == "");
  CHECK_FALSE(kept());
  REQUIRE(Says(s.Run(device, {.arena_bytes = all - spare - kBytes})) == "");
  CHECK(kept());
  REQUIRE(Says(s.Run(device, {.arena_bytes = all - spare})) == "");  // what there is has to go
  CHECK_FALSE(kept());
  REQUIRE(Says(s.Run(device, {.arena_bytes = all})) == "");
  CHECK_FALSE(kept());
  device.Forget();
}

TEST_CASE("a device that has no room in one piece does without") {
  StandInOptions options = Roomy();
  options.fault = {StandInFault::What::kMalloc, 1};  // the arena is the first
  Sessions s(options);
  CudaDevice device({}, s.cuda, s.cuda);
  CHECK(Says(s.Run(device)) == "");
  const Bytes first = s.Up();
  CHECK(Says(s.Run(device)) == "");
  CHECK(s.Up() == first);
  CHECK(Says(s.Run(device)) == "");
  CHECK(s.Up() == first - kBytes);
}

TEST_CASE("an arena that finds no room gets that of the copies; of a session that failed nothing is kept") {
  {
    StandInOptions options = Roomy();
    options.fault = {StandInFault::What::kMalloc, 2};  // the second session's arena
    Sessions s(options);
    CudaDevice device({}, s.cuda, s.cuda);
    CHECK(Says(s.Run(device)) == "");
    const Bytes first = s.Up();
    CHECK(Says(s.Run(device)) == "");
    CHECK(s.Up() == first);
  }
  StandInOptions options = Roomy();
  options.fault = {StandInFault::What::kLaunch, 1};
  Sessions s(options);
  CudaDevice device({}, s.cuda, s.cuda);
  CHECK(Says(s.Run(device)) != "");
  CHECK(Says(s.Run(device)) == "");
  CHECK(s.values.result == Input(0));
}

TEST_CASE("values without a name are brought each time") {
  Sessions s;
  CudaDevice device({}, s.cuda, s.cuda);
  Counting unnamed;
  const ExecuteOptions options{.values = &unnamed};
  for (int k = 0; k < 2; ++k) {
    s.cuda.ForgetDone();
    CHECK(Says(Execute(s.program, &s.copies.step, device, s.cuda, options)) == "");
    CHECK(s.Up() == 2 * kBytes + kBytes);
  }
}

}  // namespace
}  // namespace spillway
