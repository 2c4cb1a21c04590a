#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "calibrate/measure/journal.h"
#include "calibrate/measure/profile.h"
#include "model/stats/quantile.h"

namespace spillway {
namespace {

// A row without its algorithm: all of one launch are the same.
std::string LaunchKey(Sample sample) {
  sample.algorithm = "";
  sample.launch.algorithm = 0;
  return BenchKey(sample);
}

// Steps compute on fp32: what other types cost the host is not theirs.
bool Tells(const Sample& sample) {
  return sample.what == SampleKind::kKernel && sample.host_microseconds > 0 && sample.contention == "none" &&
         sample.launch.type == DataType::kFp32;
}

// Of each launch the row of its fastest algorithm.
std::map<std::string, const Sample*> Fastest(std::span<const BenchTime> times) {
  std::map<std::string, const Sample*> fastest;
  for (const BenchTime& time : times) {
    const Sample& sample = time.sample;
    if (!Tells(sample)) continue;
    const auto [found, is_new] = fastest.emplace(LaunchKey(sample), &sample);
    if (!is_new && sample.microseconds < found->second->microseconds) found->second = &sample;
  }
  return fastest;
}

}  // namespace

BenchLaunches LaunchesOf(std::span<const BenchTime> times) {
  std::map<std::pair<OpKind, Pass>, std::vector<double>> issues;  // nanoseconds
  for (const auto& [key, sample] : Fastest(times)) {
    issues[{sample->launch.kind, sample->launch.pass}].push_back(1000 * sample->host_microseconds);
  }
  BenchLaunches launches;
  for (const auto& [which, nanos] : issues) {
    launches.costs.push_back({.op = which.first, .pass = which.second, .time = std::llround(Median(nanos))});
    launches.launches += static_cast<int>(nanos.size());
  }
  return launches;
}

}  // namespace spillway
