// gzip (RFC 1952) and base64 (RFC 4648): how report.html holds the files behind it, and how people keep timelines.
//
// Tested by page_test.
#ifndef SPILLWAY_REPORTS_HTML_PACKED_H_
#define SPILLWAY_REPORTS_HTML_PACKED_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace spillway {

// Without a name or a time, so that the same text has the same bytes.
std::string Gzip(std::string_view text);
// The same where it takes at most so many bytes; what takes more is given up once that is known.
std::optional<std::string> GzipWithin(std::string_view text, std::size_t most);
// What was compressed, of bytes that begin as gzip does; any others as they are. UserError, with `file` as its name: damaged,
// cut off, or of more than `most` bytes.
std::string Unpacked(std::string bytes, const std::string& file, std::size_t most);
// With padding and without line ends.
std::string Base64(std::string_view bytes);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_HTML_PACKED_H_
