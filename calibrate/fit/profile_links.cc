#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "calibrate/fit/profile.h"
#include "hw/text/lists.h"
#include "model/profile/profile_text.h"
#include "model/step/op_kind.h"

namespace spillway {
namespace {

// Relative error of one direction beside a published curve's own: what other hosts' two directions differ by, once what
// both share is taken out (kOtherHostError of model/profile/machine.h, from the same hosts).
constexpr double kOtherSpecimen = 0.02;
// The same of rates that were scaled from another link, and of managed memory on another device: faults and page tables
// are the device's, not the link's.
constexpr double kScaled = 0.1, kOtherFaults = 0.15;

CopyPlace PlaceOf(const FittedLink& link) { return {link.host, link.device}; }

const FittedLink* FindLink(const TransferFit& fit, const CopyPlace& place, const std::string& name) {
  for (const FittedLink& link : fit.links) {
    if (PlaceOf(link) == place && link.link == name) return &link;
  }
  return nullptr;
}

// A link of the place on which copies in both directions were measured; nullptr: there is none.
const FittedLink* FindDuplex(const TransferFit& fit, const CopyPlace& place) {
  for (const FittedLink& link : fit.links) {
    if (PlaceOf(link) == place && link.DuplexMeasured()) return &link;
  }
  return nullptr;
}

void SetDuplex(const FittedLink& fitted, Link* link) {
  if (!fitted.DuplexMeasured()) return;  // the base's word is as good as ours
  for (std::size_t way = 0; way < link->duplex_factor.size(); ++way) {
    link->duplex_factor[way] = Digits(3, fitted.duplex[way].value);
  }
  link->duplex_source = fitted.duplex[0].source;
}

// Both directions of a kind of memory.
std::optional<std::array<TransferCurve, 2>> BothCurves(const FittedLink& fitted, const std::string& kind) {
  const auto found = fitted.kinds.find(kind);
  if (found == fitted.kinds.end()) return std::nullopt;
  const auto& [in, out] = found->second;
  if (!in || !out) return std::nullopt;
  return std::array<TransferCurve, 2>{in->curve, out->curve};
}

std::string OversubscribedNote(const RangedValue& rate) {
  return fmt::format(
      "No eviction in these curves: the buffers fitted into the memory of the device. Over-subscribed, every page that "
      "comes makes another one go. Assumed {:.1f} GB/s for a stream of such faults (both transfers, one after the "
      "other), "
      "plausible from {:.1f} (every page moved twice) to {:.1f} (eviction hidden). Faults that wait for each other are "
      "far slower: vDNN (MICRO 2016) counts 20 to 50 us for a page of 4 KB, 0.2 GB/s.",
      rate.value, rate.low, rate.high);
}

OtherMemory& MemoryOf(OtherMemory::Kind kind, Link* link) {
  for (OtherMemory& memory : link->other_memory) {
    if (memory.kind == kind) return memory;
  }
  link->other_memory.push_back({kind, {}, ""});
  return link->other_memory.back();
}

void Scale(double factor, TransferCurve* curve) {
  const double latency = static_cast<double>(curve->points.front().time);
  for (TransferCurve::Point& point : curve->points) {
    point.time = std::llround(latency + (static_cast<double>(point.time) - latency) / factor);
  }
  curve->error = std::hypot(curve->error, kScaled);
  curve->source = {Source::Kind::kAssumed, fmt::format("rate times {}, same latency: {}", factor, curve->source.text)};
}

void Assume(const std::string& why, Source* source) {
  if (source->kind == Source::Kind::kAssumed) return;  // it says why
  *source = {Source::Kind::kAssumed, why + source->text};
}

TransferCurve AdaptedCurve(TransferCurve curve, const LinkChoice& choice, const std::string& kind, bool first) {
  const bool scaled = choice.scale != 1 && first && (kind == "pinned" || kind == "managed_prefetch");
  if (curve.source.kind == Source::Kind::kPublished) curve.error = std::hypot(curve.error, kOtherSpecimen);
  if (scaled) Scale(choice.scale, &curve);
  if (choice.scale != 1) Assume("as over the link measured, which is not what limits these copies: ", &curve.source);
  if (choice.other_device && kind.starts_with("managed")) curve.error = std::hypot(curve.error, kOtherFaults);
  if (choice.other_device) Assume("as with " + choice.curves.device + ": ", &curve.source);
  for (TransferCurve::Point& point : curve.points)
    point.time = std::llround(Digits(5, static_cast<double>(point.time)));
  curve.error = Digits(3, curve.error);
  return curve;
}

// What was measured, as the profile has it.
FittedLink Adapted(FittedLink link, const LinkChoice& choice, bool first) {
  for (auto& [kind, curves] : link.kinds) {
    for (std::optional<FittedCurve>& curve : curves) {
      if (curve) curve->curve = AdaptedCurve(curve->curve, choice, kind, first);
    }
  }
  DeriveOversubscribed(&link);
  return link;
}

void SetLawSlowdowns(Machine* machine) {
  for (std::size_t d = 0; d < machine->devices.size(); ++d) {
    Device& device = machine->devices[d];
    double rate = 0;
    for (const TransferCurve& curve : machine->LinkOf(static_cast<int>(d)).curves) rate = std::max(rate, curve.Rate());
    for (CostLaw& law : device.laws) law.copy_slowdown = LawSlowdown(law, device, rate);
  }
}

std::string LinkNote(const FittedLink& used, const LinkChoice& choice, bool first) {
  std::string note = fmt::format("{}copies of {} with {}, '{}'", kLinkNote, used.host, used.device, used.link);
  if (choice.other_device) note += ", taken for those of this machine's device";
  if (first && choice.scale != 1) note += fmt::format("; rates of pinned and prefetched copies times {}", choice.scale);
  return note;
}

}  // namespace

std::vector<CopyPlace> PlacesOf(const TransferFit& fit) {
  std::vector<CopyPlace> places;
  for (const FittedLink& link : fit.links) {
    AddOnce(places, PlaceOf(link));
  }
  return places;
}

bool SetCurves(const FittedLink& fitted, Link* link) {
  const auto pinned = BothCurves(fitted, "pinned");
  if (!pinned) return false;
  link->curves = *pinned;
  link->host_error = UsualHostError(*link);
  for (std::size_t kind = 0; kind < OtherMemoryNames().size(); ++kind) {
    const auto found = BothCurves(fitted, OtherMemoryNames()[kind]);
    if (!found) continue;
    OtherMemory& memory = MemoryOf(static_cast<OtherMemory::Kind>(kind), link);
    memory.curves = *found;
    if (memory.kind == OtherMemory::Kind::kManagedTouch && fitted.oversubscribed_rate) {
      memory.note = OversubscribedNote(*fitted.oversubscribed_rate);
    }
  }
  SetDuplex(fitted, link);
  return true;
}

double LawSlowdown(const CostLaw& law, const Device& device, double link_rate) {
  if (law.flop_fraction > 0 || device.memory_bandwidth <= 0) return 1;
  return std::min(kMostSlowdown,
                  Digits(4, 1 + std::min(1.0, law.bandwidth_fraction) * link_rate / device.memory_bandwidth));
}

int SetLinks(const TransferFit& fit, const LinkChoice& choice, Machine* machine) {
  const char* const localities[] = {"local", "remote"};
  const FittedLink* const duplex = choice.duplex.host.empty() ? nullptr : FindDuplex(fit, choice.duplex);
  std::vector<std::string> notes;
  int set = 0;
  for (std::size_t i = 0; i < std::size(localities) && i < machine->links.size(); ++i) {
    Link& link = machine->links[i];
    const FittedLink* fitted = FindLink(fit, choice.curves, link.name);
    if (fitted == nullptr) fitted = FindLink(fit, choice.curves, localities[i]);
    if (fitted == nullptr) continue;
    FittedLink adapted = Adapted(*fitted, choice, i == 0);
    if (duplex != nullptr) adapted.duplex = duplex->duplex;
    if (choice.other_device) Assume("as with " + choice.curves.device + ": ", &adapted.duplex[0].source);
    if (!SetCurves(adapted, &link)) continue;
    ++set;
    notes.push_back(LinkNote(*fitted, choice, i == 0));
    for (const std::string& warning : fitted->warnings) notes.push_back(kLinkNote + warning);
  }
  if (set == 0) return 0;
  SetLawSlowdowns(machine);
  std::erase_if(machine->notes, [](const std::string& note) { return note.starts_with(kLinkNote); });
  machine->notes.insert(machine->notes.end(), notes.begin(), notes.end());
  return set;
}

void SetSlowdowns(const std::vector<FittedSlowdown>& slowdowns, const std::vector<std::string>& devices,
                  Device* device) {
  for (const FittedSlowdown& found : slowdowns) {
    if (!Contains(devices, found.device)) continue;
    const auto set = [&](auto& row) {
      if (row.op != found.kind || row.pass != found.pass) return;
      row.copy_slowdown = std::min(kMostSlowdown, Digits(4, found.factor.value));
    };
    for (KernelModel& model : device->models) set(model);
    for (CostLaw& law : device->laws) set(law);
  }
}

}  // namespace spillway
