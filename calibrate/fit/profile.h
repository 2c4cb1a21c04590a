// A machine profile from a fit: the models of a base profile replaced by fitted ones.
#ifndef SPILLWAY_CALIBRATE_FIT_PROFILE_H_
#define SPILLWAY_CALIBRATE_FIT_PROFILE_H_

#include "calibrate/fit/fit.h"
#include "hw/machine/machine.h"

namespace spillway {

// `base` tells what samples cannot: memory, host, links, laws for ops that were not measured. Its device gets the
// models and call floors of the fit; laws that no launch reaches any more go. What the fit had to weaken goes into the
// notes, each beginning with "fit: "; such notes of an earlier fit are taken out, so that fitting again gives the same
// profile.
Machine ProfileFrom(Machine base, const FitResult& fit);

// Takes out the laws of the first device that no launch reaches, since its models serve them all.
void DropServedLaws(Machine* machine);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_FIT_PROFILE_H_
