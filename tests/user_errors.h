// What a user is told of a mistake.
#ifndef SPILLWAY_TESTS_USER_ERRORS_H_
#define SPILLWAY_TESTS_USER_ERRORS_H_

#include <functional>
#include <string>
#include <vector>

#include "hw/text/document.h"
#include "model/profile/machine.h"

namespace spillway {

// All of it at once; "no error" where nothing is thrown.
inline std::string ErrorOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

// Message by message, of a profile in small.yaml; none where it is read.
inline std::vector<std::string> ErrorsOfProfile(const std::string& profile) {
  try {
    ParseMachine(profile, "small.yaml");
  } catch (const UserError& error) {
    return error.messages();
  }
  return {};
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_USER_ERRORS_H_
