// Small words for tests of texts.
#ifndef SPILLWAY_TESTS_TEXT_H_
#define SPILLWAY_TESTS_TEXT_H_

#include <catch2/catch.hpp>
#include <string>

namespace spillway {

inline bool Contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// With the first `from` replaced. It must be there: a test of what is wrong with a text would pass without a change.
inline std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_TEXT_H_
