// The journal's row (a Sample) of one measurement: the item that was measured, then the figures.
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

// A row with the fields that distinguish rows (BenchKey) except the round, and without figures.
Sample BareRow(const BenchTarget& target, const BenchItem& item, const BenchVariant& variant);

// Adds times, the algorithm's properties, network, round, flags, and the host's `load`. The caller sets the date.
void FillRow(const BenchItem& item, const BenchVariant& variant, const LoopResult& result, double load, Sample* row);

// ---- The set-up of a row: host, device, driver, libraries, protocol. One journal may hold rows of several hosts, but
// not of several devices or libraries.
//
// A rented GPU may come back in another host, with a newer patch of the driver. Kernels and copies of the same device
// and libraries take nearly the same time there. So rows of both hosts stand in one journal, each with its own host,
// and nothing is measured twice. Another device, library, protocol or driver branch needs another journal.
//
//   told       host: processor and cores; the driver's patch: what stands behind the first dot of "driver 580.159.03"
//   refused    all else of device, driver, cuda, cudnn; of kernels the protocol (Sample::kind)

// The column `driver` without the driver's patch: "spillway 0.1, driver 580, cuBLAS 13.1". Unchanged if it names no
// driver.
std::string DriverBranch(const std::string& driver);

// The reasons why a row of set-up `there` may not stand in a journal of this run's set-up `here`: one sentence for each
// difference.
std::vector<std::string> SetupRefusals(const Sample& there, const Sample& here);

// One sentence for each set-up other than `here` among the rows: the number of its rows, its name, and the name of
// `here`.
std::vector<std::string> SetupWarnings(std::span<const Sample> rows, const Sample& here);

// One sentence for each set-up of the rows, in the order of the rows; empty if there is only one set-up.
std::vector<std::string> SetupNotes(std::span<const Sample> rows);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_MEASURE_ROW_H_
