// What a rehearsal is told, by the environment variable SPILLWAY_REHEARSAL:
//
//   SPILLWAY_REHEARSAL="profile=hw/h100-sxm.yaml; noise=0.01; memory=80GB; speed=1"
//
// Words in any order, each at most once, all of them optional; blanks do not matter. Anything else is refused.
#ifndef SPILLWAY_TESTS_CUDA_REHEARSAL_SETTINGS_H_
#define SPILLWAY_TESTS_CUDA_REHEARSAL_SETTINGS_H_

#include <string>
#include <string_view>

#include "hw/text/units.h"

namespace spillway {

struct RehearsalSettings {
  std::string profile{};  // "": h100-sxm.yaml in hw/ beside the plugin; otherwise a path, from the working folder
  double noise = 0.01;    // standard deviation of the logarithm of what kernels and copies take, 0 to 1
  Bytes memory = 0;       // of the device; 0: the profile's
  double speed = 1;       // kernels and copies are this many times as fast as the profile says, 0.001 to 1000
};

// Throws UserError: what is wrong with which word, and what is known.
RehearsalSettings ParseRehearsalSettings(std::string_view text);

}  // namespace spillway

#endif  // SPILLWAY_TESTS_CUDA_REHEARSAL_SETTINGS_H_
