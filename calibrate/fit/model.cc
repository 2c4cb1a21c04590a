#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "calibrate/fit/fit_internal.h"
#include "model/stats/quantile.h"
#include "model/step/launch.h"

namespace spillway {
namespace {

// A model is the samples' own if they removed at least this much of the prior's uncertainty about its times.
constexpr double kLeastLearnt = 0.5;
// A model carried to another chip: what its errors grow by.
constexpr double kCarryError = 0.2;

// Rows that a model is made from: those of its algorithm, and those where it is predicted to be the fastest.
struct Evidence {
  int samples = 0;
  std::set<int> layers;
  std::set<std::string> origins, stacks;
  bool published = false;
  double least_work = 0, most_work = 0;
};

double WorkOf(const Launch& launch) {
  const Work work = CountWork(launch);
  return std::max(work.flops, work.bytes);
}

std::string OriginOf(const Sample& sample) {
  if (sample.source.empty()) return sample.date.empty() ? "measured" : "measured " + sample.date;
  return sample.source.substr(0, sample.source.find(';'));
}

std::string StackOf(const Sample& sample) {
  std::string stack = sample.device;
  if (!sample.driver.empty()) stack += " driver " + sample.driver;
  if (!sample.cuda.empty()) stack += " CUDA " + sample.cuda;
  if (!sample.cudnn.empty()) stack += " cuDNN " + sample.cudnn;
  return stack;
}

Evidence EvidenceFor(const FitGroup& group, const GroupFit& fit, int candidate, std::span<const Sample> samples) {
  Evidence evidence;
  for (const FitRow& row : group.rows) {
    const int ran = row.known >= 0 ? row.known : Fastest(group, fit, row).candidate;
    if (ran != candidate) continue;
    const Sample& sample = samples[static_cast<std::size_t>(row.sample)];
    const double work = WorkOf(row.launch);
    evidence.least_work = evidence.samples == 0 ? work : std::min(evidence.least_work, work);
    evidence.most_work = std::max(evidence.most_work, work);
    ++evidence.samples;
    evidence.layers.insert(row.layer);
    evidence.origins.insert(OriginOf(sample));
    evidence.stacks.insert(StackOf(sample));
    evidence.published = evidence.published || !sample.source.empty();
  }
  return evidence;
}

std::string PriorText(const Candidate& candidate, const FitOptions& options) {
  return candidate.carried != nullptr ? "carried from " + options.carried_from : "start values of the form";
}

double MedianError(std::span<const ErrorSample> errors) {
  std::vector<std::pair<double, double>> sizes;
  for (const ErrorSample& e : errors) sizes.emplace_back(std::abs(std::expm1(-e.residual)), 1);
  return WeightedQuantile(std::move(sizes), 0.5);
}

Source SourceOf(const FitGroup& group, const Candidate& candidate, const Evidence& evidence, double left,
                std::span<const ErrorSample> errors, const FitOptions& options) {
  const bool own = evidence.samples > 0 && left < 1 - kLeastLearnt;
  std::string data = fmt::format("{} sample{} of {} layer{}", evidence.samples, evidence.samples == 1 ? "" : "s",
                                 evidence.layers.size(), evidence.layers.size() == 1 ? "" : "s");
  if (evidence.samples > 0) {
    data += fmt::format(" ({}): {}", fmt::join(evidence.stacks, "; "), fmt::join(evidence.origins, "; "));
  }
  if (!errors.empty()) data += fmt::format("; median error on layers not seen {:.1f} %", 100 * MedianError(errors));
  if (group.stacks.size() > 1 && evidence.samples > 0) {
    data += "; rates of " + group.stacks[static_cast<std::size_t>(group.reference)];
  }
  if (own) {
    if (candidate.carried != nullptr) data += "; prior carried from " + options.carried_from;
    return {evidence.published ? Source::Kind::kPublished : Source::Kind::kMeasured, "fitted to " + data};
  }
  return {Source::Kind::kAssumed, fmt::format("{}; own data say little: {}", PriorText(candidate, options), data)};
}

KernelModel BareModel(const FitGroup& group, const GroupFit& fit, int c) {
  const Candidate& candidate = group.candidates[static_cast<std::size_t>(c)];
  KernelModel model;
  model.form = candidate.form->name;
  model.op = group.kind;
  model.pass = group.pass;
  model.algorithm = candidate.algorithm;
  model.math = MathModeName(group.math);
  if (candidate.carried != nullptr) model.copy_slowdown = candidate.carried->copy_slowdown;
  for (std::size_t p = 0; p < candidate.form->parameters.size(); ++p) {
    model.parameters.push_back({candidate.form->parameters[p].name, fit.parameters[static_cast<std::size_t>(c)][p]});
  }
  return model;
}

bool HasGroup(std::span<const FitGroup> groups, const KernelModel& model) {
  return std::any_of(groups.begin(), groups.end(), [&](const FitGroup& group) {
    return model.op == group.kind && model.pass == group.pass && model.math == MathModeName(group.math);
  });
}

}  // namespace

GroupModels ModelsOf(const FitGroup& group, const GroupFit& fit, std::span<const RowPrediction> held_out,
                     std::span<const RowPrediction> outside, std::span<const Sample> samples,
                     const FitOptions& options) {
  const ModelError pooled = EstimateError(ErrorSamples(group, outside, -1));
  GroupModels result;
  for (int c = 0; c < static_cast<int>(group.candidates.size()); ++c) {
    const Candidate& candidate = group.candidates[static_cast<std::size_t>(c)];
    const std::vector<ErrorSample> errors = ErrorSamples(group, held_out, c);
    const Evidence evidence = EvidenceFor(group, fit, c, samples);
    const Learnt learnt = LearntOf(group, fit, c);
    const double left = learnt.prior_variance > 0 ? learnt.variance / learnt.prior_variance : 1;
    const ModelError error = EstimateError(ErrorSamples(group, outside, c), pooled);
    KernelModel model = BareModel(group, fit, c);
    // What is not known of the parameters is common to all launches.
    model.shared_error = std::hypot(error.shared, std::sqrt(learnt.variance));
    model.own_error = error.own;
    model.least_work = evidence.least_work;
    model.most_work = evidence.most_work;
    model.source = SourceOf(group, candidate, evidence, left, errors, options);
    result.models.push_back(std::move(model));
    result.known.push_back(evidence.samples > 0 || candidate.carried != nullptr || left < 1 - kLeastLearnt);
  }
  return result;
}

std::vector<KernelModel> CarriedAlone(std::span<const FitGroup> groups, const FitOptions& options) {
  std::vector<KernelModel> models;
  for (const KernelModel& carried : options.carried) {
    if (HasGroup(groups, carried)) continue;
    KernelModel model = carried;
    model.shared_error = std::hypot(carried.shared_error, kCarryError);
    model.own_error = std::hypot(carried.own_error, kCarryError);
    model.source = {Source::Kind::kAssumed, fmt::format("carried from {}, no samples of its own; there: {}",
                                                        options.carried_from, carried.source.text)};
    models.push_back(std::move(model));
  }
  return models;
}

}  // namespace spillway
