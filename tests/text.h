// Small words for tests of texts.
#ifndef SPILLWAY_TESTS_TEXT_H_
#define SPILLWAY_TESTS_TEXT_H_

#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace spillway {

inline bool Contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
// Ahead of the template of hw/text/lists.h, wherever that is seen too.
inline bool Contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// With the first `from` replaced. It must be there: a test of what is wrong with a text would pass without a change.
inline std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

inline std::vector<std::string> LinesOf(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// What stands between spaces.
inline std::vector<std::string> WordsOf(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_TEXT_H_
