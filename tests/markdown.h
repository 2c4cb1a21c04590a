// Pages in Markdown, taken apart for tests: code blocks, code spans, links, headings and sentences.
#ifndef SPILLWAY_TESTS_MARKDOWN_H_
#define SPILLWAY_TESTS_MARKDOWN_H_

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "tests/text.h"

namespace spillway {

struct Markdown {
  std::vector<std::string> code;   // lines of code blocks, fenced or indented by four spaces
  std::vector<std::string> prose;  // all other lines, without comments
};

inline std::string WithoutComments(std::string text) {
  for (std::size_t at = 0; (at = text.find("<!--", at)) != std::string::npos;) {
    const std::size_t end = text.find("-->", at);
    text.erase(at, end == std::string::npos ? end : end + 3 - at);
  }
  return text;
}

inline Markdown ParseMarkdown(const std::string& text) {
  Markdown page;
  bool fenced = false, indented = false, after_blank = true;
  for (const std::string& line : LinesOf(WithoutComments(text))) {
    const std::size_t first = line.find_first_not_of(' ');
    const bool blank = first == std::string::npos;
    if (!blank && line.compare(first, 3, "```") == 0) {
      fenced = !fenced;
      continue;
    }
    indented = line.starts_with("    ") && (indented || after_blank);
    (fenced || indented ? page.code : page.prose).push_back(line);
    after_blank = blank;
  }
  return page;
}

// Lines that belong together: a paragraph, a list item, a heading, or a row of a table.
inline std::vector<std::string> Paragraphs(const Markdown& page) {
  std::vector<std::string> paragraphs = {""};
  for (const std::string& line : page.prose) {
    const std::vector<std::string> words = WordsOf(line);
    if (words.empty()) {
      paragraphs.emplace_back();
      continue;
    }
    const bool numbered = words[0].size() > 1 && words[0].back() == '.' && std::isdigit(words[0][0]) != 0;
    const bool alone = words[0][0] == '|' || words[0][0] == '#';
    if (alone || numbered || words[0] == "-" || words[0] == "*") paragraphs.emplace_back();
    for (const std::string& word : words) paragraphs.back() += (paragraphs.back().empty() ? "" : " ") + word;
    if (alone) paragraphs.emplace_back();
  }
  std::erase(paragraphs, "");
  return paragraphs;
}

// The spans between backticks, and the paragraph with an X for each of them.
inline std::pair<std::vector<std::string>, std::string> CodeSpans(const std::string& paragraph) {
  std::vector<std::string> spans;
  std::string rest;
  std::size_t at = 0;
  while (true) {
    const std::size_t begin = paragraph.find('`', at);
    const std::size_t end = begin == std::string::npos ? begin : paragraph.find('`', begin + 1);
    if (end == std::string::npos) return {spans, rest + paragraph.substr(at)};
    spans.push_back(paragraph.substr(begin + 1, end - begin - 1));
    rest += paragraph.substr(at, begin - at) + "X";
    at = end + 1;
  }
}

// What the links of a paragraph lead to, and the paragraph with the links' texts alone.
inline std::pair<std::vector<std::string>, std::string> Links(const std::string& paragraph) {
  std::vector<std::string> targets;
  std::string rest;
  std::size_t at = 0;
  while (true) {
    const std::size_t begin = paragraph.find("](", at);
    const std::size_t end = begin == std::string::npos ? begin : paragraph.find(')', begin);
    if (end == std::string::npos) return {targets, rest + paragraph.substr(at)};
    targets.push_back(paragraph.substr(begin + 2, end - begin - 2));
    rest += paragraph.substr(at, begin - at);
    at = end + 1;
  }
}

// The anchor of a heading as GitHub makes it: lower case, words joined by '-', punctuation left out.
inline std::string AnchorOf(const std::string& heading) {
  std::string anchor;
  for (const char c : heading.substr(heading.find_first_not_of("# "))) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_')
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (c == ' ') anchor += '-';
  }
  return anchor;
}

inline bool HasLetterOrDigit(const std::string& word) {
  return std::any_of(word.begin(), word.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c >= 0x80; });
}

// The sentences of prose; tables and headings have none. A sentence ends with . ! ? or : before a capital letter.
inline std::vector<std::string> Sentences(const Markdown& page) {
  std::vector<std::string> sentences;
  for (const std::string& paragraph : Paragraphs(page)) {
    if (paragraph[0] == '|' || paragraph[0] == '#') continue;
    sentences.emplace_back();
    bool ended = false;
    for (const std::string& word : WordsOf(Links(CodeSpans(paragraph).second).second)) {
      const bool opens = std::isupper(static_cast<unsigned char>(word[0])) != 0 || word.find_first_of("\"([*") == 0;
      if (ended && opens) sentences.emplace_back();
      sentences.back() += (sentences.back().empty() ? "" : " ") + word;
      ended = word.find_last_of(".!?:") == word.size() - 1;
    }
  }
  std::erase_if(sentences, [](const std::string& sentence) { return !HasLetterOrDigit(sentence); });
  return sentences;
}

inline std::size_t WordCount(const std::string& sentence) {
  const std::vector<std::string> words = WordsOf(sentence);
  return static_cast<std::size_t>(std::count_if(words.begin(), words.end(), HasLetterOrDigit));
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_MARKDOWN_H_
