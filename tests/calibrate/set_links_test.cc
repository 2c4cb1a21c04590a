// Measured transfers become the links of a profile.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>

#include "calibrate/fit/profile.h"

using namespace spillway;

namespace {

TransferCurve Curve(Nanos last) {
  return {{{1000, 1000}, {1'000'000, last}}, 0.07, {Source::Kind::kMeasured, "samples"}};
}

FittedLink Fitted(const std::string& host, const std::string& link, Nanos last) {
  FittedLink fitted;
  fitted.device = "gpu";
  fitted.host = host;
  fitted.link = link;
  fitted.kinds["pinned"] = {FittedCurve{Curve(last)}, FittedCurve{Curve(last + 10)}};
  fitted.duplex.fill({0.75, 0.7, 0.8, 4, {Source::Kind::kMeasured, "both ways"}});
  return fitted;
}

// Two links: to the nearest host node and to another.
Machine TwoLinks() {
  Machine machine = LoadMachine("unit");
  machine.hosts.push_back(machine.hosts[0]);
  machine.hosts[1].name = "host1";
  machine.links.push_back(machine.links[0]);
  machine.links[1].name = "gpu0-host1";
  machine.links[1].host = 1;
  return machine;
}

const CopyPlace kPlace = {"host", "gpu"};

int SetFrom(const TransferFit& fit, const CopyPlace& place, Machine* machine) {
  return SetLinks(fit, {.curves = place}, machine);
}

}  // namespace

TEST_CASE("hosts with a device are listed once, in order") {
  TransferFit fit;
  fit.links = {Fitted("zeta", "local", 1), Fitted("zeta", "remote", 1), Fitted("alpha", "local", 1)};
  fit.links.push_back(fit.links[0]);
  fit.links[3].device = "other gpu";
  CHECK(PlacesOf(fit) == std::vector<CopyPlace>{{"zeta", "gpu"}, {"alpha", "gpu"}, {"zeta", "other gpu"}});
  CHECK(PlacesOf({}).empty());
}

TEST_CASE("local copies make the first link, remote ones the second") {
  TransferFit fit;
  fit.links = {Fitted("other", "local", 7000), Fitted("host", "remote", 300'000), Fitted("host", "local", 100'000)};
  const Machine before = TwoLinks();
  Machine machine = before;
  CHECK(SetFrom(fit, kPlace, &machine) == 2);
  CHECK(machine.links[0].curves[0] == Curve(100'000));
  CHECK(machine.links[0].curves[1] == Curve(100'010));
  CHECK(machine.links[1].curves[0] == Curve(300'000));
  CHECK(machine.links[1].curves[1] == Curve(300'010));
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(machine.links[i].duplex_factor == std::array{0.75, 0.75});
    CHECK(machine.links[i].duplex_source.text == "both ways");
    CHECK(machine.links[i].name == before.links[i].name);
    CHECK(machine.links[i].host == before.links[i].host);
  }
}

TEST_CASE("links without samples of their own stay as they were") {
  TransferFit fit;
  fit.links = {Fitted("host", "remote", 300'000)};
  const Machine before = TwoLinks();
  Machine machine = before;
  CHECK(SetFrom(fit, {"nowhere", "gpu"}, &machine) == 0);
  CHECK(machine == before);
  CHECK(SetFrom(fit, kPlace, &machine) == 1);
  CHECK(machine.links[0] == before.links[0]);
  CHECK(machine.links[1].curves[0] == Curve(300'000));
  // A machine with one link has no use for the second.
  Machine one = LoadMachine("unit");
  CHECK(SetFrom(fit, kPlace, &one) == 0);
  CHECK(one == LoadMachine("unit"));
}

TEST_CASE("copies in one direction only make no link") {
  TransferFit fit;
  fit.links = {Fitted("host", "local", 100'000)};
  fit.links[0].kinds["pinned"][1].reset();
  Machine machine = TwoLinks();
  CHECK(SetFrom(fit, kPlace, &machine) == 0);
  CHECK(machine == TwoLinks());
}

TEST_CASE("links are set from samples of copies") {
  std::vector<Sample> samples;
  for (const char* link : {"local", "remote"}) {
    for (const char* direction : {"h2d", "d2h"}) {
      for (Bytes bytes = 1 << 12; bytes <= 1 << 28; bytes *= 4) {
        Sample s;
        s.what = SampleKind::kCopy;
        s.device = "gpu";
        s.host = "host";
        s.link = link;
        s.direction = direction;
        s.kind = "pinned";
        s.bytes = bytes;
        // 10 us and 10 or 5 B/ns.
        s.microseconds = 10 + static_cast<double>(bytes) / (link == std::string("local") ? 10e3 : 5e3);
        samples.push_back(s);
      }
    }
  }
  Machine machine = TwoLinks();
  REQUIRE(SetFrom(FitTransfers(samples), kPlace, &machine) == 2);
  for (const TransferCurve& curve : machine.links[0].curves) {
    CHECK(static_cast<double>(curve.Time(100'000'000)) == Approx(10'010'000).epsilon(0.02));
  }
  for (const TransferCurve& curve : machine.links[1].curves) {
    CHECK(static_cast<double>(curve.Time(100'000'000)) == Approx(20'010'000).epsilon(0.02));
  }
}

TEST_CASE("the device of a host is chosen, and a link by its own name before its place") {
  TransferFit fit;
  fit.links = {Fitted("host", "local", 100'000), Fitted("host", "local", 200'000),
               Fitted("host", "gpu0-host0", 300'000)};
  fit.links[1].device = "other gpu";
  Machine machine = LoadMachine("unit");
  CHECK(SetFrom(fit, {"host", "other gpu"}, &machine) == 1);
  CHECK(machine.links[0].curves[0].points == Curve(200'000).points);
  CHECK(SetFrom(fit, kPlace, &machine) == 1);
  CHECK(machine.links[0].curves[0].points == Curve(300'000).points);
  CHECK(SetFrom(fit, {"other host", "gpu"}, &machine) == 0);
}

TEST_CASE("what was measured with another device is assumed, and says of which") {
  TransferFit fit;
  fit.links = {Fitted("host", "local", 100'000)};
  Machine machine = LoadMachine("unit");
  CHECK(SetLinks(fit, {.curves = kPlace, .other_device = true}, &machine) == 1);
  for (const TransferCurve& curve : machine.links[0].curves) {
    CHECK(curve.points.front().time == 1000);
    CHECK(curve.error == 0.07);
    CHECK(curve.source == Source{Source::Kind::kAssumed, "as with gpu: samples"});
  }
  CHECK(machine.links[0].duplex_source == Source{Source::Kind::kAssumed, "as with gpu: both ways"});
}

TEST_CASE("published curves are of another specimen, managed memory of another device surer still to differ") {
  TransferFit fit;
  fit.links = {Fitted("host", "local", 100'000)};
  fit.links[0].kinds["managed_prefetch"] = fit.links[0].kinds["pinned"];
  for (auto& [kind, curves] : fit.links[0].kinds) {
    for (auto& curve : curves) curve->curve.source.kind = Source::Kind::kPublished;
  }
  Machine machine = LoadMachine("unit");
  REQUIRE(SetFrom(fit, kPlace, &machine) == 1);
  CHECK(machine.links[0].curves[0].error == Approx(std::hypot(0.07, 0.02)).margin(1e-3));
  CHECK(machine.links[0].curves[0].source.kind == Source::Kind::kPublished);
  REQUIRE(SetLinks(fit, {.curves = kPlace, .other_device = true}, &machine) == 1);
  CHECK(machine.links[0].curves[0].error == Approx(std::hypot(0.07, 0.02)).margin(1e-3));
  const OtherMemory* const managed = machine.links[0].FindOtherMemory(OtherMemory::Kind::kManagedPrefetch);
  REQUIRE(managed != nullptr);
  CHECK(managed->curves[0].error == Approx(std::hypot(0.07, 0.02, 0.15)).margin(1e-3));
}

TEST_CASE("a link of fewer lanes: the rate is scaled, the latency is not, nor what the link does not limit") {
  TransferFit fit;
  fit.links = {Fitted("host", "local", 101'000), Fitted("host", "remote", 101'000)};
  fit.links[0].kinds["pageable"] = fit.links[0].kinds["managed_prefetch"] = fit.links[0].kinds["pinned"];
  Machine machine = TwoLinks();
  CHECK(SetLinks(fit, {.curves = kPlace, .scale = 0.5}, &machine) == 2);
  // 1000 ns for the first point, 100,000 more at the full rate, 200,000 at half of it.
  const TransferCurve& near = machine.links[0].curves[0];
  CHECK(near.points.front().time == 1000);
  CHECK(near.points.back().time == 201'000);
  CHECK(near.error == Approx(std::hypot(0.07, 0.1)).margin(1e-3));
  CHECK(near.source == Source{Source::Kind::kAssumed, "rate times 0.5, same latency: samples"});
  using Kind = OtherMemory::Kind;
  CHECK(machine.links[0].FindOtherMemory(Kind::kManagedPrefetch)->curves[0].points.back().time == 201'000);
  const TransferCurve& pageable = machine.links[0].FindOtherMemory(Kind::kPageable)->curves[0];
  CHECK(pageable.points.back().time == 101'000);
  CHECK(pageable.source.kind == Source::Kind::kAssumed);
  CHECK(machine.links[1].curves[0].points.back().time == 101'000);
}

TEST_CASE("the duplex factor stays where none was measured, and may come from another host") {
  TransferFit fit;
  fit.links = {Fitted("host", "local", 100'000), Fitted("lab", "local", 100'000)};
  fit.links[0].duplex.fill({0.85, 0.7, 1, 0, {Source::Kind::kAssumed, "usual"}});
  fit.links[1].duplex = {RangedValue{0.48321, 0.4, 0.5, 2, {Source::Kind::kMeasured, "lab"}},
                         RangedValue{0.96234, 0.9, 1, 2, {Source::Kind::kMeasured, "lab"}}};
  Machine machine = LoadMachine("unit");
  REQUIRE(SetFrom(fit, kPlace, &machine) == 1);
  CHECK(machine.links[0].duplex_factor == std::array{1.0, 1.0});
  CHECK(machine.links[0].duplex_source == LoadMachine("unit").links[0].duplex_source);
  REQUIRE(SetLinks(fit, {.curves = kPlace, .duplex = {"lab", "gpu"}}, &machine) == 1);
  CHECK(machine.links[0].duplex_factor == std::array{0.483, 0.962});
  CHECK(machine.links[0].duplex_source.text == "lab");
}

TEST_CASE("where links come from, and what is weak about them, are notes; those of an earlier fit go") {
  TransferFit fit;
  fit.links = {Fitted("host", "local", 100'000), Fitted("host", "far", 100'000)};
  fit.links[0].warnings = {"few sizes"};
  fit.links[1].warnings = {"of a link that the machine has not"};
  Machine machine = LoadMachine("unit");
  machine.notes = {"kept", "links: of an earlier fit"};
  SetLinks(fit, {.curves = kPlace, .other_device = true}, &machine);
  const std::vector<std::string> expected = {
      "kept", "links: copies of host with gpu, 'local', taken for those of this machine's device", "links: few sizes"};
  CHECK(machine.notes == expected);
  SetLinks(fit, {.curves = kPlace, .other_device = true}, &machine);
  CHECK(machine.notes == expected);
}

TEST_CASE("faults while memory is over-subscribed are told in a note with the range") {
  TransferFit fit;
  fit.links = {Fitted("host", "local", 100'000)};
  fit.links[0].kinds["managed_touch"] = fit.links[0].kinds["pinned"];
  for (auto& [kind, curves] : fit.links[0].kinds) {
    for (auto& curve : curves) curve->curve.points = {{1000, 1000}, {11'000, 2000}};  // 10 bytes per nanosecond
  }
  Machine machine = LoadMachine("unit");
  REQUIRE(SetFrom(fit, kPlace, &machine) == 1);
  const OtherMemory* const touch = machine.links[0].FindOtherMemory(OtherMemory::Kind::kManagedTouch);
  REQUIRE(touch != nullptr);
  // Both transfers one after the other are 5, each page twice 2.5, the fault alone 10.
  CHECK_THAT(touch->note, Catch::Contains("Assumed 5.0 GB/s") && Catch::Contains("plausible from 2.5") &&
                              Catch::Contains("to 10.0"));
}

TEST_CASE("a law slows down by the share of memory that it and the copies use") {
  Device device;
  device.memory_bandwidth = 100;
  CostLaw law;
  law.bandwidth_fraction = 0.5;
  CHECK(LawSlowdown(law, device, 20) == 1.1);  // 1 + 0.5 * 20 / 100
  law.bandwidth_fraction = 2;                  // no kernel uses more than all
  CHECK(LawSlowdown(law, device, 20) == 1.2);
  law.flop_fraction = 0.5;
  CHECK(LawSlowdown(law, device, 20) == 1);

  TransferFit fit;
  fit.links = {Fitted("host", "local", 100'900)};  // 999,000 bytes in 99,900 ns: 10 bytes per nanosecond
  Machine machine = LoadMachine("unit");
  machine.devices[0].memory_bandwidth = 40;
  law.flop_fraction = 0;
  law.bandwidth_fraction = 0.4;
  machine.devices[0].laws = {law};
  REQUIRE(SetFrom(fit, kPlace, &machine) == 1);
  CHECK(machine.devices[0].laws[0].copy_slowdown == 1.1);  // 1 + 0.4 * 10 / 40
}

TEST_CASE("slowdowns that were measured count for models and laws of their op and pass, on the devices named") {
  Device device;
  device.models.resize(2);
  device.models[0].op = device.models[1].op = OpKind::kRelu;
  device.models[0].pass = Pass::kForward;
  device.models[1].pass = Pass::kBackward;
  device.laws.resize(1);
  device.laws[0].op = OpKind::kRelu;
  device.laws[0].pass = Pass::kForward;
  const std::vector<FittedSlowdown> slowdowns = {{"gpu", OpKind::kRelu, Pass::kForward, {1.23456, 1, 2, 3, {}}},
                                                 {"other", OpKind::kRelu, Pass::kBackward, {1.5, 1, 2, 3, {}}}};
  SetSlowdowns(slowdowns, {"gpu"}, &device);
  CHECK(device.models[0].copy_slowdown == 1.235);
  CHECK(device.models[1].copy_slowdown == 1);
  CHECK(device.laws[0].copy_slowdown == 1.235);
}
