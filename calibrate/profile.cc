#include "calibrate/profile.h"

#include <cmath>

namespace spillway {
namespace {

constexpr const char* kFitNote = "fit: ";

// Halfway through the samples: a later call has no place in their order.
CallFloor FloorOf(const HarnessFloor& floor) {
  return {floor.harness, floor.op, floor.pass, std::llround((floor.first_ns + floor.last_ns) / 2)};
}

}  // namespace

Machine ProfileFrom(Machine base, const FitResult& fit) {
  Device& device = base.devices.at(0);
  device.models = fit.models;
  device.call_floors.clear();
  for (const HarnessFloor& floor : fit.floors) device.call_floors.push_back(FloorOf(floor));
  std::erase_if(base.notes, [](const std::string& note) { return note.starts_with(kFitNote); });
  for (const std::string& warning : fit.warnings) base.notes.push_back(kFitNote + warning);
  return base;
}

}  // namespace spillway
