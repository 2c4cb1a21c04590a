// The journal's row of a measurement: what was measured, then what came out.
//
// Tested by bench_row_test (tests/).
#ifndef SPILLWAY_CALIBRATE_MEASURE_ROW_H_
#define SPILLWAY_CALIBRATE_MEASURE_ROW_H_

#include "calibrate/measure/run.h"

namespace spillway {

// All that tells rows apart (BenchKey) but the round, and nothing measured.
Sample BareRow(const BenchTarget& target, const BenchItem& item, const BenchVariant& variant);

// Adds times, the algorithm's properties, the network, and the note with round, flags and `load`, which is the host's. The
// date is the caller's.
void FillRow(const BenchItem& item, const BenchVariant& variant, const LoopResult& result, double load, Sample* row);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_MEASURE_ROW_H_
