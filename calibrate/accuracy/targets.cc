#include "calibrate/accuracy/targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "calibrate/accuracy/cells.h"
#include "hw/text/lists.h"
#include "model/stats/quantile.h"

namespace spillway {
namespace {

constexpr double kLeastCoverage = 0.75, kMostCoverage = 0.85;
constexpr double kLargeTensor = 64e6;                              // bytes
constexpr double kCloseShare = 0.02, kRounding = 2.0 * (1 << 20);  // of workspaces
constexpr double kLeastClose = 0.9;

bool IsConvolution(const Sample& s) { return s.launch.kind == OpKind::kConvolution; }
bool IsLinear(const Sample& s) { return s.launch.kind == OpKind::kLinear; }
bool IsOneAlgorithm(const Sample& s) { return IsConvolution(s) && s.launch.algorithm != 0 && !s.best; }
// NeuSight: a framework's autotuner chose, and which algorithm is known from the kernels' names.
bool IsAutotuned(const Sample& s) {
  return IsConvolution(s) && s.best && s.launch.pass == Pass::kForward && s.harness.starts_with("pytorch");
}
bool IsDeepBench(const Sample& s) { return IsConvolution(s) && s.harness == "deepbench"; }
bool IsLargeAndMemoryBound(const Sample& s) {
  const Shape& in = s.launch.shape.in;
  const auto elements = static_cast<double>(in.n * in.c * in.Spatial());
  return !IsConvolution(s) && !IsLinear(s) && elements * static_cast<double>(SizeOf(s.launch.type)) >= kLargeTensor;
}

constexpr AccuracyTarget kTargets[] = {
    {"convolution forward, autotuned", "V100", IsAutotuned, 0.11, 0.32},
    {"convolution forward, autotuned", "A100", IsAutotuned, 0.11, 0.32},
    {"convolution forward, autotuned", "P100", IsAutotuned, 0.14, 0.44},
    {"convolution, three passes", "V100", IsDeepBench, 0.18, 0.50},
    {"convolution, three passes", "P100", IsDeepBench, 0.18, 0.50},
    {"convolution, three passes", "GTX-TitanX", IsDeepBench, 0.22, 0.60},
    {"convolution, single algorithms", "P100", IsOneAlgorithm, 0.15, 0.45},
    {"matrix products", "V100", IsLinear, 0.08, 0.25},
    {"matrix products", "A100", IsLinear, 0.08, 0.25},
    {"matrix products", "H100", IsLinear, 0.08, 0.25},
    {"matrix products", "P100", IsLinear, 0.12, 0.35},
    {"memory-bound, 64 MB and more", "", IsLargeAndMemoryBound, 0.07, 0.20},
};

// `known`: on a stack that the fit has seen, where a launch's own error is what is stated; else that of the model, too.
double Covered(std::span<const Sample> samples, std::span<const HeldOut> predictions, bool known) {
  double inside = 0;
  for (const HeldOut& h : predictions) {
    const double measured = samples[static_cast<std::size_t>(h.sample)].microseconds;
    const double error = known ? h.own_error : std::hypot(h.own_error, h.shared_error);
    inside += std::abs(std::log(h.predicted_us / measured)) <= kNormal80 * error ? 1 : 0;
  }
  return predictions.empty() ? 0 : inside / static_cast<double>(predictions.size());
}

std::string Row(const std::string& what, const std::string& of, int samples, const std::string& target,
                const std::string& ours, bool met) {
  return fmt::format("| {} | {} | {} | {} | {} | {} |\n", what, of, samples, target, ours, met ? "yes" : "**no**");
}

std::string CoverageRow(const std::string& of, int samples, double coverage) {
  return Row("within the stated 80 % interval", of, samples,
             fmt::format("{:.0f} to {:.0f} %", 100 * kLeastCoverage, 100 * kMostCoverage),
             fmt::format("{:.1f} %", 100 * coverage), coverage >= kLeastCoverage && coverage <= kMostCoverage);
}

std::string Pair(double median, double p90) { return fmt::format("{:.1f} / {:.1f}", 100 * median, 100 * p90); }

const KernelForm* FormOf(const Sample& sample) {
  const Launch& launch = sample.launch;
  for (const KernelForm& form : KernelForms(Platform::kGpu)) {
    const auto names = form.algorithms(launch.kind, launch.pass);
    if (Contains(names, sample.algorithm) && form.runs(launch)) return &form;
  }
  return nullptr;
}

}  // namespace

std::vector<TargetResult> CheckTargets(std::span<const Sample> samples, const FitResult& fit) {
  std::vector<TargetResult> results;
  for (const AccuracyTarget& target : kTargets) {
    std::map<std::tuple<std::string, std::string, std::string>, Cell> cells;
    for (const HeldOut& h : fit.held_out) {
      const Sample& s = samples[static_cast<std::size_t>(h.sample)];
      if (!s.device.starts_with(target.device) || !target.counts(s)) continue;
      cells[{s.device, s.harness, MathModeName(s.launch.math)}].log_ratios.push_back(
          std::log(h.predicted_us / s.microseconds));
    }
    for (const auto& [key, cell] : cells) {
      const auto& [device, harness, math] = key;
      results.push_back({&target, device, harness, math, static_cast<int>(cell.log_ratios.size()), cell.MedianError(),
                         cell.Error90()});
    }
  }
  return results;
}

WorkspaceResult CheckWorkspaces(std::span<const Sample> samples, const FitResult& fit) {
  WorkspaceResult result;
  for (const HeldOut& h : fit.held_out) {
    const Sample& s = samples[static_cast<std::size_t>(h.sample)];
    if (!IsOneAlgorithm(s) || s.workspace < 0) continue;
    const KernelForm* form = FormOf(s);
    if (form == nullptr) continue;
    const auto measured = static_cast<double>(s.workspace);
    const double off = std::abs(static_cast<double>(form->workspace(s.launch)) - measured);
    ++result.samples;
    result.close += off <= std::max(kCloseShare * measured, kRounding) ? 1 : 0;
  }
  return result;
}

std::string TargetsMarkdown(std::span<const Sample> samples, const FitResult& fit) {
  const std::vector<TargetResult> results = CheckTargets(samples, fit);
  if (results.empty()) return "";
  std::string text =
      "## Targets\n\nOf layers not seen: median / 90th percentile of |predicted / measured - 1| in per cent, by source "
      "and arithmetic.\n\n| what | samples of | samples | target | ours | met |\n|---|---|--:|--:|--:|---|\n";
  for (const TargetResult& r : results) {
    text += Row(r.target->name, fmt::format("{} {} {}", r.device, r.harness, r.math), r.samples,
                Pair(r.target->median, r.target->p90), Pair(r.median, r.p90), r.Met());
  }
  const WorkspaceResult w = CheckWorkspaces(samples, fit);
  if (w.samples > 0) {
    const double close = static_cast<double>(w.close) / w.samples;
    text +=
        Row("workspaces within 2 % or 2 MiB", "single algorithms", w.samples,
            fmt::format(">= {:.0f} %", 100 * kLeastClose), fmt::format("{:.1f} %", 100 * close), close >= kLeastClose);
  }
  text += CoverageRow("all", static_cast<int>(fit.held_out.size()), Covered(samples, fit.held_out, true));
  if (!fit.outside.empty()) {
    text += CoverageRow("networks and sources left out, with the model's error", static_cast<int>(fit.outside.size()),
                        Covered(samples, fit.outside, false));
  }
  return text + "\n";
}

}  // namespace spillway
