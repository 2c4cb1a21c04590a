// A machine profile from a fit: the models of a base profile replaced by fitted ones.
#ifndef SPILLWAY_CALIBRATE_PROFILE_H_
#define SPILLWAY_CALIBRATE_PROFILE_H_

#include <string>
#include <vector>

#include "calibrate/fit.h"
#include "calibrate/fit_transfer.h"
#include "hw/machine.h"

namespace spillway {

// `base` tells what samples cannot: memory, host, links, laws for ops that were not measured. Its device gets the
// models and call floors of the fit; laws that no launch reaches any more go. What the fit had to weaken goes into the
// notes, each beginning with "fit: "; such notes of an earlier fit are taken out, so that fitting again gives the same
// profile.
Machine ProfileFrom(Machine base, const FitResult& fit);

// The hosts whose links were measured, in order.
std::vector<std::string> HostsOf(const TransferFit& fit);
// Puts the curves measured on `host` into the machine's links: "local" into the first, "remote" into the second. The
// number of links set; one without samples of pinned memory in both directions stays as it was.
int SetLinks(const TransferFit& fit, const std::string& host, Machine* machine);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_PROFILE_H_
