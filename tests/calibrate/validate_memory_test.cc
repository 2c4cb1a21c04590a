// What a session takes of the process, told apart from what is held around it.
#include <catch2/catch.hpp>
#include <fstream>

#include "calibrate/host/host_memory.h"
#include "calibrate/validate/memory.h"
#include "sim/execute/fake/device.h"

namespace spillway {
namespace {

// Memory that says what a test has it say.
class Told : public ProcessMemory {
 public:
  Bytes Resident() override { return resident; }
  Bytes Peak() override { return peak; }
  void StartPeak() override { peak = resident; }
  Bytes resident = 1000, peak = 9000;
};

// A device that does nothing but take memory.
class Taking : public FakeDevice {
 public:
  explicit Taking(Told& told) : told_(told) {}
  void Begin(const Session&) override { told_.resident += 500; }
  void BeginStep() override { told_.peak = told_.resident += 40; }
  void EndStep() override { told_.resident -= 40; }

 private:
  Told& told_;
};

TEST_CASE("what a session takes is the most while steps run, not what is held between them") {
  Told told;
  Taking device(told);
  SessionMemoryWatch watch(device, told);
  CHECK(watch.Growth() == -1);
  watch.Begin({});
  told.resident += 3000;  // values on their way in
  told.peak = told.resident;
  told.resident -= 3000;
  for (int step = 0; step < 2; ++step) {
    watch.BeginStep();
    watch.EndStep();
  }
  told.resident += 3000;  // results
  told.peak = told.resident;
  CHECK(watch.Growth() == 540);
}

TEST_CASE("a system that does not say is not guessed") {
  Told told;
  told.resident = -1;
  Taking device(told);
  SessionMemoryWatch watch(device, told);
  told.resident = 500;
  watch.BeginStep();
  watch.EndStep();
  CHECK(watch.Growth() == -1);
}

TEST_CASE("the process's own memory grows by what is written, and its peak stays") {
  OwnProcessMemory memory;
  const Bytes before = memory.Resident();
  REQUIRE(before > 0);
  memory.StartPeak();
  {
    const MappedMemory bytes(64 * kMiB);
    CHECK(memory.Resident() >= before + 60 * kMiB);
  }
  CHECK(memory.Resident() < before + 30 * kMiB);
  // Where the system lets nobody set the mark back, what is resident stands for it.
  const Bytes peak = memory.Peak();
  if (std::ofstream("/proc/self/clear_refs") << "5" << std::flush) {
    CHECK(peak >= before + 60 * kMiB);
  } else {
    CHECK(peak < before + 30 * kMiB);
  }
}

TEST_CASE("lines of /proc/self/status") {
  const std::string status = "Name:\tx\nVmHWM:\t   1234 kB\nVmRSS:\t    99 kB\nVmMany:\tmany kB\nVmEmpty:\n";
  CHECK(StatusBytes(status, "VmHWM") == 1234 * kKiB);
  CHECK(StatusBytes(status, "VmRSS") == 99 * kKiB);
  CHECK(StatusBytes(status, "Vm") == -1);
  CHECK(StatusBytes(status, "VmMany") == -1);
  CHECK(StatusBytes(status, "VmEmpty") == -1);
  CHECK(StatusBytes("", "VmRSS") == -1);
}

}  // namespace
}  // namespace spillway
