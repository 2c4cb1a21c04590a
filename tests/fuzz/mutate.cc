#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <utility>

namespace spillway::fuzz {

namespace {

using Random = std::mt19937_64;

constexpr std::array kTokens = {
    "0",
    "-1",
    "1",
    "9223372036854775807",
    "9223372036854775808",
    "1e308",
    "-0.0",
    "nan",
    ".inf",
    "1e-320",
    "1 GiB",
    "1 GB",
    "7 us",
    "~",
    "null",
    "true",
    "[]",
    "{}",
    "[",
    "{",
    "}",
    "]",
    ": ",
    "- ",
    "\n",
    "\t",
    "#",
    "&a ",
    "*a",
    "<<: *a",
    "!!int",
    "|\n",
    "\"",
    "'",
    "? ",
    "---\n",
    "...",
    "%TAG",
    "\r\n",
    "\xff\xfe",
    "0x10",
    "010",
    "name",
    "batch",
    "\xc3\xa9",
    ",",
};

std::size_t Below(std::size_t limit, Random& random) { return limit == 0 ? 0 : random() % limit; }

// Begin and end of a line, its newline included.
std::pair<std::size_t, std::size_t> RandomLine(const std::string& text, Random& random) {
  std::size_t middle = Below(text.size(), random);
  std::size_t before = middle == 0 ? std::string::npos : text.rfind('\n', middle - 1);
  std::size_t after = text.find('\n', middle);
  return {before == std::string::npos ? 0 : before + 1, after == std::string::npos ? text.size() : after + 1};
}

void ReplaceNumber(std::string& text, const std::string& token, Random& random) {
  std::size_t begin = text.find_first_of("0123456789", Below(text.size(), random));
  if (begin == std::string::npos) return;
  std::size_t end = begin;
  while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
  text.replace(begin, end - begin, token);
}

// Begin and end of a word: a name, a number, a key.
std::pair<std::size_t, std::size_t> RandomWord(const std::string& text, Random& random) {
  constexpr const char* kBetweenWords = " \t\n,:\"'[]{}";
  std::size_t begin = text.find_first_not_of(kBetweenWords, Below(text.size(), random));
  if (begin == std::string::npos) return {0, 0};
  return {begin, std::min(text.size(), text.find_first_of(kBetweenWords, begin))};
}

// The text stays close to meaningful: another op, another tensor, another number.
void ReplaceWord(std::string& text, Random& random) {
  auto [from, from_end] = RandomWord(text, random);
  auto [to, to_end] = RandomWord(text, random);
  const std::string word = text.substr(from, from_end - from);
  text.replace(to, to_end - to, word);
}

void MoveLine(std::string& text, bool keep, Random& random) {
  auto [begin, end] = RandomLine(text, random);
  std::string line = text.substr(begin, end - begin);
  if (!keep) text.erase(begin, end - begin);
  text.insert(RandomLine(text, random).first, line);
}

void Change(std::string& text, Random& random) {
  const std::string token = kTokens[Below(kTokens.size(), random)];
  const std::size_t at = Below(text.size() + 1, random);
  switch (random() % 11) {
    case 0:  // one byte becomes another
      if (at < text.size()) text[at] = static_cast<char>(random() & 0xff);
      break;
    case 1:
      text.insert(at, token);
      break;
    case 2:
      text.erase(at, Below(8, random) + 1);
      break;
    case 3:
    case 4:
      ReplaceNumber(text, token, random);
      break;
    case 5:
      MoveLine(text, false, random);
      break;
    case 6:  // a line twice
      MoveLine(text, true, random);
      break;
    case 7: {  // a line less
      auto [begin, end] = RandomLine(text, random);
      text.erase(begin, end - begin);
      break;
    }
    case 8:  // indented otherwise
      text.insert(RandomLine(text, random).first, 1 + Below(3, random), ' ');
      break;
    case 9:
      ReplaceWord(text, random);
      break;
    default:  // cut short, or nested deeply; both rarely
      if (random() % 8 == 0) text.resize(at);
      if (random() % 8 == 0) text.insert(at, Below(200, random), '[');
  }
}

}  // namespace

std::string Mutate(std::string text, Random& random) {
  const bool close = random() % 2 == 0;  // half of the texts stay close to what their author meant
  for (std::size_t changes = 1 + Below(8, random); changes > 0; --changes) {
    if (close) {
      ReplaceWord(text, random);
    } else {
      Change(text, random);
    }
  }
  return text;
}

}  // namespace spillway::fuzz
