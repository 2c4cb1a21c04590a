// What Fit does before and behind the solving; for fit.cc.
#ifndef SPILLWAY_CALIBRATE_FIT_FIT_INTERNAL_H_
#define SPILLWAY_CALIBRATE_FIT_FIT_INTERNAL_H_

#include <span>
#include <string>
#include <vector>

#include "calibrate/fit/group.h"
#include "calibrate/fit/validate.h"

namespace spillway {

// ---- What of a fit's input is refused, and what weakens it and must be said.

// Throws UserError as fit.h says.
void CheckDevices(std::span<const Sample> samples, const FitOptions& options);

// Adds a sentence for each: hardly any layers; repeated measurements that disagree.
void WarnOfWeakData(const FitGroup& group, std::span<const Sample> samples, std::vector<std::string>* warnings);

// ---- From a group's fit to the kernel models of a profile: parameters, errors, range, and where they come from.

// Where the samples say next to nothing of a model (fit/model.cc says how that is judged), its Source is `assumed` and
// names what its parameters come from instead.
struct GroupModels {
  std::vector<KernelModel> models;  // one per candidate
  // False: nothing at all is known, neither here nor from another device. Such a model is no part of a profile: a
  // prediction takes the fastest of all models, and a wild guess that is too fast would win.
  std::vector<bool> known;
};
// `held_out`: cross-validated by layer, one per row; rows without one leave the errors to guesses. `outside`: the same
// with whole networks and sources left out, which is what errors are stated for.
GroupModels ModelsOf(const FitGroup& group, const GroupFit& fit, std::span<const RowPrediction> held_out,
                     std::span<const RowPrediction> outside, std::span<const Sample> samples,
                     const FitOptions& options);

// Carried models of (op, pass, math) that have no samples here at all: taken over, `assumed`, errors widened.
std::vector<KernelModel> CarriedAlone(std::span<const FitGroup> groups, const FitOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_FIT_FIT_INTERNAL_H_
