// Strings for JSON written by streaming; escaping is the library's, never our own.
#ifndef SPILLWAY_REPORTS_JSON_TEXT_H_
#define SPILLWAY_REPORTS_JSON_TEXT_H_

#include <string>
#include <string_view>

namespace spillway {

// With its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string JsonString(std::string_view text);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_JSON_TEXT_H_
