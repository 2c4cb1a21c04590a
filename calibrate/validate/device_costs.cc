#include "calibrate/validate/device_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <utility>

#include "hw/text/document.h"
#include "model/cost/menu.h"
#include "model/cost/op_tiles.h"
#include "model/kernels/kernel_form.h"
#include "model/profile/launch_text.h"
#include "model/step/launch.h"
#include "model/step/work_hash.h"
#include "model/util/hash.h"

namespace spillway {

namespace {

constexpr Bytes kAny = std::numeric_limits<Bytes>::max() / 4;  // of workspace

int RankOf(const Cost& cost) {
  const std::string_view how = cost.how;
  if (how == "measured") return 0;
  return how.starts_with("model") ? 1 : 2;
}

[[noreturn]] void RefuseAlgorithm(const Launch& launch, const std::vector<OfferedAlgorithm>& offers) {
  std::string text;
  for (const OfferedAlgorithm& offer : offers) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", AlgorithmText(launch.kind, launch.pass, offer.algorithm),
                        offer.algorithm);
  }
  throw UserError(fmt::format("{} {} {}: the device does not offer {} ({}) for it; it offers {}",
                              OpKindName(launch.kind), PassName(launch.pass), OpShapeText(launch.shape),
                              AlgorithmText(launch.kind, launch.pass, launch.algorithm), launch.algorithm, text));
}

// Never empty. UserError with the op's name: none, or what the device says instead.
std::vector<OfferedAlgorithm> OffersFor(const Op& op, const Launch& launch, const AskDevice& ask) {
  const std::string text =
      fmt::format("{} ({} {} {})", op.name, OpKindName(launch.kind), PassName(launch.pass), OpShapeText(launch.shape));
  try {
    std::vector<OfferedAlgorithm> offered = ask(launch);
    if (!offered.empty()) return offered;
  } catch (const UserError& error) {
    throw UserError(fmt::format("{}: {}", text, error.what()));
  }
  throw UserError(fmt::format("{}: the device offers no algorithm", text));
}

}  // namespace

std::size_t LaunchHash::operator()(const Launch& launch) const { return static_cast<std::size_t>(HashOfWork(launch)); }

void DeviceOffers::Ask(const TrainingStep& step, const AskDevice& ask, std::span<const std::int64_t> part_sizes) {
  for (const Op& op : step.ops) {
    if (!HasAlgorithms(op.kind)) continue;
    const Launch whole = Unchosen(LaunchOf(op));
    AskFor(op, whole, ask);
    for (const std::int64_t samples : part_sizes) {
      if (samples < 1 || samples >= op.shape.in.n) continue;
      AskFor(op, PartOf(whole, samples, true), ask);
      AskFor(op, PartOf(whole, samples, false), ask);
    }
  }
}

void DeviceOffers::AskFor(const Op& op, const Launch& launch, const AskDevice& ask) {
  if (!offers_.contains(launch)) offers_.emplace(launch, OffersFor(op, launch, ask));
}

std::string OfferDifference::Text() const {
  std::string text = fmt::format("a workspace other than modelled for {} of {} convolutions", other, launches);
  if (other > 0) text += ", by at most " + FormatBytes(largest);
  if (not_offered > 0)
    text += fmt::format("; for {} others the device does not offer the modelled algorithm", not_offered);
  return text;
}

DeviceCosts::DeviceCosts(const Machine& machine, const CostOptions& options, const DeviceOffers& offers)
    : CostModel(machine, options) {
  for (const auto& [launch, offered] : offers.all()) {
    std::vector<Candidate>& candidates = candidates_[launch];
    for (const OfferedAlgorithm& offer : offered) candidates.push_back(CandidateOf(launch, offer));
  }
}

DeviceCosts::Candidate DeviceCosts::CandidateOf(const Launch& launch, const OfferedAlgorithm& offer) const {
  Launch chosen = launch;
  chosen.algorithm = offer.algorithm;
  chosen.workspace = kAny;  // what the costs believe that it needs does not matter
  Candidate candidate;
  candidate.cost = CostModel::Kernel(chosen);
  candidate.rank = RankOf(candidate.cost);
  candidate.cost.algorithm = offer.algorithm;
  candidate.cost.workspace = offer.workspace;
  candidate.cost.calls = std::max(1, candidate.cost.calls);  // the device was asked, and takes it
  return candidate;
}

bool DeviceCosts::Better(const Candidate& a, const Candidate& b, Bytes granted) {
  const bool a_fits = a.cost.workspace <= granted, b_fits = b.cost.workspace <= granted;
  if (a_fits != b_fits) return a_fits;
  if (!a_fits) return a.cost.workspace < b.cost.workspace;
  return a.rank != b.rank ? a.rank < b.rank : a.cost.time < b.cost.time;
}

bool DeviceCosts::KnowsWorkspace(const Launch& launch) const {
  return !HasAlgorithms(launch.kind) || candidates_.contains(Unchosen(launch));
}

Cost DeviceCosts::Kernel(const Launch& launch, int device) const {
  if (!HasAlgorithms(launch.kind) || device != 0) return CostModel::Kernel(launch, device);
  const auto found = candidates_.find(Unchosen(launch));
  if (found == candidates_.end()) return CostModel::Kernel(launch, device);
  const Bytes granted = launch.workspace == kUsualWorkspace ? options().workspace_limit : launch.workspace;
  const Candidate* best = nullptr;
  for (const Candidate& candidate : found->second) {
    if (launch.algorithm != 0 && launch.algorithm != candidate.cost.algorithm) continue;
    if (best == nullptr || Better(candidate, *best, granted)) best = &candidate;
  }
  if (best != nullptr) return best->cost;
  std::vector<OfferedAlgorithm> offered;
  for (const Candidate& c : found->second) offered.push_back({c.cost.algorithm, c.cost.workspace});
  RefuseAlgorithm(launch, offered);
}

std::vector<MenuEntry> DeviceCosts::Menu(const Launch& launch, int device) const {
  const auto found = candidates_.find(Unchosen(launch));
  if (device != 0 || found == candidates_.end()) return CostModel::Menu(launch, device);
  std::vector<std::int32_t> offered;
  for (const Candidate& candidate : found->second) offered.push_back(candidate.cost.algorithm);
  return MenuOf(launch, offered, [this](const Launch& asked) { return Kernel(asked); });
}

OfferDifference DeviceCosts::Difference() const {
  OfferDifference difference;
  for (const auto& [launch, candidates] : candidates_) {
    ++difference.launches;
    const Cost modelled = CostModel::Kernel(launch);
    const std::int32_t chosen = modelled.algorithm != 0 ? modelled.algorithm : Kernel(launch).algorithm;
    const auto same = std::find_if(candidates.begin(), candidates.end(),
                                   [&](const Candidate& c) { return c.cost.algorithm == chosen; });
    if (same == candidates.end()) {
      ++difference.not_offered;
      continue;
    }
    const Bytes apart = std::abs(same->cost.workspace - modelled.workspace);
    difference.other += apart > 0 ? 1 : 0;
    difference.largest = std::max(difference.largest, apart);
  }
  return difference;
}

}  // namespace spillway
