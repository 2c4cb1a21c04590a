// Debug sessions of the CPU device: memory that holds nothing, and mistakes that show by it.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <ctime>

#include "calibrate/host/host_memory.h"
#include "tests/cpu/cpu_copies.h"
#include "tests/device_contract.h"

namespace spillway {
namespace {

TEST_CASE("the highest byte that changes is found, also when it is freed and filled again") {
  CopyCase c;
  const ExecuteResult result = c.Run(SwapProgram().program, {.arena_bytes = 5000, .debug = true});
  REQUIRE(Says(result) == "");
  CHECK(result.high_water == 768 + kBytes);
  CHECK(c.Run(SwapProgram().program, {.arena_bytes = 5000}).high_water == 0);
}

TEST_CASE("freed memory is NaN, that of residents is not") {
  CopyCase c;
  CpuDevice device({}, kClock);
  CheckNothingIsNan(device, c.step);
}

// SwapProgram without one of its waits, each copy taking 50 ms and everything 5 ms before.
ExecuteResult Without(CopyCase& c, std::uint32_t left_out) {
  Program program = SwapProgram().program;
  REQUIRE(program.code[left_out].opcode == Opcode::kWait);
  program.code.erase(program.code.begin() + left_out);
  return c.Run(program, {.iterations = 3, .debug = true}, {.link_rate = 2e-6, .before = [](Issue) {
                                                             timespec some{.tv_sec = 0, .tv_nsec = 5000000};
                                                             nanosleep(&some, nullptr);
                                                           }});
}

TEST_CASE("a copy before its data is computed reads nothing and is found out") {
  CopyCase c;
  const ExecuteResult result = Without(c, SwapProgram().wait_out);
  REQUIRE(result.failure.has_value());
  CHECK(result.failure->fault == Fault::kContents);
  CHECK(Says(result).find("y is read where it was never written or has been freed") != std::string::npos);
}

TEST_CASE("a kernel before its data is back reads nothing and is found out") {
  CopyCase c;
  const ExecuteResult result = Without(c, SwapProgram().wait_in);
  REQUIRE(result.failure.has_value());
  CHECK(result.failure->fault == Fault::kContents);
  CHECK(Says(result).find("kernel g") != std::string::npos);
}

TEST_CASE("addresses given out before they are free are found out") {
  CopyCase c;
  const SwapProgram s;
  Program program = s.program;
  program.buffers[s.again].offset = 512;  // where p lives
  ExecuteResult result = c.Run(program, {.debug = true});
  CHECK(Says(result).find("buffer 5 gets addresses that are still in use: byte 611") != std::string::npos);
  Program over_z = s.program;
  over_z.buffers[s.z].offset = 700;  // over y's second place, into which it is copied meanwhile
  result = c.Run(over_z, {.debug = true});
  REQUIRE(result.failure.has_value());
  CHECK(result.failure->fault == Fault::kContents);
  CHECK(Says(result).find("buffer 6 gets addresses that are still in use: byte 799") != std::string::npos);
}

TEST_CASE("parameters that become NaN are found out at the end of the step") {
  class Nan : public Counting {
   public:
    void Fill(int iteration, TensorId tensor, std::span<std::byte> bytes) override {
      Counting::Fill(iteration, tensor, bytes);
      const float number = NAN;
      if (tensor == CopyStep::in && iteration == 1) std::memcpy(bytes.data(), &number, sizeof(number));
    }
  } values;
  CopyCase c;
  CpuDevice device({}, kClock);
  const ExecuteResult result =
      Execute(SwapProgram().program, &c.step, device, kClock, {.iterations = 3, .debug = true, .values = &values});
  REQUIRE(result.failure.has_value());
  CHECK(result.failure->fault == Fault::kContents);
  CHECK(result.failure->iteration == 1);
  INFO(Says(result));
  CHECK(Says(result).find("p holds NaN after the step") != std::string::npos);
}

TEST_CASE("canary: fills, finds the last change, finds itself") {
  for (const Bytes offset : {0, 1, 2, 3, 6}) {
    for (const std::size_t size : {0, 1, 2, 3, 4, 5, 9, 64, 103}) {
      std::vector<std::byte> memory(size + 8, std::byte{1});
      const std::span<std::byte> inside = std::span(memory).subspan(4, size);
      FillCanary(inside, offset);
      CHECK(LastChange(inside, offset) == 0);
      CHECK(memory[3] == std::byte{1});
      CHECK(memory[4 + size] == std::byte{1});
      const std::size_t lead = static_cast<std::size_t>((4 - offset % 4) % 4);
      CHECK(HoldsCanary(inside, offset) == (size >= lead + 4));
      for (std::size_t at = 0; at < size; ++at) {
        FillCanary(inside, offset);
        inside[at] ^= std::byte{1};
        REQUIRE(LastChange(inside, offset) == static_cast<Bytes>(at) + 1);
      }
    }
  }
  float number = 0;
  std::memcpy(&number, &kCanary, sizeof(number));
  CHECK(std::isnan(number));
  std::uint32_t bits = 0;
  number += 1;
  std::memcpy(&bits, &number, sizeof(bits));
  CHECK(bits != kCanary);  // whatever is computed from it is another NaN
}

}  // namespace
}  // namespace spillway
