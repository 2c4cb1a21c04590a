// The journal's row of a measurement: what was measured, then what came out.
//
// Tested by bench_row_test (tests/).
#ifndef SPILLWAY_CALIBRATE_MEASURE_ROW_H_
#define SPILLWAY_CALIBRATE_MEASURE_ROW_H_

#include <span>
#include <string>
#include <vector>

#include "calibrate/measure/run.h"
#include "model/samples/sample.h"

namespace spillway {

// All that tells rows apart (BenchKey) but the round, and nothing measured.
Sample BareRow(const BenchTarget& target, const BenchItem& item, const BenchVariant& variant);

// Adds times, the algorithm's properties, the network, round and flags, and `load`, which is the host's. The date is the
// caller's.
void FillRow(const BenchItem& item, const BenchVariant& variant, const LoopResult& result, double load, Sample* row);

// ---- The set-up that rows of a journal come from: what may change from one machine to the next while rows keep their
// worth, and what may not.
//
// A rented GPU comes back as another machine: another host, the driver a patch newer. Kernels and copies of the same
// device on the same libraries are near enough the same there, so that rows of both stand in one journal, each under
// its own name, and nothing is measured twice. Another device, library, protocol or branch of the driver is another
// journal's matter.
//
//   told       host: processor and cores; the driver's patch: what stands behind the first dot of "driver 580.159.03"
//   refused    all else of device, driver, cuda, cudnn; of kernels the protocol (Sample::kind)

// The column `driver` less the driver's patch: "spillway 0.1, driver 580, cuBLAS 13.1". Without a driver in it as it is.
std::string DriverBranch(const std::string& driver);

// What keeps a row of `there` out of a journal that this run, `here`, writes to: a sentence for each thing that differs.
std::vector<std::string> SetupRefusals(const Sample& there, const Sample& here);

// Of the rows that are of another set-up than `here`, one sentence for each such set-up: how many, which, and which one
// this is.
std::vector<std::string> SetupWarnings(std::span<const Sample> rows, const Sample& here);

// Of rows from several set-ups a sentence for each of these, in the order of the rows; nothing where there is one.
std::vector<std::string> SetupNotes(std::span<const Sample> rows);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_MEASURE_ROW_H_
