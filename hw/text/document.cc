// What goes with a document: finding in it, and messages about it. Parsing is in document_yaml.cc, reading of typed
// values in map_reader.cc.
#include "hw/text/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "hw/text/synonyms.h"

namespace spillway {

namespace {

constexpr int kExcerptWidth = 120;
constexpr std::size_t kMostMessages = 100;
constexpr std::size_t kLongestMessage = 500, kKeptEnd = 60;
constexpr std::size_t kStep = 4;  // of EditDistance

std::string Joined(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) {
    if (!all.empty()) all += '\n';
    all += line;
  }
  return all;
}

std::string_view LineOf(std::string_view text, int number) {
  for (int line = 1; line < number; ++line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  std::string_view line = text.substr(0, text.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool StartsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

// Appends the bytes [from, to) of a line as one column per character, unprintable ones as '?' or ' '.
int AppendVisible(std::string_view line, std::size_t from, std::size_t to, std::string& out) {
  int columns = 0;
  for (std::size_t i = from; i < to; ++i) {
    const auto byte = static_cast<unsigned char>(line[i]);
    if (StartsCharacter(line[i])) ++columns;
    out += line[i] == '\t' ? ' ' : byte < 0x20 || byte == 0x7F ? '?' : line[i];
  }
  return columns;
}

// The source line with a caret below `mark.column`; a long line is shown from a point left of the caret.
std::string Excerpt(std::string_view text, Mark mark) {
  const std::string_view line = LineOf(text, mark.line);
  const std::string number = fmt::format("{:5} | ", mark.line);
  const std::size_t width = kExcerptWidth - number.size();
  const std::size_t caret = std::min(static_cast<std::size_t>(std::max(mark.column, 1)) - 1, line.size());
  std::size_t from = line.size() <= width || caret < width * 3 / 4 ? 0 : caret - width / 2;
  while (from < caret && !StartsCharacter(line[from])) ++from;
  std::size_t to = std::min(line.size(), from + width);
  while (to < line.size() && to > caret && !StartsCharacter(line[to])) --to;
  std::string shown = number;
  const int before = AppendVisible(line, from, std::min(caret, to), shown);
  AppendVisible(line, std::min(caret, to), to, shown);
  const std::string margin(number.size() - 2, ' ');
  return fmt::format("{}\n{}| {:>{}}", shown, margin, '^', before + 1);
}

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Number of letters inserted, deleted, changed or swapped with their neighbour, in quarters; a difference in case alone
// is one quarter.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1), above(row), above_that(row);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = kStep * j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    above_that.swap(above);
    above.swap(row);
    row[0] = kStep * i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : Lower(a[i - 1]) == Lower(b[j - 1]) ? 1 : kStep;
      row[j] = std::min({above[j - 1] + change, above[j] + kStep, row[j - 1] + kStep});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], above_that[j - 2] + kStep);
    }
  }
  return row[b.size()];
}

// One line of a message: long and unprintable text that a file brought in does not spoil the layout. What a message ends
// with, often the nearest name, stays.
std::string OneLine(std::string_view message) {
  std::string line;
  std::size_t begin = 0;
  if (message.size() > kLongestMessage) {
    std::size_t end = kLongestMessage - kKeptEnd;
    begin = message.size() - kKeptEnd;
    while (end > 0 && !StartsCharacter(message[end])) --end;
    while (begin < message.size() && !StartsCharacter(message[begin])) ++begin;
    AppendVisible(message, 0, end, line);
    line += "...";
  }
  AppendVisible(message, begin, message.size(), line);
  return line;
}

}  // namespace

UserError::UserError(std::vector<std::string> messages)
    : std::runtime_error(Joined(messages)), messages_(std::move(messages)) {}
UserError::UserError(const std::string& message) : UserError(std::vector<std::string>{message}) {}

const Node* Node::Find(std::string_view key) const {
  for (const Entry& entry : entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

Diagnostics::Diagnostics(const Document& document) : document_(&document) {
  for (const auto& [mark, message] : document.mistakes) Error(mark, message);
}

void Diagnostics::Error(Mark mark, std::string_view message) {
  const std::string line = OneLine(message);
  std::string text = mark.line <= 0 ? fmt::format("{}: error: {}", file(), line)
                                    : fmt::format("{}:{}:{}: error: {}", file(), mark.line, mark.column, line);
  // Without limit here a file of nothing but mistakes would need its square in memory.
  if (mark.line > 0 && messages_.size() < 2 * kMostMessages) text += '\n' + Excerpt(document_->text, mark);
  messages_.emplace_back(mark, std::move(text));
}

void Diagnostics::ThrowIfAny() const {
  if (messages_.empty()) return;
  std::vector<const std::pair<Mark, std::string>*> order;
  for (const auto& message : messages_) order.push_back(&message);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->first.line, a->first.column) < std::pair(b->first.line, b->first.column);
  });
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(order.size(), kMostMessages); ++i) texts.push_back(order[i]->second);
  if (order.size() > kMostMessages) {
    texts.push_back(fmt::format("{}: error: {} more errors", file(), order.size() - kMostMessages));
  }
  throw UserError(std::move(texts));
}

namespace {

// Two letters begin too many names to mean one.
constexpr std::size_t kShortestBeginning = 3;

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

std::string ShortestBeginningWith(std::string_view beginning, const std::vector<std::string>& candidates) {
  std::string best;
  if (beginning.size() < kShortestBeginning) return best;
  for (const std::string& candidate : candidates) {
    const bool begins = LowerCase(candidate).starts_with(LowerCase(beginning));
    if (begins && (best.empty() || candidate.size() < best.size())) best = candidate;
  }
  return best;
}

}  // namespace

std::string NearestName(std::string_view name, const std::vector<std::string>& candidates) {
  std::string best = SynonymIn(name, candidates);
  if (!best.empty()) return best;
  std::size_t best_distance = std::numeric_limits<std::size_t>::max();
  for (const std::string& candidate : candidates) {
    const std::size_t longer = std::max(name.size(), candidate.size());
    const std::size_t shorter = std::min(name.size(), candidate.size());
    if (3 * (longer - shorter) > longer) continue;  // too far apart, whatever the letters
    const std::size_t distance = EditDistance(name, candidate);
    if (3 * distance > kStep * longer || distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  return best.empty() ? ShortestBeginningWith(name, candidates) : best;
}

std::string DidYouMean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string nearest = NearestName(name, candidates);
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

}  // namespace spillway
