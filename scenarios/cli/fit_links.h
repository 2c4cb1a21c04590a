// spillway fit: whose copies were meant, and putting them into a profile.
//
// Tested by cli_fit_links_test (tests/).
#ifndef SPILLWAY_SCENARIOS_CLI_FIT_LINKS_H_
#define SPILLWAY_SCENARIOS_CLI_FIT_LINKS_H_

#include <string>
#include <vector>

#include "calibrate/fit/profile.h"
#include "calibrate/fit/transfer.h"
#include "model/profile/machine.h"
#include "model/samples/file.h"
#include "scenarios/output/console.h"

namespace spillway {

struct FitAsked {
  std::vector<std::string> samples;  // files
  std::string out, base, carry;      // profiles
  std::string report;                // where the report goes, without ending
  std::vector<std::string> devices;  // whose samples are used
  std::string copies, duplex;        // HOST or HOST@DEVICE whose copies make the links
  double copies_scale = 1;           // factor on the rates of the near link
  bool links_only = false;
};

struct LinkFit {
  TransferFit transfers;
  LinkChoice choice;
};

// Fits the copies and finds those that --copies and --duplex name. UserError: no such copies, or of several devices.
LinkFit FitLinks(const FitAsked& asked, const SampleSet& set);

// Sets the links of `machine` and says so. UserError: none of its links was measured.
void ApplyLinks(const FitAsked& asked, const LinkFit& fit, Console& console, Machine* machine);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CLI_FIT_LINKS_H_
