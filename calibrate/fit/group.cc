#include "calibrate/fit/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "hw/text/document.h"
#include "hw/text/lists.h"

namespace spillway {
namespace {

using GroupKey = std::tuple<OpKind, Pass, MathMode>;

const KernelModel* FindCarried(const FitOptions& options, const KernelForm& form, OpKind kind, Pass pass, MathMode math,
                               const std::string& algorithm) {
  for (const KernelModel& model : options.carried) {
    if (model.form == form.name && model.op == kind && model.pass == pass && model.math == MathModeName(math) &&
        model.algorithm == algorithm) {
      return &model;
    }
  }
  return nullptr;
}

std::vector<double> PriorOf(const KernelForm& form, const KernelModel* carried, const FitOptions& options) {
  std::vector<double> prior;
  for (const FormParameter& parameter : form.parameters) {
    prior.push_back(parameter.start);
    if (carried == nullptr) continue;
    const auto found = std::find_if(carried->parameters.begin(), carried->parameters.end(),
                                    [&](const KernelModel::Parameter& p) { return p.name == parameter.name; });
    if (found == carried->parameters.end()) {
      throw UserError(fmt::format("models of {}: '{}' for {} {} lacks the parameter '{}' ({})", options.carried_from,
                                  carried->form, OpKindName(carried->op), PassName(carried->pass), parameter.name,
                                  parameter.meaning));
    }
    prior.back() = std::clamp(found->value, parameter.lower, parameter.upper);
  }
  return prior;
}

// Numbers names in the order of their first appearance.
int NumberOf(const std::string& name, std::vector<std::string>* names) {
  return static_cast<int>(AddOnce(*names, name));
}

const FitDevice* DeviceOf(const Sample& sample, const FitOptions& options) {
  for (const FitDevice& device : options.devices) {
    if (device.name == sample.device) return &device;
  }
  return nullptr;
}

std::vector<int> Runnable(const FitRow& row, const std::vector<Candidate>& candidates) {
  std::vector<int> runnable;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    const Launch launch = LaunchFor(row.launch, candidates[c]);
    if (!candidates[c].form->Applies(launch)) continue;
    const bool fits = launch.workspace < 0 || candidates[c].form->workspace(launch) <= launch.workspace;
    if (fits) runnable.push_back(static_cast<int>(c));
  }
  return runnable;
}

// The row of one sample without its weight; `runnable` empty if no candidate serves it.
FitRow RowOf(const Sample& sample, int index, const FitDevice& device, FitGroup* group) {
  FitRow row;
  row.sample = index;
  row.launch = sample.launch;
  row.chip = device.chip;
  row.log_time = std::log(1000 * sample.microseconds);
  row.runnable = Runnable(row, group->candidates);
  if (sample.launch.algorithm != 0) {
    for (const int c : row.runnable) {
      if (group->candidates[static_cast<std::size_t>(c)].index == sample.launch.algorithm) row.known = c;
    }
    if (row.known < 0 && !sample.best) row.runnable.clear();  // an algorithm that no form describes
  }
  row.chosen = sample.best && row.known >= 0;
  if (row.runnable.empty()) return row;
  if (!sample.harness.empty()) row.harness = NumberOf(sample.harness, &group->harnesses);
  const std::string stack = StackName(sample);
  row.stack = NumberOf(stack, &group->stacks);
  row.origin = NumberOf(stack + ", " + sample.network, &group->origins);
  return row;
}

// Where a row stands among those of its harness.
void SetOrder(FitGroup* group) {
  std::vector<double> count(group->harnesses.size(), 0.0);
  for (FitRow& row : group->rows) {
    if (row.harness >= 0) row.order = count[static_cast<std::size_t>(row.harness)]++;
  }
  for (FitRow& row : group->rows) {
    if (row.harness >= 0) row.order /= std::max(1.0, count[static_cast<std::size_t>(row.harness)] - 1);
  }
}

// Rows of one layer, algorithm and origin are near copies: n of them count as sqrt(n). The origins (a network, a
// publication) get a say beyond their numbers: the weight of all rows of the smaller is raised, at most by 4. How far a
// row's own timings spread does not count: forms miss by more. Weighted by 1 / (0.1^2 + own error^2), five calibrations
// of a processor were predicted held out with median errors that changed by -0.2 to +0.5 percentage points.
void SetWeights(FitGroup* group) {
  constexpr double kMostRaise = 4;
  std::map<std::tuple<int, int, int>, double> copies;
  for (const FitRow& row : group->rows) ++copies[{row.layer, row.known, row.origin}];
  std::vector<double> total(group->origins.size(), 0.0);
  for (FitRow& row : group->rows) {
    row.weight = 1 / std::sqrt(copies[{row.layer, row.known, row.origin}]);
    total[static_cast<std::size_t>(row.origin)] += row.weight;
  }
  const double most = total.empty() ? 1 : *std::max_element(total.begin(), total.end());
  for (FitRow& row : group->rows) {
    row.weight *= std::min(kMostRaise, std::sqrt(most / total[static_cast<std::size_t>(row.origin)]));
  }
}

void SetLayers(std::span<const Sample> samples, FitGroup* group) {
  std::map<std::string, int> layers;
  for (FitRow& row : group->rows) {
    const std::string key = LayerKey(samples[static_cast<std::size_t>(row.sample)]);
    row.layer = layers.emplace(key, static_cast<int>(layers.size())).first->second;
  }
  group->layers = static_cast<int>(layers.size());
}

void SetReference(FitGroup* group) {
  std::vector<std::set<int>> layers(group->stacks.size());
  for (const FitRow& row : group->rows) layers[static_cast<std::size_t>(row.stack)].insert(row.layer);
  std::vector<int> counts;
  for (const std::set<int>& l : layers) counts.push_back(static_cast<int>(l.size()));
  group->reference = ReferenceStack(group->stacks, counts);
}

bool IsTimedKernel(const Sample& sample) {
  return sample.what == SampleKind::kKernel && sample.microseconds > 0 && sample.contention == "none";
}

// Convolutions and products of half-precision data in fp32 arithmetic are neither the one kind nor the other: kernels
// of their own, for which a profile has no place. What memory bounds only moves fewer bytes.
bool HasModels(const Launch& launch) {
  const bool wide = launch.math == MathMode::kFp32 || launch.math == MathMode::kTf32;
  return !IsProduct(launch.kind) || !wide || launch.type == DataType::kFp32;
}

// Other kernels than those in NCHW, and a model has no layout.
bool IsChannelsLast(const Launch& launch) {
  return launch.kind == OpKind::kConvolution && launch.layout == Layout::kNhwc;
}

void WarnOfChannelsLast(int samples, std::vector<std::string>* warnings) {
  if (samples == 0) return;
  warnings->push_back(
      fmt::format("{} samples of convolutions in NHWC are left out: no kernel model tells layouts apart", samples));
}

void WarnOfUnserved(const FitGroup& group, int unserved, std::vector<std::string>* warnings) {
  if (unserved == 0) return;
  warnings->push_back(
      fmt::format("{}: {} of {} samples are of algorithms, shapes or data types that no kernel form describes",
                  group.Name(), unserved, static_cast<std::size_t>(unserved) + group.rows.size()));
}

}  // namespace

std::string FitGroup::Name() const {
  return fmt::format("{} {} {}", OpKindName(kind), PassName(pass), MathModeName(math));
}

Launch LaunchFor(const Launch& launch, const Candidate& c) {
  Launch result = launch;
  result.algorithm = c.index;
  return result;
}

std::vector<Candidate> CandidatesFor(OpKind kind, Pass pass, MathMode math, const FitOptions& options) {
  std::vector<Candidate> candidates;
  const std::span<const KernelForm> forms = options.forms.empty() ? KernelForms(Platform::kGpu) : options.forms;
  for (const KernelForm& form : forms) {
    for (const std::string algorithm : form.algorithms(kind, pass)) {
      Candidate c{&form, algorithm, AlgorithmByName(kind, pass, algorithm), {}, nullptr};
      c.carried = FindCarried(options, form, kind, pass, math, algorithm);
      c.prior = PriorOf(form, c.carried, options);
      candidates.push_back(std::move(c));
    }
  }
  return candidates;
}

std::vector<FitGroup> BuildGroups(std::span<const Sample> samples, const FitOptions& options,
                                  std::vector<std::string>* warnings) {
  std::map<GroupKey, FitGroup> groups;
  std::map<GroupKey, int> unserved;
  int channels_last = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Sample& sample = samples[i];
    const FitDevice* device = DeviceOf(sample, options);
    if (device == nullptr || !IsTimedKernel(sample)) continue;
    if (IsChannelsLast(sample.launch)) {
      ++channels_last;
      continue;
    }
    const GroupKey key{sample.launch.kind, sample.launch.pass, sample.launch.math};
    FitGroup& group = groups[key];
    if (group.rows.empty() && group.candidates.empty()) {
      std::tie(group.kind, group.pass, group.math) = key;
      group.candidates = CandidatesFor(group.kind, group.pass, group.math, options);
    }
    FitRow row = RowOf(sample, static_cast<int>(i), *device, &group);
    if (row.runnable.empty() || !HasModels(sample.launch)) {
      ++unserved[key];
    } else {
      group.rows.push_back(std::move(row));
    }
  }
  WarnOfChannelsLast(channels_last, warnings);
  std::vector<FitGroup> result;
  for (auto& [key, group] : groups) {
    WarnOfUnserved(group, unserved[key], warnings);
    if (group.rows.empty()) continue;
    SetOrder(&group);
    SetLayers(samples, &group);
    SetWeights(&group);
    SetReference(&group);
    result.push_back(std::move(group));
  }
  return result;
}

}  // namespace spillway
