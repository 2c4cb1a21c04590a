#include "calibrate/accuracy/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "calibrate/accuracy/cells.h"
#include "model/stats/deviates.h"
#include "model/stats/quantile.h"
#include "model/step/launch.h"
#include "model/step/work_hash.h"
#include "model/util/hash.h"
#include "sim/uncertainty/drawn_error.h"
#include "sim/uncertainty/uncertainty.h"

namespace spillway {
namespace {

std::size_t At(StepErrors errors) { return static_cast<std::size_t>(errors); }

// The model whose error a held-out sample tells of.
std::string ModelOf(const Sample& sample, const HeldOut& h) {
  const std::string& algorithm = sample.best || sample.launch.algorithm == 0 ? h.algorithm : sample.algorithm;
  return fmt::format("{} {} {} {}", OpKindName(sample.launch.kind), PassName(sample.launch.pass),
                     MathModeName(sample.launch.math), algorithm);
}

StepOp OpOf(const Sample& sample, const HeldOut& h) {
  return {.measured_us = sample.microseconds,
          .predicted_us = h.predicted_us,
          .reference_us = h.reference_us,
          .shared_error = h.shared_error,
          .own_error = h.own_error,
          .model = ModelOf(sample, h),
          .identity = HashOfWork(sample.launch),
          .count = static_cast<double>(sample.rows)};
}

// Normalisation by statistics that are given is no part of a training step.
bool OfTraining(const Sample& sample) { return sample.algorithm != "given_statistics"; }

// Another algorithm for the same work: the measured system runs the one that is faster in truth, the prediction takes
// the one that it takes for faster. Variants that have one model (a ReLU in place) are one operation: the first counts.
void AddAlgorithm(const Sample& sample, const StepOp& other, StepOp* op) {
  if (sample.launch.algorithm == 0) return;
  op->measured_us = std::min(op->measured_us, other.measured_us);
  if (other.predicted_us < op->predicted_us) {
    op->predicted_us = other.predicted_us;
    op->shared_error = other.shared_error, op->own_error = other.own_error;
    op->model = other.model;
  }
  op->reference_us = std::min(op->reference_us, other.reference_us);
}

// Stacks differ in what they state of cuDNN by whether the operation needs it, so that is left out.
std::string SourceOf(const Sample& sample) {
  std::string source = sample.harness.empty() ? "own" : sample.harness;
  if (!sample.cuda.empty()) source += ", CUDA " + sample.cuda;
  if (sample.launch.type != DataType::kFp32) source += std::string(", ") + DataTypeName(sample.launch.type);
  return source;
}

// Operations of one source: (device, source, network, data type).
using SourceKey = std::tuple<std::string, std::string, std::string, DataType>;
std::map<SourceKey, std::vector<StepOp>> OpsBySource(std::span<const Sample> samples, const FitResult& fit) {
  std::map<SourceKey, std::vector<StepOp>> sources;
  std::map<std::tuple<SourceKey, std::uint64_t>, std::size_t> place;
  for (const HeldOut& h : fit.held_out) {
    const Sample& sample = samples[static_cast<std::size_t>(h.sample)];
    if (!OfTraining(sample)) continue;
    const SourceKey source{sample.device, SourceOf(sample), sample.network, sample.launch.type};
    std::vector<StepOp>& ops = sources[source];
    const StepOp op = OpOf(sample, h);
    const auto [found, is_new] = place.emplace(std::tuple{source, op.identity}, ops.size());
    if (is_new) {
      ops.push_back(op);
    } else {
      AddAlgorithm(sample, op, &ops[found->second]);
    }
  }
  return sources;
}

// The first `count` of the shuffled ops (Fisher and Yates), each once.
std::vector<StepOp> Chosen(std::vector<StepOp> ops, int count, std::uint64_t key) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const std::uint64_t random = Hasher(key).Add(static_cast<std::uint64_t>(i)).Value();
    std::swap(ops[i], ops[i + random % (ops.size() - i)]);
  }
  ops.resize(static_cast<std::size_t>(count));
  for (StepOp& op : ops) op.count = 1;
  return ops;
}

// One draw's sums, by kStepErrors. All ops are of one stack. The draws are free ones: their number is not bounded.
std::array<double, kStepErrors.size()> DrawnSums(const SummedStep& step, double stack_error, std::uint64_t draw) {
  std::array<double, kStepErrors.size()> sums{};
  for (const StepOp& op : step.ops) {
    const Errors errors{.stack = {stack_error, KeyOfStack(draw)},
                        .shared = {op.shared_error, KeyOfModel(draw, op.model)},
                        .own = {op.own_error, KeyOfWork(draw, op.identity)}};
    const DrawnError drawn = errors.Drawn(NormalDeviate);
    const double model = drawn.ModelFactor();
    sums[At(StepErrors::kOwn)] += op.count * op.predicted_us * drawn.OwnFactor();
    sums[At(StepErrors::kModel)] += op.count * op.predicted_us * model;
    sums[At(StepErrors::kReference)] += op.count * op.reference_us * model;
    sums[At(StepErrors::kStack)] += op.count * op.reference_us * drawn.Factor();
  }
  return sums;
}

StepSummary::Part PartOf(std::span<const SummedStep> steps,
                         const std::vector<std::array<StepInterval, kStepErrors.size()>>& intervals, std::size_t part) {
  Cell cell;
  std::vector<double> widths;
  double inside = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const StepInterval& interval = intervals[i][part];
    const double measured = steps[i].Measured();
    cell.log_ratios.push_back(std::log(interval.predicted / measured));
    widths.push_back((interval.high - interval.low) / interval.predicted);
    inside += interval.low <= measured && measured <= interval.high ? 1 : 0;
  }
  return {cell.MedianError(), cell.Error90(), cell.Bias(), inside / static_cast<double>(steps.size()),
          NearestRank(widths, 0.5)};
}

// REQUIRES: not empty.
StepSummary SummaryOf(std::span<const SummedStep> steps, double stack_error) {
  StepSummary summary;
  summary.device = steps[0].device, summary.source = steps[0].source, summary.name = steps[0].name;
  std::vector<std::array<StepInterval, kStepErrors.size()>> intervals;
  std::vector<double> ops, times;
  for (const SummedStep& step : steps) {
    intervals.push_back(IntervalsOf(step, stack_error));
    ops.push_back(static_cast<double>(step.ops.size()));
    times.push_back(step.Measured() / 1000);
  }
  summary.steps = static_cast<int>(steps.size());
  summary.ops = static_cast<int>(NearestRank(ops, 0.5));
  summary.milliseconds = NearestRank(times, 0.5);
  for (std::size_t part = 0; part < kStepErrors.size(); ++part) {
    summary.parts[part] = PartOf(steps, intervals, part);
  }
  return summary;
}

const char* NameOf(StepErrors errors) {
  switch (errors) {
    case StepErrors::kOwn:
      return "own stack, own errors";
    case StepErrors::kModel:
      return "own stack, own and model errors";
    case StepErrors::kReference:
      return "reference stack, own and model errors";
    case StepErrors::kStack:
      break;
  }
  return "reference stack, own and model and stack errors";
}

}  // namespace

double SummedStep::Measured() const {
  double sum = 0;
  for (const StepOp& op : ops) sum += op.count * op.measured_us;
  return sum;
}

std::array<StepInterval, kStepErrors.size()> IntervalsOf(const SummedStep& step, double stack_error, int draws) {
  std::array<std::vector<double>, kStepErrors.size()> sums;
  for (int draw = 0; draw < draws; ++draw) {
    const auto drawn = DrawnSums(step, stack_error, Hasher().Add(static_cast<std::uint64_t>(draw)).Value());
    for (std::size_t part = 0; part < drawn.size(); ++part) sums[part].push_back(drawn[part]);
  }
  std::array<StepInterval, kStepErrors.size()> intervals;
  for (const StepErrors errors : kStepErrors) {
    StepInterval& interval = intervals[At(errors)];
    const bool reference = errors == StepErrors::kReference || errors == StepErrors::kStack;
    for (const StepOp& op : step.ops) interval.predicted += op.count * (reference ? op.reference_us : op.predicted_us);
    interval.low = NearestRank(sums[At(errors)], 0.1);
    interval.high = NearestRank(sums[At(errors)], 0.9);
  }
  return intervals;
}

std::vector<SummedStep> NetworkSteps(std::span<const Sample> samples, const FitResult& fit) {
  std::vector<SummedStep> steps;
  for (auto& [source, ops] : OpsBySource(samples, fit)) {
    const auto& [device, name, network, type] = source;
    if (!network.empty()) steps.push_back({device, name, network, std::move(ops), type});
  }
  return steps;
}

std::vector<SummedStep> RandomSteps(std::span<const Sample> samples, const FitResult& fit, const DrawnSteps& options) {
  std::map<std::pair<std::string, std::string>, std::vector<StepOp>> pools;
  for (const auto& [source, ops] : OpsBySource(samples, fit)) {
    std::vector<StepOp>& pool = pools[{std::get<0>(source), std::get<1>(source)}];
    pool.insert(pool.end(), ops.begin(), ops.end());
  }
  std::vector<SummedStep> steps;
  for (const auto& [source, pool] : pools) {
    if (pool.size() < 2 * static_cast<std::size_t>(options.ops)) continue;
    Hasher key(options.seed);
    key.Add(source.first).Add(source.second);
    for (int s = 0; s < options.steps; ++s) {
      const std::uint64_t step_key = Hasher(key.Value()).Add(static_cast<std::uint64_t>(s)).Value();
      steps.push_back({source.first, source.second, "drawn", Chosen(pool, options.ops, step_key), DataType::kFp32});
    }
  }
  return steps;
}

std::vector<StepSummary> SummariseSteps(std::span<const SummedStep> steps, double stack_error) {
  std::vector<StepSummary> summaries;
  std::size_t first = 0;
  while (first < steps.size()) {
    std::size_t end = first + 1;
    while (end < steps.size() && std::tie(steps[end].device, steps[end].source, steps[end].name) ==
                                     std::tie(steps[first].device, steps[first].source, steps[first].name)) {
      ++end;
    }
    summaries.push_back(SummaryOf(steps.subspan(first, end - first), stack_error));
    first = end;
  }
  return summaries;
}

std::vector<SummedStep> AllNetworks(std::span<const SummedStep> networks) {
  std::map<DataType, std::vector<SummedStep>> by_type;
  for (const SummedStep& step : networks) {
    by_type[step.type].push_back({"all", DataTypeName(step.type), "networks and applications", step.ops, step.type});
  }
  std::vector<SummedStep> all;
  for (auto& [type, steps] : by_type) {
    if (steps.size() < 2) continue;
    for (SummedStep& step : steps) all.push_back(std::move(step));
  }
  return all;
}

std::string StepsMarkdown(std::span<const StepSummary> summaries, double stack_error) {
  if (summaries.empty()) return "";
  std::string text = fmt::format(
      "## Steps\n\nSums of operations of layers not seen: those of a network's training step that were measured "
      "(each as often as it was), and steps drawn at random from all of one source, which are no network. Signed error "
      "of the sum, then the share of steps within the stated 80 % interval and its width relative to the prediction, "
      "in per cent. Own stack: at the rates of the samples' software, with each launch's own error, and with what the "
      "launches of a model share. Reference stack: at the rates of the profile's models, as `run` predicts, without "
      "and with the error of {:.2f} that all kernels of a stack share. Drawn steps overlap: their coverage is of one "
      "source's common error, not of independent steps.\n\n"
      "| device | step | steps | ops | measured, ms | own stack, error | own errors | and model errors | reference "
      "stack, error | own and model errors | and stack error |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
      stack_error);
  for (const StepSummary& s : summaries) {
    const auto held = [&s](StepErrors errors) {
      const StepSummary::Part& part = s.parts[At(errors)];
      return fmt::format("{:.0f} in {:.0f}", 100 * part.coverage, 100 * part.width);
    };
    text +=
        fmt::format("| {} | {}, {} | {} | {} | {:.4g} | {:+.1f} | {} | {} | {:+.1f} | {} | {} |\n", s.device, s.name,
                    s.source, s.steps, s.ops, s.milliseconds, 100 * s.parts[At(StepErrors::kOwn)].bias,
                    held(StepErrors::kOwn), held(StepErrors::kModel), 100 * s.parts[At(StepErrors::kReference)].bias,
                    held(StepErrors::kReference), held(StepErrors::kStack));
  }
  return text + "\n";
}

std::string StepsCsv(std::span<const StepSummary> summaries) {
  std::string csv;
  for (const StepSummary& s : summaries) {
    for (const StepErrors errors : kStepErrors) {
      const StepSummary::Part& part = s.parts[At(errors)];
      csv += fmt::format("{},step,,,layer,\"{}, {}\",\"{}\",{},{:.4f},{:.4f},{:.4f},{:.4f},{:.4f}\n", s.device, s.name,
                         s.source, NameOf(errors), s.steps, part.median_error, part.p90_error, part.bias, part.coverage,
                         part.width);
    }
  }
  return csv;
}

}  // namespace spillway
