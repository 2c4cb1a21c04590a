// Laws of kernels with parameters of the test's choice.
#ifndef SPILLWAY_TESTS_FORM_VALUES_H_
#define SPILLWAY_TESTS_FORM_VALUES_H_

#include <catch2/catch.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/kernels/kernel_form.h"

namespace spillway {

using Values = std::vector<std::pair<std::string, double>>;  // by name; of equal names the last counts

// The parameters' start values with some replaced.
inline std::vector<double> StartValues(std::span<const FormParameter> parameters, const Values& replaced = {}) {
  std::vector<double> values;
  for (const FormParameter& p : parameters) values.push_back(p.start);
  for (const auto& [name, value] : replaced) {
    bool found = false;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (parameters[i].name != name) continue;
      values[i] = value;
      found = true;
    }
    INFO(name);
    REQUIRE(found);
  }
  return values;
}

inline double TimeOn(const Chip& chip, const KernelForm& form, const Launch& launch, const Values& replaced) {
  REQUIRE(form.Applies(launch));
  return form.time(launch, chip, StartValues(form.parameters, replaced));
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_FORM_VALUES_H_
