// Reports of plans that PyTorch carried out (carrier.report(file) of calibrate/torch), as results of a validation.
//
// A file holds a report of each kind of step that ran, such as the first micro batch: each has its own plan, which it is
// compared with. A report is one plan. Reports of one network, batch, machine and memory limit form a case. A context is one forward with
// its backward. Whole contexts count: the track was kept, and as many recorded calls passed as in the longest one. The first
// of three or more is left out, as it warms up. Two reports of one plan, with and without counted bytes, make one row: peaks
// of the former, times of the latter.
//
// The file: JSON, `format` spillway-carried, `version` 1 (calibrate/torch/README.md). Unknown keys are passed over, as
// carriers may add some. Sizes are bytes.
//
// Tested by carried_report_test and cli_carried_test (tests/).
#ifndef SPILLWAY_CALIBRATE_VALIDATE_CARRIED_H_
#define SPILLWAY_CALIBRATE_VALIDATE_CARRIED_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/validate/results.h"

namespace spillway {

constexpr const char* kCarriedFormat = "spillway-carried";
constexpr std::int64_t kCarriedVersion = 1;

// One forward and backward under a carrier. 0: not counted.
struct CarriedContext {
  std::int64_t kind = 0;  // of the step: index into the file's `kinds`
  double seconds = 0;
  Nanos predicted = 0;  // of the calls that passed; 0: the report does not say
  std::int64_t clock = 0, matched = 0, extra = 0, missing = 0;
  std::string lost_at{};  // the call at which the track was lost; "": it was kept
  Bytes counted = 0;      // of all storages, at the peak
  Bytes allocated = 0, reserved = 0, process = 0;
  Bytes Device() const { return reserved > 0 ? reserved : process; }
};

// Of all contexts of a kind. A file lists the last ones only.
struct CarriedSums {
  std::int64_t contexts = 0, extra = 0, missing = 0, lost = 0;
  Bytes counted = 0;  // the highest peak of those that kept the track to the end of backward
};

// `file` names the kind too, where there are several.
struct CarriedReport {
  std::string file, network, strategy, machine, device;
  std::int64_t batch = 1;
  Bytes capacity = 0, predicted_peak = 0, predicted_host = 0, host = 0;
  Nanos predicted_step = 0;
  std::vector<CarriedContext> contexts{};  // at least one
  CarriedSums all{};
  std::vector<std::pair<std::string, std::int64_t>> extra_calls{};  // calls that the recording lacks, with numbers
};

// One for each kind of step that has a context. Throws UserError, with file and place: no JSON, another format or version, a
// key that is missing or no number, a context of no kind, no context.
std::vector<CarriedReport> LoadCarriedReports(const std::string& path);

struct CarriedResults {
  ValidationSet set;
  std::vector<std::string> failures;  // plans without a whole context, and peaks above the memory limit
};
// `seed`: of the intervals' draws. REQUIRES: at least one report.
CarriedResults ValidateCarried(const std::vector<CarriedReport>& reports, std::uint64_t seed);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_CARRIED_H_
