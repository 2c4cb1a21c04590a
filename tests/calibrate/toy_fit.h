// A made-up device with two algorithms, and samples of it to fit.
#ifndef SPILLWAY_TESTS_CALIBRATE_TOY_FIT_H_
#define SPILLWAY_TESTS_CALIBRATE_TOY_FIT_H_

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "calibrate/fit/fit.h"
#include "calibrate/fit/validate.h"
#include "model/stats/quantile.h"
#include "tests/calibrate/toy_forms.h"

namespace spillway::toy {

inline const std::vector<KernelForm>& ToyForms() {
  static const std::vector<KernelForm> kForms = Forms();
  return kForms;
}

inline FitOptions Options() {
  FitOptions options;
  options.devices = {{"toy", kChip}};
  options.forms = ToyForms();
  return options;
}

// What the toy algorithms take with the given efficiency and fixed time, nanoseconds.
inline double Steady(const Sample& s, double efficiency, double fixed, const Chip& chip = kChip) {
  return SteadyTime(s.launch, chip, std::vector<double>{efficiency, fixed});
}
inline double Fast(const Sample& s, double efficiency, double fixed, const Chip& chip = kChip) {
  return FastTime(s.launch, chip, std::vector<double>{efficiency, fixed});
}

// Layers of 8, 12, 18, 26 ... channels at batches 1, 8, 64.
inline std::vector<Sample> Layers() {
  std::vector<Sample> samples;
  for (double c = 8; c < 800; c *= 1.45) {
    for (const std::int64_t n : {1, 8, 64}) samples.push_back(Convolution(n, std::llround(c)));
  }
  return samples;
}

inline const KernelModel& ModelNamed(const FitResult& fit, const std::string& form) {
  const auto found =
      std::find_if(fit.models.begin(), fit.models.end(), [&](const KernelModel& m) { return m.form == form; });
  REQUIRE(found != fit.models.end());
  return *found;
}

inline bool Warns(const FitResult& fit, const std::string& text) {
  return std::any_of(fit.warnings.begin(), fit.warnings.end(),
                     [&](const std::string& w) { return w.find(text) != std::string::npos; });
}

inline double MedianError(const FitResult& fit, const std::vector<Sample>& samples) {
  std::vector<std::pair<double, double>> errors;
  for (const HeldOut& h : fit.held_out) {
    errors.emplace_back(std::abs(h.predicted_us / samples[static_cast<std::size_t>(h.sample)].microseconds - 1), 1);
  }
  return WeightedQuantile(std::move(errors), 0.5);
}

// The faster of steady at efficiency 0.4 and 1 us, and fast at 0.35 and 30 us: fast wins on large layers.
inline std::vector<Sample> BestOfBoth() {
  std::vector<Sample> samples = Layers();
  for (Sample& s : samples) {
    s.best = true;
    s.microseconds = std::min(Steady(s, 0.4, 1000), Fast(s, 0.35, 30000)) / 1000;
  }
  return samples;
}

}  // namespace spillway::toy

#endif  // SPILLWAY_TESTS_CALIBRATE_TOY_FIT_H_
