#include "calibrate/accuracy/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "calibrate/accuracy/cells.h"
#include "calibrate/accuracy/steps.h"
#include "calibrate/accuracy/targets.h"
#include "model/stats/quantile.h"

namespace spillway {
namespace {

constexpr std::size_t kWorst = 10;

std::string OperationOf(const Sample& sample) {
  return fmt::format("{} {} {} {}", sample.device, OpKindName(sample.launch.kind), PassName(sample.launch.pass),
                     MathModeName(sample.launch.math));
}

std::string ErrorPair(const std::map<std::string, Cell>& methods, const std::string& method) {
  const auto found = methods.find(method);
  if (found == methods.end()) return "";
  return fmt::format("{:.1f} / {:.1f}", 100 * found->second.MedianError(), 100 * found->second.Error90());
}

std::string CellRow(const CellKey& key, const std::string& what, const std::map<std::string, Cell>& methods) {
  std::string row = fmt::format("| {} | {} {} {} | {} |", key.device, key.op, key.pass, key.math, what);
  const auto ours = methods.find("ours");
  if (ours == methods.end()) return "";
  row += fmt::format(" {} | {} |", ours->second.log_ratios.size(), ErrorPair(methods, "ours"));
  for (const Baseline baseline : kBaselines) row += " " + ErrorPair(methods, BaselineName(baseline)) + " |";
  return row + "\n";
}

std::string TableHead(const std::string& what) {
  std::string head = "| device | operation | " + what + " | samples | ours |", rule = "|---|---|---|--:|--:|";
  for (const Baseline baseline : kBaselines) {
    head += std::string(" ") + BaselineName(baseline) + " |";
    rule += "--:|";
  }
  return head + "\n" + rule + "\n";
}

std::string ErrorTables(const Cells& cells) {
  std::string seen =
      "## Layers not seen\n\nCross-validated by layer: a layer's batches, passes, precisions and "
      "algorithms are left out together. Median / 90th percentile of |predicted / measured - 1| in "
      "per cent.\n\n" +
      TableHead("samples of");
  std::string beyond = "## Beyond the data\n\nThe same where a whole class is left out.\n\n" + TableHead("left out");
  for (const auto& [key, methods] : cells) {
    if (key.split == "layer") {
      seen += CellRow(key, key.subset, methods);
    } else {
      beyond += CellRow(key, key.split, methods);
    }
  }
  return seen + "\n" + beyond;
}

struct Counts {
  int hits = 0, all = 0;
  double Percent() const { return 100.0 * hits / all; }
};

std::string HitTable(std::span<const Sample> samples, const FitResult& fit) {
  std::map<std::pair<std::string, std::string>, Counts> counts;
  for (const HeldOut& h : fit.held_out) {
    const Sample& sample = samples[static_cast<std::size_t>(h.sample)];
    if (!sample.best || sample.launch.algorithm == 0) continue;
    for (const std::string& algorithm : {std::string("all"), sample.algorithm}) {
      Counts& c = counts[{OperationOf(sample), algorithm}];
      ++c.all;
      if (h.algorithm == sample.algorithm) ++c.hits;
    }
  }
  std::string text =
      "## Algorithm predicted to be the fastest\n\nWhere an autotuner's choice is known, layers not "
      "seen.\n\n| operation | chosen | samples | predicted, % |\n|---|---|--:|--:|\n";
  for (const auto& [key, c] : counts) {
    text += fmt::format("| {} | {} | {} | {:.1f} |\n", key.first, key.second, c.all, c.Percent());
  }
  return counts.empty() ? "" : text + "\n";
}

// How often the intervals of one operation held, and how far they reach up.
struct Coverage {
  int samples = 0, own = 0, all = 0;
  double own_reach = 0, all_reach = 0;
  void Add(double log_error, const HeldOut& h) {
    const double own_half = kNormal80 * h.own_error;
    const double all_half = kNormal80 * std::hypot(h.shared_error, h.own_error);
    ++samples;
    own += log_error <= own_half ? 1 : 0;
    all += log_error <= all_half ? 1 : 0;
    own_reach += std::expm1(own_half);
    all_reach += std::expm1(all_half);
  }
  double Percent(double part) const { return 100 * part / samples; }
};

std::string IntervalTable(std::span<const Sample> samples, const FitResult& fit) {
  std::map<std::string, Coverage> operations;
  Coverage sum;
  for (const HeldOut& h : fit.held_out) {
    const Sample& sample = samples[static_cast<std::size_t>(h.sample)];
    const double log_error = std::abs(std::log(h.predicted_us / sample.microseconds));
    operations[OperationOf(sample)].Add(log_error, h);
    sum.Add(log_error, h);
  }
  std::string text =
      "## Stated intervals\n\nShare of measured times, of layers not seen, within the 80 % interval of "
      "the prediction, and how far that reaches up. `own`: with a launch's own error, which is what differs "
      "between layers on a software stack that the fit has seen, as all of these are; `all`: with the part that "
      "launches share, for stacks that it has not.\n\n| operation | samples | own, % | reach, % | all, % | reach, % "
      "|\n|---|--:|--:|--:|--:|--:|\n";
  const auto add = [&text](const std::string& name, const Coverage& c) {
    text += fmt::format("| {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} |\n", name, c.samples, c.Percent(c.own),
                        c.Percent(c.own_reach), c.Percent(c.all), c.Percent(c.all_reach));
  };
  for (const auto& [operation, coverage] : operations) add(operation, coverage);
  if (sum.samples > 0) add("all", sum);
  return text + "\n";
}

std::string OutsideTable(std::span<const Sample> samples, const FitResult& fit, double stack_error) {
  std::map<std::pair<std::string, std::string>, Coverage> sources;
  for (HeldOut h : fit.outside) {
    const Sample& sample = samples[static_cast<std::size_t>(h.sample)];
    const double log_error = std::abs(std::log(h.predicted_us / sample.microseconds));
    h.shared_error = std::hypot(h.shared_error, stack_error);
    sources[{sample.harness, OperationOf(sample)}].Add(log_error, h);
    sources[{sample.harness, "all"}].Add(log_error, h);
    sources[{"all", "all"}].Add(log_error, h);
  }
  if (sources.empty()) return "";
  std::string text = fmt::format(
      "## Sources and networks left out\n\nThe same of samples that are predicted by fits that have seen nothing of "
      "their "
      "network, or of whoever measured them: what the errors are stated for. `all` holds the error of {:g} that all "
      "kernels of a stack share, too, as for any other stack. No source is left out that has more samples than all "
      "others, "
      "and none of an algorithm that the others hardly know.\n\n| source | operation | samples | own, % | reach, % | "
      "all, % "
      "| reach, % |\n|---|---|--:|--:|--:|--:|--:|\n",
      stack_error);
  for (const auto& [key, c] : sources) {
    text += fmt::format("| {} | {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} |\n", key.first, key.second, c.samples,
                        c.Percent(c.own), c.Percent(c.own_reach), c.Percent(c.all), c.Percent(c.all_reach));
  }
  return text + "\n";
}

// "v100.csv:17": files come from folders that are nobody's business.
std::string PlaceOf(const Sample& sample, std::span<const std::string> files) {
  const auto file = static_cast<std::size_t>(sample.file);
  if (file >= files.size()) return fmt::format("line {}", sample.line);
  return fmt::format("{}:{}", std::filesystem::path(files[file]).filename().string(), sample.line);
}

std::string WorstTable(std::span<const Sample> samples, const FitResult& fit, std::span<const std::string> files) {
  std::vector<HeldOut> worst = fit.held_out;
  const auto size = [&](const HeldOut& h) {
    return std::abs(std::log(h.predicted_us / samples[static_cast<std::size_t>(h.sample)].microseconds));
  };
  std::stable_sort(worst.begin(), worst.end(), [&](const HeldOut& a, const HeldOut& b) { return size(a) > size(b); });
  worst.resize(std::min(worst.size(), kWorst));
  std::string text =
      "## The ten worst\n\n| operation | layer | batch | algorithm | measured, us | predicted, us | "
      "place |\n|---|---|--:|---|--:|--:|---|\n";
  for (const HeldOut& h : worst) {
    const Sample& s = samples[static_cast<std::size_t>(h.sample)];
    text += fmt::format("| {} | {} | {} | {} | {:.4g} | {:.4g} | {} |\n", OperationOf(s), LayerKey(s),
                        s.launch.shape.in.n, s.algorithm.empty() ? "best of all" : s.algorithm, s.microseconds,
                        h.predicted_us, PlaceOf(s, files));
  }
  return text;
}

}  // namespace

AccuracyReport ReportAccuracy(std::span<const Sample> samples, const FitOptions& options, const FitResult& fit,
                              std::span<const std::string> files) {
  const Cells cells = GatherCells(GatherOutcomes(samples, options, fit), samples);
  std::vector<SummedStep> sums = NetworkSteps(samples, fit);
  for (SummedStep& step : AllNetworks(sums)) sums.push_back(std::move(step));
  for (SummedStep& step : RandomSteps(samples, fit)) sums.push_back(std::move(step));
  const std::vector<StepSummary> steps = SummariseSteps(sums, options.stack_error);
  const std::string text = "# Accuracy of the kernel models\n\n" + TargetsMarkdown(samples, fit) + ErrorTables(cells) +
                           "\n" + HitTable(samples, fit) + IntervalTable(samples, fit) +
                           OutsideTable(samples, fit, options.stack_error) + StepsMarkdown(steps, options.stack_error) +
                           WorstTable(samples, fit, files);
  return {text, CellsCsv(cells) + StepsCsv(steps)};
}

}  // namespace spillway
