// Copies on the shipped machines: at the published rates, from the near and the far socket, of every kind of memory.
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "model/profile/machine.h"

using namespace spillway;

namespace {

// To the device, from it.
using Rates = std::array<double, 2>;

void CheckRates(const std::array<TransferCurve, 2>& curves, Bytes bytes, const Rates& expected, double tolerance) {
  for (std::size_t direction = 0; direction < 2; ++direction) {
    const double rate = static_cast<double>(bytes) / static_cast<double>(curves[direction].Time(bytes));
    CHECK(rate == Approx(expected[direction]).epsilon(tolerance));
  }
}

const OtherMemory& Other(const Link& link, OtherMemory::Kind kind) {
  INFO(link.name << ' ' << OtherMemoryName(kind));
  REQUIRE(link.FindOtherMemory(kind) != nullptr);
  return *link.FindOtherMemory(kind);
}

}  // namespace

TEST_CASE("three bricks are faster than two, and two faster than PCIe, at every size and in both directions") {
  const Machine pcie = LoadMachine("v100-x86-pcie3");
  const Machine two = LoadMachine("v100-power9-nvlink2-x2");
  const Machine three = LoadMachine("v100-power9-nvlink2-x3");
  for (std::size_t direction = 0; direction < 2; ++direction) {
    for (Bytes bytes = kMiB; bytes <= 8 * kGiB; bytes *= 2) {
      INFO(bytes);
      const Nanos middle = two.LinkOf(0).curves[direction].Time(bytes);
      CHECK(three.LinkOf(0).curves[direction].Time(bytes) < middle);
      CHECK(middle < pcie.LinkOf(0).curves[direction].Time(bytes));
    }
  }
}

TEST_CASE("large copies run at the published rates") {
  const std::map<std::string, std::vector<Rates>> expected = {{"v100-x86-pcie3", {{11.05, 12.43}}},
                                                              {"v100-pcie-x86-pcie3", {{11.05, 12.43}}},
                                                              {"v100-power9-nvlink2-x3", {{70.5, 70.5}, {41.4, 35.4}}},
                                                              {"p100-x86-pcie3", {{11.05, 12.42}, {11.04, 12.42}}},
                                                              {"p100-power8-nvlink1", {{31.9, 33.7}, {29.4, 21.8}}},
                                                              // bandwidthTest, 32 MiB: 12.18, 12.46
                                                              {"titanx-maxwell-x86-pcie3", {{12.2, 12.5}}},
                                                              // bandwidthTest, 1 GB
                                                              {"a100-pcie4", {{25.8, 25.7}}},
                                                              // 55.31 and 55.12 at 64 MiB, 10 us of which are latency
                                                              {"h100-sxm", {{55.7, 55.5}}}};
  for (const auto& [name, rates] : expected) {
    INFO(name);
    const Machine machine = LoadMachine(name);
    REQUIRE(machine.links.size() == rates.size());
    for (std::size_t i = 0; i < rates.size(); ++i) CheckRates(machine.links[i].curves, kGiB, rates[i], 0.01);
  }
  // IBM's figure for two bricks is one for copies to the device.
  const TransferCurve two = LoadMachine("v100-power9-nvlink2-x2").links[0].curves[0];
  CHECK(static_cast<double>(kGiB) / static_cast<double>(two.Time(kGiB)) == Approx(45.9).epsilon(0.01));
}

TEST_CASE("links from slow to fast, in both directions") {
  const std::vector<std::string> names = {"p100-x86-pcie3",        "titanx-maxwell-x86-pcie3", "a100-pcie4",
                                          "p100-power8-nvlink1",   "v100-power9-nvlink2-x2",   "h100-sxm",
                                          "v100-power9-nvlink2-x3"};
  for (std::size_t i = 1; i < names.size(); ++i) {
    INFO(names[i]);
    const Machine slow = LoadMachine(names[i - 1]), fast = LoadMachine(names[i]);
    for (std::size_t direction = 0; direction < 2; ++direction) {
      for (Bytes bytes = 64 * kMiB; bytes <= 8 * kGiB; bytes *= 2) {
        CHECK(fast.links[0].curves[direction].Time(bytes) < slow.links[0].curves[direction].Time(bytes));
      }
    }
  }
}

TEST_CASE("the far socket is slower than the near one over NVLink, and as fast over PCIe 3.0") {
  for (const auto& [name, slower] : std::map<std::string, bool>{
           {"v100-power9-nvlink2-x3", true}, {"p100-power8-nvlink1", true}, {"p100-x86-pcie3", false}}) {
    INFO(name);
    const Machine machine = LoadMachine(name);
    REQUIRE(machine.links.size() == 2);
    CHECK(machine.LinkOf(0).host == 0);
    CHECK(machine.links[1].host == 1);
    for (std::size_t direction = 0; direction < 2; ++direction) {
      const auto far = static_cast<double>(machine.links[1].curves[direction].Time(kGB));
      const auto near = static_cast<double>(machine.links[0].curves[direction].Time(kGB));
      CHECK(far / near > (slower ? 1.05 : 0.99));
      CHECK(far / near < (slower ? 2.1 : 1.01));
    }
  }
}

TEST_CASE("memory that is not pinned is slower, and unified memory slowest when it is fetched by page faults") {
  int links = 0;
  for (const std::string& name : ListMachines()) {
    const Machine machine = LoadMachine(name);
    for (const Link& link : machine.links) {
      if (link.other_memory.empty()) continue;
      ++links;
      INFO(name << ' ' << link.name);
      const OtherMemory& touch = Other(link, OtherMemory::Kind::kManagedTouch);
      CHECK_THAT(touch.note, Catch::Contains("Over-subscribed") && Catch::Contains("ssumed"));
      for (std::size_t direction = 0; direction < 2; ++direction) {
        const TransferCurve& prefetch = Other(link, OtherMemory::Kind::kManagedPrefetch).curves[direction];
        const TransferCurve& pageable = Other(link, OtherMemory::Kind::kPageable).curves[direction];
        for (Bytes bytes = kMiB; bytes <= 8 * kGiB; bytes *= 2) {
          INFO(bytes);
          CHECK(pageable.Time(bytes) > link.curves[direction].Time(bytes));
          if (bytes < 256 * kMiB) continue;  // some prefetches of less were faster than pinned copies
          CHECK(prefetch.Time(bytes) > link.curves[direction].Time(bytes));
          CHECK(touch.curves[direction].Time(bytes) > prefetch.Time(bytes));
        }
      }
    }
  }
  CHECK(links == 12);  // two on each POWER9 machine (of which one has two names), on POWER8 and on the P100's x86 host
}

TEST_CASE("copies of memory that is not pinned run at the published rates") {
  using Kind = OtherMemory::Kind;
  const Machine power9 = LoadMachine("v100-power9-nvlink2-x3");
  CheckRates(Other(power9.links[0], Kind::kPageable).curves, kGiB, {32.5, 13.6}, 0.03);
  CheckRates(Other(power9.links[1], Kind::kPageable).curves, kGiB, {30.8, 12.8}, 0.03);
  CheckRates(Other(power9.links[0], Kind::kManagedPrefetch).curves, 256 * kMiB, {54.5, 63.6}, 0.03);
  CheckRates(Other(power9.links[0], Kind::kManagedTouch).curves, 256 * kMiB, {19.7, 9.07}, 0.06);
  const Machine power8 = LoadMachine("p100-power8-nvlink1");
  CheckRates(Other(power8.links[0], Kind::kPageable).curves, 256 * kMiB, {12.3, 11.1}, 0.04);
  CheckRates(Other(power8.links[0], Kind::kManagedPrefetch).curves, 256 * kMiB, {31.0, 31.4}, 0.03);
  CheckRates(Other(power8.links[0], Kind::kManagedTouch).curves, 256 * kMiB, {25.3, 14.1}, 0.03);
  for (const char* name : {"p100-x86-pcie3", "v100-x86-pcie3"}) {
    const Machine x86 = LoadMachine(name);
    CheckRates(Other(x86.links[0], Kind::kPageable).curves, 256 * kMiB, {10.3, 9.86}, 0.03);
    CheckRates(Other(x86.links[0], Kind::kManagedPrefetch).curves, 256 * kMiB, {10.6, 12.2}, 0.03);
    CheckRates(Other(x86.links[0], Kind::kManagedTouch).curves, 256 * kMiB, {8.26, 4.40}, 0.03);
  }
}
