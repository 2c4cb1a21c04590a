#include <set>

#include "scenarios/file/bench_networks.h"
#include "scenarios/validate/validate_parts.h"

namespace spillway {

namespace {

// Of ops in parts, how many samples the plans of a step may give one: as plans that are given say, and as strategies are
// likely to. What is not asked for is taken as the profile has it.
std::vector<std::int64_t> PartSizes(const PreparedRun& run, std::size_t step) {
  constexpr std::int64_t kFew = 32;  // a device takes milliseconds to answer
  std::set<std::int64_t> sizes;
  const std::int64_t batch = run.steps[step]->step.batch;
  for (const Point& point : run.points) {
    if (point.step != step) continue;
    if (point.plan != nullptr) {
      for (const OpDecision& decision : point.plan->ops) {
        for (const OpPart& part : decision.parts) sizes.insert(part.samples);
      }
    }
    if (point.strategy == nullptr || point.strategy->scope.parts == PartScope::kNone) continue;
    for (std::int64_t size = 1; size <= batch; size = batch <= kFew ? size + 1 : 2 * size) sizes.insert(size);
  }
  return {sizes.begin(), sizes.end()};
}

}  // namespace

ValidatedRun DeviceSideOf(PreparedRun& run, const DeviceBackend& backend) {
  ValidatedRun side;
  bool any_measured = false;
  for (const auto& m : run.machines) {
    any_measured = any_measured || !m->machine.devices[0].measured.empty();
    side.machines.push_back({.label = m->label,
                             .base = m->base,
                             .profile = m->from,
                             .emulated_at = m->emulated_at,
                             .compute_slowdown = m->emulation.compute_slowdown,
                             .link_rate = m->emulation.link_rate > 0 ? m->emulation.link_rate : m->link_rate,
                             .profile_rate = m->profile_rate,
                             .machine = &m->machine,
                             .costs = &m->costs});
  }
  for (std::size_t k = 0; k < run.steps.size(); ++k) {
    const PreparedStep& step = *run.steps[k];
    side.steps.push_back(
        {std::make_shared<const BenchNetwork>(BenchNetwork{step.network, step.net, step.step}), PartSizes(run, k)});
  }
  if (any_measured && backend.traits().can_bench) side.usual = BenchNetworksOf(backend.UsualNetworks());
  return side;
}

}  // namespace spillway
