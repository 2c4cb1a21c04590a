// What of a fit's input is refused, and what weakens it and must be said.
#ifndef SPILLWAY_CALIBRATE_FIT_CHECKS_H_
#define SPILLWAY_CALIBRATE_FIT_CHECKS_H_

#include <span>
#include <string>
#include <vector>

#include "calibrate/fit/group.h"

namespace spillway {

// Throws UserError as fit.h says.
void CheckDevices(std::span<const Sample> samples, const FitOptions& options);

// Adds a sentence for each: hardly any layers; repeated measurements that disagree.
void WarnOfWeakData(const FitGroup& group, std::span<const Sample> samples, std::vector<std::string>* warnings);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_FIT_CHECKS_H_
