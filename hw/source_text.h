// Where numbers come from, as profiles write it: {published: "..."}.
#ifndef SPILLWAY_HW_SOURCE_TEXT_H_
#define SPILLWAY_HW_SOURCE_TEXT_H_

#include <string>

#include "hw/document.h"
#include "hw/machine.h"

namespace spillway {

// A YAML text, always quoted: a text from a user may look like anything.
std::string Quoted(const std::string& text);
std::string SourceText(const Source& source);
// The map under the required key `source`.
Source ReadSource(MapReader& reader, Diagnostics& diagnostics);

}  // namespace spillway

#endif  // SPILLWAY_HW_SOURCE_TEXT_H_
