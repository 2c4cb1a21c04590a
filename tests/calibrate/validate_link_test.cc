// The link measured through a device in virtual time.
#include <array>
#include <catch2/catch.hpp>

#include "calibrate/validate/link.h"
#include "tests/scripted_device.h"

namespace spillway {
namespace {

// In: 1000 ns and 2 bytes a nanosecond; out: 500 ns and 1 byte a nanosecond. Where copies go both ways at once, which is
// known by nothing waiting for anything, `slower` times as long.
ScriptedDevice::Times LinkTimes(double slower) {
  return [slower](const Program& program) {
    std::vector<Nanos> times(program.code.size(), 0);
    const bool both = program.events == 0;
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (program.code[i].opcode != Opcode::kCopy) continue;
      const Copy& copy = program.copies[program.code[i].arg];
      const Nanos alone = copy.direction == Direction::kHostToDevice ? 1000 + copy.bytes / 2 : 500 + copy.bytes;
      times[i] = both ? static_cast<Nanos>(static_cast<double>(alone) * slower) : alone;
    }
    return times;
  };
}

TEST_CASE("curves are what copies take") {
  ScriptedDevice device(LinkTimes(1));
  const LinkCurves found = MeasureLink(device, device, {.sizes = {1000, 100'000, 2'000'000}});
  using Points = std::vector<TransferCurve::Point>;
  CHECK(found.curves[0].points == Points{{1000, 1500}, {100'000, 51'000}, {2'000'000, 1'001'000}});
  CHECK(found.curves[1].points == Points{{1000, 1500}, {100'000, 100'500}, {2'000'000, 2'000'500}});
  CHECK(found.curves[0].source.kind == Source::Kind::kMeasured);
  CHECK(found.duplex_factor == std::array{1.0, 1.0});
  const MeasuredLink summary = found.Summary(3);
  CHECK(summary.stated_rate == 3);
  CHECK(summary.in_rate == 2);
  CHECK(summary.out_rate == 1);
  CHECK(summary.in_latency == 1500);
}

TEST_CASE("copies that slow each other down") {
  ScriptedDevice device(LinkTimes(1.25));
  for (const double factor : MeasureLink(device, device, {.sizes = {1000, 8'000'000}}).duplex_factor) {
    CHECK(factor == Approx(0.8).epsilon(0.001));
  }
}

TEST_CASE("a machine gets the curves, and its kernels the slowdown that belongs to the rate") {
  Machine machine = LoadMachine("v100-x86-pcie3");
  REQUIRE_FALSE(machine.links[0].curves[0].points.empty());
  ScriptedDevice device(LinkTimes(1.25));
  const LinkCurves found = MeasureLink(device, device, {.sizes = {1000, 8'000'000}});
  machine.devices[0].measured.resize(2);
  machine.devices[0].measured[0].copy_slowdown = 1.2;
  const Machine changed = WithMeasuredLink(machine, found, 3, 6);  // at 6 bytes per ns; now 2 in and 1 out, 1.5
  CHECK(changed.links[0].curves == found.curves);
  CHECK(changed.links[0].duplex_factor == found.duplex_factor);
  CHECK(changed.notes.back() ==
        "validate: link limited to 3 GB/s, curves measured then; slowdowns by copies scaled by 0.25");
  CHECK(changed.devices[0].measured[0].copy_slowdown == Approx(1.05));
  CHECK(changed.devices[0].measured[1].copy_slowdown == 1);
  CHECK(WithMeasuredLink(machine, found, 0, 0).devices[0].measured[0].copy_slowdown == 1.2);
}

TEST_CASE("a link that fails is the user's to know") {
  ScriptedDevice device(LinkTimes(1), {.injections = {{Injection::What::kNoHostMemory, 0}}});
  CHECK_THROWS_WITH(MeasureLink(device, device), Catch::StartsWith("measuring the link: "));
}

}  // namespace
}  // namespace spillway
