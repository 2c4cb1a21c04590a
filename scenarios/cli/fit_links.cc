#include "scenarios/cli/fit_links.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "hw/text/lists.h"

namespace spillway {

namespace {

std::string TextOf(const CopyPlace& place) { return place.host + "@" + place.device; }

std::vector<std::string> HostsOf(const std::vector<CopyPlace>& places) {
  std::vector<std::string> hosts;
  for (const CopyPlace& place : places) {
    AddOnce(hosts, place.host);
  }
  return hosts;
}

// The places that `text` can mean: HOST@DEVICE, or a host with the devices in --devices, if it has copies of those, or
// with all of its devices.
std::vector<CopyPlace> Meant(const std::string& text, const std::vector<CopyPlace>& places,
                             const std::vector<std::string>& devices) {
  std::vector<CopyPlace> of_host, of_devices;
  for (const CopyPlace& place : places) {
    if (text == TextOf(place)) return {place};
    if (text != place.host) continue;
    of_host.push_back(place);
    if (Contains(devices, place.device)) of_devices.push_back(place);
  }
  return of_devices.empty() ? of_host : of_devices;
}

UserError NoSuchPlace(const char* option, const std::string& text, const std::vector<CopyPlace>& places) {
  std::vector<std::string> names = HostsOf(places);
  const std::string known = fmt::format("{}", fmt::join(names, ", "));
  const std::size_t at = text.rfind('@');
  if (at != std::string::npos && Contains(names, text.substr(0, at))) {
    names.clear();
    for (const CopyPlace& place : places) names.push_back(TextOf(place));
    return UserError(fmt::format("{}: no copies of '{}'{}", option, text, DidYouMean(text, names)));
  }
  return UserError(fmt::format("{}: no copies of host '{}'{}; the samples are of {}", option, text.substr(0, at),
                               DidYouMean(text.substr(0, at), names), known));
}

CopyPlace PlaceNamed(const char* option, const std::string& text, const TransferFit& fit,
                     const std::vector<std::string>& devices) {
  const std::vector<CopyPlace> places = PlacesOf(fit);
  if (places.empty()) {
    throw UserError(fmt::format("{}: the samples hold no copies between a host and a device", option));
  }
  const std::vector<CopyPlace> meant = Meant(text, places, devices);
  if (meant.empty()) throw NoSuchPlace(option, text, places);
  if (meant.size() == 1) return meant.front();
  std::vector<std::string> names;
  for (const CopyPlace& place : meant) names.push_back("'" + TextOf(place) + "'");
  throw UserError(fmt::format("{}: copies of host '{}' are of several devices; choose one of {}", option, text,
                              fmt::join(names, ", ")));
}

void CheckDuplex(const TransferFit& fit, const CopyPlace& place) {
  const bool measured = std::any_of(fit.links.begin(), fit.links.end(), [&](const FittedLink& link) {
    return CopyPlace{link.host, link.device} == place && link.DuplexMeasured();
  });
  if (measured) return;
  throw UserError(fmt::format("--duplex: no copies of '{}' beside others in the other direction, with the same alone",
                              TextOf(place)));
}

}  // namespace

LinkFit FitLinks(const FitAsked& asked, const SampleSet& set) {
  LinkFit fit{FitTransfers(set.samples), {}};
  fit.choice.curves = PlaceNamed("--copies", asked.copies, fit.transfers, asked.devices);
  fit.choice.scale = asked.copies_scale;
  fit.choice.other_device = !asked.devices.empty() && !Contains(asked.devices, fit.choice.curves.device);
  if (!asked.duplex.empty()) {
    fit.choice.duplex = PlaceNamed("--duplex", asked.duplex, fit.transfers, asked.devices);
    CheckDuplex(fit.transfers, fit.choice.duplex);
  }
  return fit;
}

void ApplyLinks(const FitAsked& asked, const LinkFit& fit, Console& console, Machine* machine) {
  const CopyPlace& place = fit.choice.curves;
  const int links = SetLinks(fit.transfers, fit.choice, machine);
  if (links == 0) {
    std::vector<std::string> found;
    for (const FittedLink& link : fit.transfers.links) {
      if (CopyPlace{link.host, link.device} == place) found.push_back("'" + link.link + "'");
    }
    throw UserError(fmt::format(
        "--copies: {} sets no link of {}: pinned copies in both directions over 'local' or a link called '{}' are "
        "needed, found {}",
        TextOf(place), machine->name, machine->links.at(0).name, fmt::join(found, ", ")));
  }
  for (const std::string& note : machine->notes) {
    if (note.starts_with(kLinkNote)) console.err << note << "\n";
  }
  console.err << fmt::format("{}: {} links from copies of {} with {}\n", asked.out, links, place.host, place.device);
}

}  // namespace spillway
