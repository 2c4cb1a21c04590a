#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "calibrate/fit/transfer.h"
#include "model/stats/quantile.h"

namespace spillway {
namespace {

constexpr CurveFitOptions kUsual;
constexpr double kBadlyOff = 0.15;  // of a size that is listed

using Errors = std::vector<double>;

// One curve and its errors.
struct Curve {
  const FittedLink* link = nullptr;
  const FittedCurve* fitted = nullptr;
  std::string kind;
  const char* direction = "";
  Errors seen, left_out, law;
};

Errors ErrorsOf(const std::vector<LeftOutCopy>& copies) {
  Errors errors;
  for (const LeftOutCopy& copy : copies) errors.push_back(copy.Error());
  return errors;
}

Curve CurveOf(const FittedLink& link, const std::string& kind, std::size_t direction, const FittedCurve& fitted) {
  Curve curve{&link, &fitted, kind, direction == 0 ? "h2d" : "d2h", {}, ErrorsOf(fitted.left_out), {}};
  for (const TimedCopy& copy : fitted.copies) {
    if (copy.bytes < kUsual.judged_from) continue;
    curve.seen.push_back(std::abs(static_cast<double>(fitted.curve.Time(copy.bytes)) / copy.nanos - 1));
  }
  curve.law = ErrorsOf(PredictLeftOut(fitted.copies, {.max_points = 2}));
  return curve;
}

std::vector<Curve> CurvesOf(const TransferFit& fit) {
  std::vector<Curve> curves;
  for (const FittedLink& link : fit.links) {
    for (const auto& [kind, directions] : link.kinds) {
      for (std::size_t d = 0; d < directions.size(); ++d) {
        if (directions[d]) curves.push_back(CurveOf(link, kind, d, *directions[d]));
      }
    }
  }
  return curves;
}

std::string Pair(const Errors& errors) {
  if (errors.empty()) return "";
  return fmt::format("{:.1f} / {:.1f}", 100 * NearestRank(errors, 0.5), 100 * NearestRank(errors, 0.9));
}

std::string KindTable(const std::vector<Curve>& curves) {
  std::map<std::string, Curve> kinds;
  for (const Curve& curve : curves) {
    if (curve.left_out.empty()) continue;
    Curve& all = kinds[curve.kind];
    all.seen.insert(all.seen.end(), curve.seen.begin(), curve.seen.end());
    all.left_out.insert(all.left_out.end(), curve.left_out.begin(), curve.left_out.end());
    all.law.insert(all.law.end(), curve.law.begin(), curve.law.end());
  }
  std::string text = "| memory | copies | curve | size left out | law, size left out |\n|---|--:|--:|--:|--:|\n";
  for (const auto& [kind, all] : kinds) {
    text += fmt::format("| {} | {} | {} | {} | {} |\n", kind, all.left_out.size(), Pair(all.seen), Pair(all.left_out),
                        Pair(all.law));
  }
  return text;
}

std::string CurveTable(const std::vector<Curve>& curves) {
  std::string text =
      "| host | device | link | memory | direction | sizes | points | curve | size left out | law, size left out |\n"
      "|---|---|---|---|---|--:|--:|--:|--:|--:|\n";
  for (const Curve& c : curves) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", c.link->host, c.link->device,
                        c.link->link, c.kind, c.direction, c.fitted->sizes, c.fitted->curve.points.size(), Pair(c.seen),
                        Pair(c.left_out), Pair(c.law));
  }
  return text;
}

// Bytes per nanosecond of the copy of the nearest size below (`step` -1) or above (1); "" at the ends.
std::string RateBeside(const FittedCurve& fitted, Bytes bytes, int step) {
  const TimedCopy* found = nullptr;
  for (const TimedCopy& copy : fitted.copies) {
    if (step < 0 && copy.bytes < bytes) found = &copy;
    if (step > 0 && copy.bytes > bytes && found == nullptr) found = &copy;
  }
  return found == nullptr ? "" : fmt::format("{:.1f}", static_cast<double>(found->bytes) / found->nanos);
}

std::string WorstTable(const std::vector<Curve>& curves) {
  struct Miss {
    const Curve* curve;
    const LeftOutCopy* copy;
  };
  std::vector<Miss> misses;
  for (const Curve& curve : curves) {
    for (const LeftOutCopy& copy : curve.fitted->left_out) {
      if (copy.Error() > kBadlyOff) misses.push_back({&curve, &copy});
    }
  }
  std::stable_sort(misses.begin(), misses.end(),
                   [](const Miss& a, const Miss& b) { return a.copy->Error() > b.copy->Error(); });
  std::string text =
      "| host | link | memory | direction | size | off by, % | GB/s below | here | above |\n"
      "|---|---|---|---|--:|--:|--:|--:|--:|\n";
  for (const auto& [curve, copy] : misses) {
    text += fmt::format("| {} | {} | {} | {} | {} | {:.0f} | {} | {:.1f} | {} |\n", curve->link->host,
                        curve->link->link, curve->kind, curve->direction, FormatBytesExact(copy->bytes),
                        100 * copy->Error(), RateBeside(*curve->fitted, copy->bytes, -1),
                        static_cast<double>(copy->bytes) / copy->nanos, RateBeside(*curve->fitted, copy->bytes, 1));
  }
  return text;
}

std::string PairCells(const Errors& errors) {
  if (errors.empty()) return ",";
  return fmt::format("{:.4f},{:.4f}", NearestRank(errors, 0.5), NearestRank(errors, 0.9));
}

std::string WorstCells(const std::vector<LeftOutCopy>& copies) {
  const auto worst = std::max_element(copies.begin(), copies.end(),
                                      [](const LeftOutCopy& a, const LeftOutCopy& b) { return a.Error() < b.Error(); });
  return worst == copies.end() ? "," : fmt::format("{:.4f},{}", worst->Error(), worst->bytes);
}

// RFC 4180; hosts' names hold commas and quotes.
std::string Cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string CurveRow(const Curve& c) {
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", Cell(c.link->device), Cell(c.link->host),
                     Cell(c.link->link), c.kind, c.direction, c.fitted->samples, c.fitted->sizes,
                     c.fitted->curve.points.size(), PairCells(c.seen), PairCells(c.left_out),
                     WorstCells(c.fitted->left_out), PairCells(c.law));
}

}  // namespace

TransferReport ReportTransfers(const TransferFit& fit) {
  const std::vector<Curve> curves = CurvesOf(fit);
  TransferReport report;
  report.markdown =
      "# Accuracy of the transfer curves\n\nMedian / 90th percentile of |curve / measured - 1| in per cent, copies of "
      "64 KiB and more. `curve`: of the sizes it was fitted to. `size left out`: each size predicted by a curve to "
      "which "
      "it was unknown, the largest one by extrapolation. `law`: latency + bytes / rate, likewise.\n\n## By kind of "
      "memory\n\nCurves of at least four sizes.\n\n" +
      KindTable(curves) + "\n## By curve\n\n" + CurveTable(curves) +
      "\n## Sizes off by more than 15 % when left out\n\nWith the rates measured at the next sizes below and above. "
      "Where the rate jumps from one size to the next, its neighbours do not tell on which side of the jump a size "
      "lies.\n\n" +
      WorstTable(curves);
  report.csv =
      "device,host,link,kind,direction,samples,sizes,points,curve_median,curve_p90,left_out_median,left_out_p90,"
      "left_out_worst,worst_bytes,law_median,law_p90\n";
  for (const Curve& curve : curves) report.csv += CurveRow(curve);
  return report;
}

}  // namespace spillway
