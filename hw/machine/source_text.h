// Where numbers come from, as profiles write it: {published: "..."}.
#ifndef SPILLWAY_HW_MACHINE_SOURCE_TEXT_H_
#define SPILLWAY_HW_MACHINE_SOURCE_TEXT_H_

#include <string>

#include "hw/machine/machine.h"
#include "hw/text/document.h"

namespace spillway {

// A YAML text, always quoted: a text from a user may look like anything.
std::string Quoted(const std::string& text);
std::string SourceText(const Source& source);
// The map under the required key `source`.
Source ReadSource(MapReader& reader, Diagnostics& diagnostics);

}  // namespace spillway

#endif  // SPILLWAY_HW_MACHINE_SOURCE_TEXT_H_
