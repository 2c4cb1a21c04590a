#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>

#include "calibrate/fit/transfer.h"
#include "model/stats/quantile.h"
#include "model/step/work_hash.h"

namespace spillway {
namespace {

bool Timed(const Sample& sample) { return sample.what == SampleKind::kKernel && sample.microseconds > 0; }

bool Twins(const Sample& a, const Sample& b) {
  return a.device == b.device && a.host == b.host && a.harness == b.harness && a.kind == b.kind && a.launch == b.launch;
}

// By what is computed: the kernels that were timed alone.
std::unordered_multimap<std::uint64_t, const Sample*> TimedAlone(std::span<const Sample> samples) {
  std::unordered_multimap<std::uint64_t, const Sample*> alone;
  for (const Sample& sample : samples) {
    if (Timed(sample) && sample.contention == "none") alone.emplace(HashOfWork(sample.launch), &sample);
  }
  return alone;
}

}  // namespace

std::vector<FittedSlowdown> FitSlowdowns(std::span<const Sample> samples) {
  std::map<std::tuple<std::string, OpKind, Pass>, std::vector<double>> factors;
  std::map<std::string, bool> published;
  const auto timed_alone = TimedAlone(samples);
  for (const Sample& beside : samples) {
    if (!Timed(beside) || beside.contention == "none") continue;
    std::vector<double> alone;
    const auto [begin, end] = timed_alone.equal_range(HashOfWork(beside.launch));
    for (auto other = begin; other != end; ++other) {
      if (Twins(beside, *other->second)) alone.push_back(other->second->microseconds);
    }
    if (alone.empty()) continue;
    const double factor = std::max(1.0, beside.microseconds / Median(std::move(alone)));
    factors[{beside.device, beside.launch.kind, beside.launch.pass}].push_back(factor);
    published[beside.device] = published[beside.device] || !beside.source.empty();
  }
  std::vector<FittedSlowdown> fitted;
  for (const auto& [key, found] : factors) {
    const auto [least, most] = std::minmax_element(found.begin(), found.end());
    const auto& [device, kind, pass] = key;
    const Source source{published[device] ? Source::Kind::kPublished : Source::Kind::kMeasured,
                        "kernels beside copies against the same without"};
    fitted.push_back({device, kind, pass, {Median(found), *least, *most, static_cast<int>(found.size()), source}});
  }
  return fitted;
}

}  // namespace spillway
