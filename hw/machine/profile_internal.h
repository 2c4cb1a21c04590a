// What the readers of the parts of a profile share.
#ifndef SPILLWAY_HW_MACHINE_PROFILE_INTERNAL_H_
#define SPILLWAY_HW_MACHINE_PROFILE_INTERNAL_H_

#include <fmt/format.h>

#include <string>
#include <vector>

#include "hw/text/document.h"

namespace spillway {

// "device 'gpu0'", or "device" while it has no name.
inline std::string Called(const char* what, const Node& node) {
  const Node* name = node.Find("name");
  return name != nullptr && name->IsScalar() ? fmt::format("{} '{}'", what, name->scalar) : what;
}

// Reads the items of `list` (none when it is nullptr) by `read`, at least `least` of them, each called `what` in
// messages.
template <typename T, typename ReadItem>
std::vector<T> ReadList(const Node* list, std::size_t least, const std::string& what, Diagnostics& diagnostics,
                        ReadItem read) {
  std::vector<T> values;
  if (list == nullptr) return values;
  if (!list->IsSequence()) {
    diagnostics.Error(list->mark, fmt::format("expected a list, one entry for each {}", what));
  } else if (list->items.size() < least) {
    diagnostics.Error(list->mark, fmt::format("expected at least {} {}{}", least, what, least == 1 ? "" : "s"));
  }
  for (const Node& item : list->items) values.push_back(read(item));
  return values;
}

}  // namespace spillway

#endif  // SPILLWAY_HW_MACHINE_PROFILE_INTERNAL_H_
