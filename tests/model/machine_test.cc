#include "model/profile/machine.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "hw/text/document.h"
#include "tests/profile_text.h"
#include "tests/small_profile.h"
#include "tests/user_errors.h"

namespace spillway {
namespace {

TEST_CASE("a profile is read") {
  const Machine machine = ParseMachine(kSmall, "small.yaml");
  REQUIRE(machine.name == "small");
  REQUIRE(machine.notes.empty());
  REQUIRE(machine.hosts.at(0).memory == 100 * kGB);
  REQUIRE(machine.hosts.at(0).pinned_limit == 100 * kGB);  // by default all of it
  const Device& device = machine.devices.at(0);
  REQUIRE(device.peak_flops == 10000);
  REQUIRE(device.memory_bandwidth == 500);
  REQUIRE(device.multiprocessors == 80);
  REQUIRE(device.total_memory == 16 * kGiB);
  REQUIRE(device.reserve == kGiB);
  REQUIRE(device.source == Source{Source::Kind::kPublished, "sheet"});
  REQUIRE(device.memory_source == Source{Source::Kind::kMeasured, "driver 1, 2020-01-01"});
  REQUIRE(device.host_costs.kernel_launch == 5000);
  REQUIRE(device.host_costs.copy_submit == 4000);
  REQUIRE(device.host_costs.event_record == 1000);
  REQUIRE(device.host_costs.stream_wait == 2000);
  REQUIRE(device.host_costs.pool_alloc == 300);
  REQUIRE(device.host_costs.pool_free == 200);
  REQUIRE(device.host_costs.sync == 10000);
  REQUIRE(device.laws.size() == 2);
  REQUIRE(
      device.laws[0] ==
      CostLaw{OpKind::kConvolution, Pass::kForward, "3x3", 0.8, 0.7, 0, 0, 0.3, 1.0, {Source::Kind::kAssumed, "l1"}});
  REQUIRE(device.laws[1] ==
          CostLaw{OpKind::kRelu, Pass::kForward, "", 0, 0.9, 3000, kMiB, 0.2, 1.1, {Source::Kind::kAssumed, "l2"}});
  const Link& link = machine.links.at(0);
  REQUIRE(link.host == 0);
  REQUIRE(link.device == 0);
  REQUIRE(link.curves[0].points.size() == 3);
  REQUIRE(link.curves[0].error == 0.1);
  REQUIRE(link.curves[1].points.at(1) == TransferCurve::Point{kMB, 110'000});
  REQUIRE(link.curves[1].error == 0.05);
  REQUIRE(link.curves[1].source.text == "d2h");
  REQUIRE(link.duplex_factor == std::array{0.85, 0.85});
}

TEST_CASE("copies by another host's curves have a host's error, measured ones none") {
  CHECK(ParseMachine(kSmall, "small.yaml").links[0].host_error == kOtherHostError);
  CHECK(ParseMachine(With("    duplex:", "    host_error: 0.02\n    duplex:"), "small.yaml").links[0].host_error ==
        0.02);
  Link link;
  for (TransferCurve& curve : link.curves) curve.source.kind = Source::Kind::kMeasured;
  CHECK(UsualHostError(link) == 0);
  link.curves[1].source.kind = Source::Kind::kPublished;
  CHECK(UsualHostError(link) == kOtherHostError);
}

// kSmall with this under `other_memory` of its link.
std::string WithOtherMemory(const std::string& items) {
  return With("    duplex:", "    other_memory:\n" + items + "    duplex:");
}

// An item of that list, beginning with `head`.
std::string OtherMemoryItem(const std::string& head) {
  return "      - " + head +
         "\n        host_to_device: {points: [[1 KiB, 20 us], [1 MB, 400 us]], source: {assumed: p1}}\n"
         "        device_to_host: {points: [[1 KiB, 30 us], [1 MB, 500 us]], error: 0.2, source: {assumed: p2}}\n";
}

TEST_CASE("other kinds of host memory have curves of their own, where they are known") {
  const Machine machine =
      ParseMachine(WithOtherMemory(OtherMemoryItem("kind: managed_touch\n        note: \"no: eviction\"") +
                                   OtherMemoryItem("kind: pageable")),
                   "small.yaml");
  const Link& link = machine.links.at(0);
  REQUIRE(link.other_memory.size() == 2);
  const OtherMemory* const touch = link.FindOtherMemory(OtherMemory::Kind::kManagedTouch);
  const OtherMemory* const pageable = link.FindOtherMemory(OtherMemory::Kind::kPageable);
  CHECK(touch == &link.other_memory[0]);
  CHECK(touch->note == "no: eviction");
  REQUIRE(pageable == &link.other_memory[1]);
  CHECK(pageable->note.empty());
  CHECK(pageable->curves[0].points.at(1) == TransferCurve::Point{kMB, 400'000});
  CHECK(pageable->curves[1].error == 0.2);
  CHECK(link.FindOtherMemory(OtherMemory::Kind::kManagedPrefetch) == nullptr);
  CHECK(link.curves[0].points.at(1) == TransferCurve::Point{kMB, 110'000});  // pinned memory as before
  CHECK(ParseMachine(MachineToYaml(machine), "again.yaml") == machine);
  CHECK(ParseMachine(kSmall, "small.yaml").links.at(0).other_memory.empty());
}

TEST_CASE("kinds of host memory have names") {
  REQUIRE(OtherMemoryNames().size() == 3);
  CHECK(std::string(OtherMemoryName(OtherMemory::Kind::kPageable)) == "pageable");
  CHECK(std::string(OtherMemoryName(OtherMemory::Kind::kManagedPrefetch)) == "managed_prefetch");
  CHECK(std::string(OtherMemoryName(OtherMemory::Kind::kManagedTouch)) == "managed_touch");
}

TEST_CASE("mistakes in other kinds of host memory are refused") {
  const auto errors = [](const std::string& items) {
    return ErrorOf([&] { ParseMachine(WithOtherMemory(items), "small.yaml"); });
  };
  CHECK_THAT(errors("      - {kind: pageable}\n"),
             Catch::Contains("missing key 'device_to_host' in other_memory of link 'bus'"));
  CHECK_THAT(errors("      - {host_to_devise: 1}\n"),
             Catch::Contains("missing key 'kind'") && Catch::Contains("did you mean 'host_to_device'?"));
  CHECK_THAT(errors("      - {kind: pageable, host_to_device: {points: [[1 MB, 1 us]]}}\n"),
             Catch::Contains("expected at least 2 points"));
  CHECK_THAT(errors(OtherMemoryItem("kind: pagable")),
             Catch::Contains("small.yaml:33:15: error: kind:") && Catch::Contains("did you mean 'pageable'?"));
  CHECK_THAT(errors(OtherMemoryItem("kind: pageable") + OtherMemoryItem("kind: pageable")),
             Catch::Contains("small.yaml:36:15: error: a second entry for pageable memory"));
  CHECK_THAT(errors("      3\n"), Catch::Contains("expected a list, one entry for each kind of memory"));
  CHECK_THAT(ErrorOf([] { ParseMachine(With("    duplex:", "    pageable: {}\n    duplex:"), "small.yaml"); }),
             Catch::Contains("unknown key 'pageable' in link 'bus'"));
}

TEST_CASE("usable memory is the pool's share in steps of 512 bytes") {
  Device device;
  device.total_memory = 11'000;
  device.reserve = 1'000;
  REQUIRE(device.UsableMemory() == 9'728);  // 10 000 = 19 x 512 + 272
  device.pool_fraction = 0.5;
  REQUIRE(device.UsableMemory() == 4'608);  // 5 000 = 9 x 512 + 392
}

TEST_CASE("a transfer curve is linear between its points") {
  const TransferCurve curve{{{1000, 10'000}, {2000, 11'000}, {12'000, 13'000}}, 0.1, {}};
  REQUIRE(curve.Time(0) == 10'000);  // never faster than its latency
  REQUIRE(curve.Time(1000) == 10'000);
  REQUIRE(curve.Time(1500) == 10'500);  // halfway
  REQUIRE(curve.Time(2000) == 11'000);
  REQUIRE(curve.Time(7000) == 12'000);
  REQUIRE(curve.Time(12'000) == 13'000);
  REQUIRE(curve.Time(22'000) == 15'000);  // on at 5 bytes per ns
  REQUIRE(curve.Time(2003) == 11'001);    // 11 000.6 rounded
}

TEST_CASE("a transfer curve never decreases, nor overflows") {
  const TransferCurve curve{{{3, 7}, {10, 7}, {1'000'003, 333'337}, {7'000'001, 1'999'999}}, 0.1, {}};
  Nanos before = 0;
  for (Bytes bytes = 0; bytes < 8'000'000; bytes += 13) {
    const Nanos time = curve.Time(bytes);
    REQUIRE(time >= before);
    before = time;
  }
  const TransferCurve slow{{{1, 1}, {2, 1'000'000'000}}, 0.1, {}};
  REQUIRE(slow.Time(9'000'000'000'000'000'000) == 1'000'000'000'000'000'000);
}

TEST_CASE("the unit machine: one byte per nanosecond and nothing else") {
  const Machine unit = LoadMachine("unit");
  const Device& device = unit.devices.at(0);
  REQUIRE(device.peak_flops == 1);
  REQUIRE(device.memory_bandwidth == 1);
  REQUIRE(device.host_costs == HostCosts{0, 0, 0, 0, 0, 0, 0, {Source::Kind::kAssumed, "definition"}});
  REQUIRE(device.laws.empty());
  REQUIRE(device.total_memory == 1'000'000'000'000);
  REQUIRE(device.UsableMemory() == 1'000'000'000'000);  // a multiple of 512 as it is
  REQUIRE(unit.hosts.at(0).memory == 1'000'000'000'000);
  const Link& link = unit.LinkOf(0);
  REQUIRE(link.duplex_factor == std::array{1.0, 1.0});
  for (const TransferCurve& curve : link.curves) {
    REQUIRE(curve.error == 0);
    for (const Bytes bytes :
         {1LL, 2LL, 3LL, 512LL, 999'999'999LL, 1'000'000'000LL, 1'000'000'001LL, 123'456'789'012LL}) {
      REQUIRE(curve.Time(bytes) == bytes);
    }
  }
}

TEST_CASE("every shipped profile loads under the name of its file and survives printing") {
  const std::vector<std::string> names = ListMachines();
  REQUIRE(std::is_sorted(names.begin(), names.end()));
  REQUIRE(std::find(names.begin(), names.end(), "unit") != names.end());
  for (const std::string& name : names) {
    INFO(name);
    const Machine machine = LoadMachine(name);
    CHECK(machine.name == name);
    CHECK(ParseMachine(MachineToYaml(machine), name + ".yaml") == machine);
  }
}

TEST_CASE("a printed profile loads as the same machine") {
  Machine machine = ParseMachine(kSmall, "small.yaml");
  machine.notes = {"quote \" backslash \\ colon: # hash", "line\nbreak\ttab", "- ~ ü", "'"};
  machine.description = "yes";
  machine.devices[0].peak_flops = 15700.1;  // no short binary fraction
  machine.devices[0].pool_fraction = 1.0 / 3;
  machine.devices[0].laws[0].fixed = 1234567;
  machine.hosts[0].pinned_limit = 12345678901;
  Machine two = machine;  // several of each
  two.hosts.push_back({"ram2", kGB, kMB, {Source::Kind::kMeasured, "m"}});
  two.devices.push_back(two.devices[0]);
  two.devices[1].name = "gpu2";
  two.devices[1].laws.clear();
  two.links.push_back(two.links[0]);
  two.links[1].name = "bus2";
  two.links[1].host = 1;
  two.links[1].device = 1;
  for (const Machine& m : {machine, two}) Reread(m);
  REQUIRE(two.LinkOf(1).name == "bus2");
}

TEST_CASE("kinds of source have names") {
  REQUIRE(std::string(SourceKindName(Source::Kind::kMeasured)) == "measured");
  REQUIRE(std::string(SourceKindName(Source::Kind::kPublished)) == "published");
  REQUIRE(std::string(SourceKindName(Source::Kind::kAssumed)) == "assumed");
}

}  // namespace
}  // namespace spillway
