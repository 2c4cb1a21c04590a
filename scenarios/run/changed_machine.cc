#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "scenarios/run/prepare_internal.h"

namespace spillway {

std::string RateText(double bytes_per_nanosecond) { return fmt::format("{:g}GB/s", bytes_per_nanosecond); }

Machine WithLinkRate(Machine machine, double bytes_per_nanosecond) {
  const Source source{Source::Kind::kAssumed, fmt::format("scenario: {} in both directions, the profile's latency",
                                                          RateText(bytes_per_nanosecond))};
  for (Link& link : machine.links) {
    link.host_error = 0;
    for (TransferCurve& curve : link.curves) {
      const Nanos latency = curve.points.front().time;
      const auto transfer = static_cast<Nanos>(static_cast<double>(kGB) / bytes_per_nanosecond);
      curve.points = {{1, latency}, {1 + kGB, latency + transfer}};
      curve.source = source;
    }
  }
  return machine;
}

Machine WithPacedLink(Machine machine, double bytes_per_nanosecond) {
  const Source source{Source::Kind::kAssumed,
                      fmt::format("scenario: paced to {} in each direction", RateText(bytes_per_nanosecond))};
  for (Link& link : machine.links) {
    link.host_error = 0;
    for (TransferCurve& curve : link.curves) {
      const Nanos latency = curve.points.front().time;
      const Bytes far = curve.points.back().bytes + kGB;
      curve.points.push_back({far, curve.Time(far)});
      for (TransferCurve::Point& point : curve.points) {
        const Nanos paced = latency + std::llround(static_cast<double>(point.bytes) / bytes_per_nanosecond);
        point.time = std::max(point.time, paced);
      }
      curve.source = source;
    }
  }
  return machine;
}

Machine WithConnection(Machine machine, const MachineChoice& choice) {
  if (!choice.host.empty()) {
    const auto wanted = std::find_if(machine.links.begin(), machine.links.end(), [&](const Link& link) {
      return link.device == 0 && machine.hosts[static_cast<std::size_t>(link.host)].name == choice.host;
    });
    assert(wanted != machine.links.end());
    std::rotate(machine.links.begin(), wanted, std::next(wanted));
    machine.notes.push_back(fmt::format("scenario: copies go to {} over {}", choice.host, machine.links[0].name));
  }
  if (choice.pageable) {
    Link& link = *std::find_if(machine.links.begin(), machine.links.end(), [](const Link& l) { return l.device == 0; });
    const OtherMemory* const pageable = link.FindOtherMemory(OtherMemory::Kind::kPageable);
    assert(pageable != nullptr);
    const bool usual_error = link.host_error == UsualHostError(link);  // and nothing that the profile says
    link.curves = pageable->curves;
    if (usual_error) link.host_error = UsualHostError(link);
    HostNode& host = machine.hosts[static_cast<std::size_t>(link.host)];
    host.pinned_limit = host.memory;  // no limit on what is not pinned
    machine.notes.push_back("scenario: copies to and from pageable memory; pinned_limit lifted");
  }
  return machine;
}

}  // namespace spillway
