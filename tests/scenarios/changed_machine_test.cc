// Machines as scenarios change them, from the unit machine: a latency of 1 ns, a byte per nanosecond.
#include <catch2/catch.hpp>
#include <optional>

#include "scenarios/run/prepare_internal.h"

namespace spillway {

TEST_CASE("a link rate replaces both curves and keeps the latency") {
  // Latency 1 ns as the unit machine has; 1 GB at 8 bytes per ns takes 125 ms.
  const Machine machine = WithLinkRate(LoadMachine("unit"), 8);
  for (const TransferCurve& curve : machine.LinkOf(0).curves) {
    CHECK(curve.Time(1) == 1);
    CHECK(curve.Time(1 + kGB) == 1 + 125 * kMillisecond);
    CHECK(curve.source.kind == Source::Kind::kAssumed);
  }
}

TEST_CASE("a paced link takes the longer of its own time and the pace's, beyond its last point too") {
  Machine machine = LoadMachine("unit");
  // 10 us up to 1000 bytes, then a nanosecond for every 2 bytes.
  machine.links.at(0).curves[0].points = {{1, 10'000}, {1000, 10'000}, {101'000, 60'000}};
  const TransferCurve own = machine.links[0].curves[0];
  const TransferCurve paced = WithPacedLink(machine, 1).links.at(0).curves[0];
  CHECK(paced.Time(1) == 10'001);
  CHECK(paced.Time(1000) == 11'000);
  CHECK(paced.Time(101'000) == 111'000);
  CHECK(paced.Time(101'000 + kGB) == 111'000 + kGB);
  CHECK(paced.source.kind == Source::Kind::kAssumed);
  CHECK(paced.source.text == "scenario: paced to 1GB/s in each direction");
  // At its own rate only the first points are above the pace's.
  const TransferCurve same = WithPacedLink(machine, 2).links.at(0).curves[0];
  CHECK(same.Time(1000) == 10'500);
  CHECK(same.Time(101'000) == 60'500);
  CHECK(same.Time(101'000) > own.Time(101'000));
}

// Link::host_error says how far another host's copies may be off; a rate that the scenario states is nobody else's.
TEST_CASE("a stated rate has no error of another host") {
  Machine machine = LoadMachine("unit");
  machine.links.at(0).host_error = 0.08;
  CHECK(WithLinkRate(machine, 8).LinkOf(0).host_error == 0);
  CHECK(WithPacedLink(machine, 1).LinkOf(0).host_error == 0);
}

TEST_CASE("curves of other memory err as far as their own sources say") {
  Machine machine = LoadMachine("unit");
  Link& link = machine.links.at(0);
  OtherMemory pageable;
  pageable.curves = link.curves;
  const auto error = [&](Source::Kind pinned, Source::Kind other, std::optional<double> stated) {
    for (TransferCurve& curve : link.curves) curve.source.kind = pinned;
    for (TransferCurve& curve : pageable.curves) curve.source.kind = other;
    link.other_memory = {pageable};
    link.host_error = stated.value_or(UsualHostError(link));
    return WithConnection(machine, {.from = "unit", .pageable = true}).LinkOf(0).host_error;
  };
  constexpr Source::Kind kHere = Source::Kind::kMeasured, kElsewhere = Source::Kind::kPublished;
  CHECK(error(kHere, kElsewhere, {}) == kOtherHostError);
  CHECK(error(kElsewhere, kHere, {}) == 0);
  CHECK(error(kHere, kHere, {}) == 0);
  CHECK(error(kHere, kElsewhere, 0.03) == 0.03);
}

TEST_CASE("a machine connected to another node keeps its links, that one first") {
  Machine machine = LoadMachine("unit");
  machine.hosts.push_back(machine.hosts.at(0));
  machine.hosts[1].name = "far";
  machine.links.push_back(machine.links.at(0));
  machine.links[1].name = "bridge";
  machine.links[1].host = 1;
  const Machine far = WithConnection(machine, {.from = "unit", .host = "far"});
  REQUIRE(far.links.size() == 2);
  CHECK(far.LinkOf(0).name == "bridge");
  CHECK(far.links[1] == machine.links[0]);
  CHECK(far.notes.back() == "scenario: copies go to far over bridge");
  CHECK(WithConnection(machine, {.from = "unit"}) == machine);
}

TEST_CASE("copies to pageable memory have its curves, and no limit on what is pinned") {
  Machine machine = LoadMachine("unit");
  machine.hosts.at(0).pinned_limit = 100;
  OtherMemory pageable;
  pageable.curves = machine.links.at(0).curves;
  for (TransferCurve& curve : pageable.curves) curve.points = {{1, 7}, {1001, 4007}};
  machine.links[0].other_memory = {pageable};
  const Machine paged = WithConnection(machine, {.from = "unit", .pageable = true});
  CHECK(paged.LinkOf(0).curves == pageable.curves);
  CHECK(paged.hosts.at(0).pinned_limit == machine.hosts[0].memory);
}

TEST_CASE("a rate as labels have it") {
  CHECK(RateText(8) == "8GB/s");
  CHECK(RateText(12.5) == "12.5GB/s");
}

}  // namespace spillway
