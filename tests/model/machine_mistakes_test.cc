// What is wrong with a profile, and where.
#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "hw/text/document.h"
#include "model/profile/machine.h"
#include "tests/small_profile.h"
#include "tests/text.h"
#include "tests/user_errors.h"

namespace spillway {
namespace {

struct BadProfile {
  const char* from;
  const char* to;
  const char* message;  // contained; with the line where it matters
};

TEST_CASE("every wrong figure of a profile is refused") {
  const BadProfile cases[] = {
      {"name: small\n", "", "missing key 'name' in machine profile"},
      {"software: none\n", "", "missing key 'software'"},
      {"software: none", "software: none\nnoets: []",
       "small.yaml:4:1: error: unknown key 'noets' in machine profile; did you mean 'notes'?"},
      {"    memory: 100 GB", "    memory: 100", "small.yaml:6:13: error: memory: '100' has no unit"},
      {"    memory: 100 GB", "    memory: 0 GB", "small.yaml:6:13: error: memory: must be more than zero"},
      {"    memory: 100 GB\n", "    memory: 100 GB\n    pinned_limit: 200 GB\n",
       "pinned_limit: exceeds the memory of the host"},
      {"    memory: 100 GB\n", "    memory: 1 PB\n    pinned_limit: 1 TB\n", "memory: unknown unit 'PB'"},
      {"    memory: 100 GB\n    source: {assumed: test}\n", "    memory: 100 GB\n",
       "missing key 'source' in host 'ram'"},
      {"{published: sheet}", "{published: sheet, guess: x}", "unknown key 'guess' in source"},
      {"{published: sheet}", "{published: sheet, assumed: too}",
       "expected exactly one of measured, published, assumed"},
      {"{published: sheet}", "{published: }", "expected exactly one of measured, published, assumed"},
      {"{published: sheet}", "sheet", "source: expected a map"},
      {"10 TFLOP/s", "0 TFLOP/s", "peak: must be more than zero"},
      {"10 TFLOP/s", "10 TFLOPS", "peak: unknown unit 'TFLOPS'"},
      {"500 GB/s", "0 GB/s", "memory_bandwidth: must be more than zero"},
      {"multiprocessors: 80", "multiprocessors: 0", "multiprocessors: expected a whole number from 1 to 10000"},
      {"total: 16 GiB", "total: 0 B", "total: must be more than zero"},
      {"reserve: 1 GiB", "reserve: 16 GiB", "reserve: leaves nothing of the total memory"},
      {"pool_fraction: 0.9", "pool_fraction: 0", "pool_fraction: must be more than zero"},
      {"pool_fraction: 0.9", "pool_fraction: 1.1", "pool_fraction: expected a number from 0 to 1"},
      {"      sync: 10 us\n", "", "missing key 'sync' in host costs of device 'gpu'"},
      {"sync: 10 us", "sync: -1 us", "sync: expected a duration"},
      {"flop_fraction: 0.8", "flop_fraction: 5.1", "flop_fraction: expected a number from 0 to 5"},
      {"bandwidth_fraction: 0.7", "bandwidth_fraction: -0.1", "bandwidth_fraction: expected a number from 0 to 5"},
      {"bandwidth_fraction: 0.9, fixed: 3 us", "bandwidth_fraction: 0", "nothing in this law takes time"},
      {"copy_slowdown: 1.1", "copy_slowdown: 0.9", "copy_slowdown: expected a number from 1 to 10"},
      {"error: 0.2", "error: -1", "error: expected a number from 0 to 10"},
      {"op: relu, pass: forward", "op: convolution, pass: forward, window: 3x3",
       "small.yaml:24:9: error: a second law for convolution forward 3x3"},
      {"  - name: ram\n", "  - 3\n  - name: ram\n",
       "small.yaml:5:5: error: host: expected a map, found a single value"},
      {"points: [[1 KiB, 10 us], [1 MB, 110 us], [10 MB, 910 us]]", "points: 3",
       "expected a list, one entry for each point"},
      {"host: ram", "host: rom", "small.yaml:28:11: error: host: no host is called 'rom'; did you mean 'ram'?"},
      {"device: gpu", "device: tpu1", "device: no device is called 'tpu1'"},
      {"[1 MB, 110 us], [10 MB", "[10 MB, 110 us], [10 MB", "points: sizes must increase"},
      {"[1 MB, 110 us], [10 MB, 910 us]", "[1 MB, 9 us], [10 MB, 910 us]",
       "points: a larger copy cannot take less time"},
      {"[10 MB, 910 us]", "[10 MB, 110 us]", "the last interval gives the rate of larger copies"},
      {"[1 MB, 110 us], [10 MB, 910 us]", "[1 MB, 110]", "expected a point [size, time]"},
      {", [1 MB, 110 us], [10 MB, 910 us]", "", "expected at least 2 points"},
      {"duplex: {factor: 0.85", "duplex: {factor: 0.04", "factor: expected a number from 0.1 to 1"},
      {"duplex: {factor: 0.85", "duplex: {factor: 1.01", "factor: expected a number from 0.1 to 1"},
      {"duplex: {factor: 0.85", "duplex: {host_to_device: 0.85",
       "duplex of link 'bus': expected 'factor', or both 'host_to_device' and 'device_to_host'"},
      {"duplex: {factor: 0.85", "duplex: {host_to_device: 0.5, device_to_host: 2",
       "device_to_host: expected a number from 0.1 to 1"},
      {"duplex: {factor: 0.85", "duplex: {factor: 0.85, host_to_device: 0.5, device_to_host: 0.9",
       "factor: it is that of both directions; leave it out, or the keys of each"},
      {"    duplex: {factor: 0.85, source: {assumed: d}}\n", "", "missing key 'duplex' in link 'bus'"},
  };
  for (const BadProfile& c : cases) {
    const std::vector<std::string> messages = ErrorsOfProfile(With(c.from, c.to));
    REQUIRE_FALSE(messages.empty());
    INFO(c.to << "\n" << messages[0]);
    CHECK(messages.size() == 1);  // one mistake, one message
    CHECK(Contains(messages[0], c.message));
  }
}

TEST_CASE("a machine without a link is refused") {
  const std::string no_links = kSmall.substr(0, kSmall.find("links:"));
  REQUIRE(Contains(ErrorOf([&] { ParseMachine(no_links, "m.yaml"); }), "missing key 'links' in machine profile"));
  REQUIRE(Contains(ErrorOf([&] { ParseMachine(no_links + "links: []\n", "m.yaml"); }),
                   "m.yaml:26:8: error: expected at least 1 link"));
  Machine machine = ParseMachine(kSmall, "small.yaml");
  machine.devices.push_back(machine.devices[0]);
  machine.devices[1].name = "lonely";
  REQUIRE(Contains(ErrorOf([&] { ParseMachine(MachineToYaml(machine), "m.yaml"); }), "device 'lonely' has no link"));
  machine.devices[1].name = "gpu";
  REQUIRE(Contains(ErrorOf([&] { ParseMachine(MachineToYaml(machine), "m.yaml"); }), "a second entry is called 'gpu'"));
}

TEST_CASE("all mistakes of a profile are reported at once, in order") {
  std::string text = With("memory: 100 GB", "memory: 100");
  for (const auto& [from, to] : {std::pair{"80", "eighty"}, std::pair{"0.85", "2"}, std::pair{"software", "sofware"}}) {
    text.replace(text.find(from), std::string(from).size(), to);
  }
  try {
    ParseMachine(text, "m.yaml");
    FAIL("nothing was thrown");
  } catch (const UserError& error) {
    REQUIRE(error.messages().size() == 5);
    REQUIRE(Contains(error.messages()[0], "m.yaml:1:1: error: missing key 'software'"));
    REQUIRE(Contains(error.messages()[1], "m.yaml:3:1: error: unknown key 'sofware'"));
    REQUIRE(Contains(error.messages()[2], "m.yaml:6:13: error: memory:"));
    REQUIRE(Contains(error.messages()[3], "m.yaml:10:78: error: multiprocessors:"));
    REQUIRE(Contains(error.messages()[4], "m.yaml:32:22: error: factor:"));
  }
}

}  // namespace
}  // namespace spillway
