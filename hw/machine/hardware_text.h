// Figures as text in profiles, with where they come from. What is wrong goes to the diagnostics, with its place.
#ifndef SPILLWAY_HW_MACHINE_HARDWARE_TEXT_H_
#define SPILLWAY_HW_MACHINE_HARDWARE_TEXT_H_

#include <fmt/format.h>

#include <span>
#include <string>
#include <vector>

#include "hw/machine/figures.h"
#include "hw/text/document.h"

namespace spillway {

// ---- Where numbers come from: {published: "..."}.

// A YAML text, always quoted: a text from a user may look like anything.
std::string Quoted(const std::string& text);
std::string SourceText(const Source& source);
// The map under the required key `source`.
Source ReadSource(MapReader& reader, Diagnostics& diagnostics);

// ---- Links and their transfer curves. Their keys are listed in hardware_keys.cc.

// One entry of `links`, which leads from one of `hosts` to one of `devices`, by name. An end that is not there is -1.
Link ReadLink(const Node& node, const std::vector<std::string>& hosts, const std::vector<std::string>& devices,
              Diagnostics& diagnostics);

// ---- What the readers of the parts of a profile share.

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

#endif  // SPILLWAY_HW_MACHINE_HARDWARE_TEXT_H_
