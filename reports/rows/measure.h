// The figures that an expectation can be about: one table for their names, their words, how a value is written and how a
// row comes to it. A new one is a value of Measure and a line in measure.cc (and a key in scenarios/file/scenario_expect.cc).
//
// Tested by expectation_test.
#ifndef SPILLWAY_REPORTS_ROWS_MEASURE_H_
#define SPILLWAY_REPORTS_ROWS_MEASURE_H_

#include <cstdint>
#include <optional>

#include "reports/rows/result_row.h"

namespace spillway {

enum class Measure : std::uint8_t {
  kSamplesPerSecond,
  kStepTime,
  kBelowInCore,  // throughput, the fastest in-core row's
  kKeep,
  kSwap,
  kRecompute,
  kRatio,  // throughput over that of another row; for gates, a row that does not run has throughput 0
  kFeasible,
  kMeanSaving,
  kMeanSavingBesideParameters,
  kPeak,
  kNetworkWide,
  kHostPeak,
  kMapShare,
  kCopyRate,
};

enum class MeasureForm : std::uint8_t {
  kCount,
  kPerSecond,
  kSeconds,
  kShare,   // a fraction; differences are in points
  kFactor,  // "1.40x"
  kFits,    // 1 or 0
  kBytes,
  kBytesPerSecond,
};

struct MeasuredRow {
  const ResultRow& row;
  const ResultRow* reference;  // its in-core row (Standing::reference); nullptr: there is none
  const ResultRow* other;      // the row that a ratio is over; nullptr: there is none
};

struct MeasureTraits {
  Measure measure;
  const char* name;   // in expectations.csv and in scenarios
  const char* words;  // in tables
  MeasureForm form;
  std::optional<double> (*of)(const MeasuredRow& at);
  bool before = false;  // known of rows that do not run, too
};

const MeasureTraits& TraitsOf(Measure measure);

// Nothing: the row does not run, or the row that it is compared with does not.
std::optional<double> ValueOf(Measure measure, const MeasuredRow& at);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_ROWS_MEASURE_H_
