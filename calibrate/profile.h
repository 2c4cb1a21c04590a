// A machine profile from a fit: the models of a base profile replaced by fitted ones.
#ifndef SPILLWAY_CALIBRATE_PROFILE_H_
#define SPILLWAY_CALIBRATE_PROFILE_H_

#include "calibrate/fit.h"
#include "hw/machine.h"

namespace spillway {

// `base` tells what samples cannot: memory, host, links, laws for ops that were not measured. Its device gets the
// models and call floors of the fit. What the fit had to weaken goes into the notes, each beginning with "fit: "; such
// notes of an earlier fit are taken out, so that fitting again gives the same profile.
Machine ProfileFrom(Machine base, const FitResult& fit);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_PROFILE_H_
