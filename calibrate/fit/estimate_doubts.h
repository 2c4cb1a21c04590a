// What makes an estimate less than its rows ask for.
#ifndef SPILLWAY_CALIBRATE_FIT_ESTIMATE_DOUBTS_H_
#define SPILLWAY_CALIBRATE_FIT_ESTIMATE_DOUBTS_H_

#include <span>
#include <string>
#include <vector>

#include "calibrate/sample/sample.h"
#include "hw/machine/chips.h"
#include "hw/machine/machine.h"

namespace spillway {

// A sentence, "file:line: warning: ...", for each harness of a kernel that no call floor of the profile is of, and for
// each device that is not the profile's: one of hw/chips/chips.yaml whose figures are others, or one unknown there by
// another name than the profile's. Each once, at the first row that names it.
std::vector<std::string> DoubtsAbout(std::span<const Sample> operations, const std::string& file,
                                     const Machine& machine, std::span<const ChipFigures> chips);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_FIT_ESTIMATE_DOUBTS_H_
