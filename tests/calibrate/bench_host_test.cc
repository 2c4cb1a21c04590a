// What host calls cost, on a device in virtual time.
#include <catch2/catch.hpp>

#include "calibrate/measure/host.h"
#include "sim/execute/execute.h"
#include "sim/execute/fake/device.h"
#include "sim/verify/verify.h"

namespace spillway {
namespace {

FakeOptions Costs() {
  FakeOptions fake;
  fake.host_cost[static_cast<std::size_t>(Opcode::kKernel)] = 70;
  fake.host_cost[static_cast<std::size_t>(Opcode::kCopy)] = 90;
  fake.host_cost[static_cast<std::size_t>(Opcode::kRecord)] = 20;
  fake.host_cost[static_cast<std::size_t>(Opcode::kWait)] = 30;
  fake.host_cost[static_cast<std::size_t>(Opcode::kHostSync)] = 500;
  return fake;
}

}  // namespace

TEST_CASE("the program of host calls is a legal one, but that nobody filled the memory that it copies") {
  for (const int rounds : {1, 2, 20}) {
    const Program program = HostCallProgram(rounds);
    for (const Violation& violation : Verify(program)) {
      INFO(violation.message);
      CHECK(violation.message.starts_with("contents"));
    }
    FakeDevice device(Costs());
    const ExecuteResult result = Execute(program, nullptr, device, device);
    CHECK((result.failure ? result.failure->message : "") == "");
  }
}

TEST_CASE("each call costs what the device takes for it") {
  FakeDevice device(Costs());
  const auto calls = MeasureHostCalls(device, device, 3, 5);
  CHECK(calls.at("kernel_launch").median == 70);
  CHECK(calls.at("copy_submit").median == 90);
  CHECK(calls.at("event_record").median == 20);
  CHECK(calls.at("stream_wait").median == 30);
  // Three steps, each with one before it to warm up, of five rounds of two kernels.
  CHECK(calls.at("kernel_launch").timings == 60);
}

TEST_CASE("a device that fails is told") {
  FakeOptions options = Costs();
  options.injections = {{Injection::What::kKernelFails, 3}};
  FakeDevice device(options);
  CHECK_THROWS_AS(MeasureHostCalls(device, device, 1, 5), DeviceError);
}

}  // namespace spillway
