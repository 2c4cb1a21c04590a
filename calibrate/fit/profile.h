// A machine profile from a fit: the models and links of a base profile replaced by fitted ones.
//
// Tested by profile_test, set_links_test and fit_transfer_test (tests/).
#ifndef SPILLWAY_CALIBRATE_FIT_PROFILE_H_
#define SPILLWAY_CALIBRATE_FIT_PROFILE_H_

#include <string>
#include <vector>

#include "calibrate/fit/fit.h"
#include "calibrate/fit/transfer.h"
#include "model/profile/machine.h"

namespace spillway {

// A figure with so many significant digits: none of a fit is known better than five.
double Digits(int digits, double value);

// `base` tells what samples cannot: memory, host, links, laws for ops that were not measured. Its device gets the
// models and call floors of the fit; laws that no launch reaches any more go. What the fit had to weaken goes into the
// notes, each beginning with "fit: "; such notes of an earlier fit are taken out, so that fitting again gives the same
// profile.
Machine ProfileFrom(Machine base, const FitResult& fit);

// Takes out the laws of the first device that no launch reaches, since its models serve them all.
void DropServedLaws(Machine* machine);

// ---- The links from fitted transfers.
//
// A profile's first link of a device leads to the near memory node, the second to the far one: samples of "local" and
// "remote" memory make them, or samples whose link has the very name of the profile's.

// Whose copies they were: columns host and device of the samples.
struct CopyPlace {
  std::string host, device;
  bool operator==(const CopyPlace&) const = default;
};

constexpr const char* kFitNote = "fit: ";     // how notes of a fit begin
constexpr const char* kLinkNote = "links: ";  // how notes of SetLinks begin

// In the order of the links.
std::vector<CopyPlace> PlacesOf(const TransferFit& fit);

struct LinkChoice {
  CopyPlace curves = {};
  CopyPlace duplex = {};      // where both directions at once were measured; no host: where the curves come from
  bool other_device = false;  // than the profile's: what its copies say of this machine is then assumed
  // Of a first link that is some times as fast as the measured one (another number of lanes): factor on the rates of
  // copies that the link limits, pinned and prefetched ones. The far link is limited by what joins the sockets, other
  // memory by staging and faults.
  double scale = 1;
};

// Puts the curves measured at `choice.curves` into the machine's links, and the duplex factor where it was measured; the
// rest of the links stays. Laws get the slowdown by copies that follows from the first link (LawSlowdown). Notes that
// begin with kLinkNote are replaced. Published curves get wider errors: the samples are of another specimen. The number
// of links set; one without samples of pinned memory in both directions stays as it was.
int SetLinks(const TransferFit& fit, const LinkChoice& choice, Machine* machine);

// The pinned curves and the duplex factor, if measured, of `fitted` in a link of a profile, and those of other memory
// where both directions are known; the rest of `link` stays. False, and nothing changed: no pinned curve in one of the
// directions.
bool SetCurves(const FittedLink& fitted, Link* link);

// 1 + share x rate / bandwidth, where share is the part of the memory bandwidth that the law uses and rate that of the
// first link: a copy takes its part of the memory bandwidth from a kernel that uses it. 1 for laws that operations
// bound. As in model/cost/cost_model.cc, for models; assumed, since no measurement was found.
double LawSlowdown(const CostLaw& law, const Device& device, double link_rate);

// Measured factors of the devices named, for the models and laws of their op and pass.
void SetSlowdowns(const std::vector<FittedSlowdown>& slowdowns, const std::vector<std::string>& devices,
                  Device* device);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_FIT_PROFILE_H_
