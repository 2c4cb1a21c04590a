// Outcomes gathered into the cells of a table: which subset of the samples, which split, which method.
#ifndef SPILLWAY_CALIBRATE_ACCURACY_CELLS_H_
#define SPILLWAY_CALIBRATE_ACCURACY_CELLS_H_

#include <compare>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "calibrate/accuracy/outcomes.h"

namespace spillway {

struct CellKey {
  std::string device, op, pass, math;
  std::string split;   // as in HeldOutOutcome
  std::string subset;  // "all", "algorithm winograd", "harness deepbench", "below 0.1 ms", ...
  auto operator<=>(const CellKey&) const = default;
};

struct Cell {
  std::vector<double> log_ratios;
  double MedianError() const;  // of |predicted / measured - 1|
  double Error90() const;      // its 90th percentile
  double Bias() const;         // median of predicted / measured - 1
};

// By key, then by method. Subsets other than "all" only for the cross-validation by layer.
using Cells = std::map<CellKey, std::map<std::string, Cell>>;
Cells GatherCells(std::span<const HeldOutOutcome> outcomes, std::span<const Sample> samples);

// "below 0.1 ms", "0.1 to 1 ms", "1 to 10 ms", "from 10 ms": by the measured time.
std::string SizeClass(const Sample& sample);

std::string CellsCsv(const Cells& cells);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_ACCURACY_CELLS_H_
