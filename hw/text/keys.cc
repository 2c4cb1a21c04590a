#include "hw/text/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "hw/text/lists.h"

namespace spillway {

const char* const kAnyText = "a text";
const char* const kTrueOrFalse = "true or false";
const char* const kASize = "a size such as 16 GiB or 16 GB";
const char* const kADuration = "a duration such as 5 us or 1.5 ms";
const char* const kABandwidth = "a bandwidth such as 12.5 GB/s";
const char* const kAFlopRate = "a computing rate such as 15.7 TFLOP/s";

namespace {

constexpr std::size_t kPageWidth = 100;

// Words of `text` on as many lines as it takes, the first with `head` before it, the others indented.
std::string Wrapped(const std::string& head, const std::string& text, std::size_t indent) {
  std::string lines, line = head;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (line.size() + word.size() > kPageWidth) {
      line.erase(line.find_last_not_of(' ') + 1);
      lines += line + "\n";
      line = std::string(indent, ' ');
    }
    line += word + " ";
    at = end + 1;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return lines + line + "\n";
}

std::string KeyText(const KeyRow& key) {
  std::string text = "(" + key.value;
  if (key.otherwise.starts_with(kRequiredKey)) {
    text += "; " + key.otherwise;
  } else if (!key.otherwise.empty()) {
    text += "; default: " + key.otherwise;
  }
  text += "): " + key.meaning;
  for (std::size_t i = 0; i < key.maps.size() && key.maps.size() <= 2; ++i) {
    text += fmt::format("{}{}", i == 0 ? "; keys: " : ", ", key.maps[i]->title);
  }
  if (key.maps.size() > 2) text += "; keys: see below";
  return Wrapped(fmt::format("- `{}` ", key.name), text + (text.ends_with('.') ? "" : "."), 2);
}

std::string TableText(const KeyTable& table) {
  std::string text = fmt::format("## {}\n\n", table.title);
  if (!table.note.empty()) text += Wrapped("", table.note, 0) + "\n";
  if (table.also != nullptr) {
    text += table.keys.empty() ? fmt::format("No keys but those of: {}.\n", table.also->title)
                               : fmt::format("Besides those of: {}.\n\n", table.also->title);
  }
  for (const KeyRow& key : table.keys) text += KeyText(key);
  return text + "\n";
}

}  // namespace

const KeyRow* KeyTable::Find(std::string_view name) const {
  for (const KeyRow& key : keys) {
    if (key.name == name) return &key;
  }
  return also != nullptr ? also->Find(name) : nullptr;
}

std::string WholeNumberFrom(std::int64_t min, std::int64_t max) {
  if (max == std::numeric_limits<std::int64_t>::max()) return fmt::format("a whole number from {} up", min);
  return fmt::format("a whole number from {} to {}", min, max);
}

std::string NumberFrom(double min, double max) {
  if (max >= std::numeric_limits<double>::max()) return fmt::format("a number from {} up", min);
  return fmt::format("a number from {} to {}", min, max);
}

std::string OneOf(const std::vector<std::string>& names) { return fmt::format("one of {}", fmt::join(names, ", ")); }

std::vector<const KeyTable*> TablesOf(const KeyTable& table) {
  std::vector<const KeyTable*> tables{&table};
  const auto add = [&tables](const KeyTable* more) {
    if (more != nullptr) AddOnce(tables, more);
  };
  for (std::size_t i = 0; i < tables.size(); ++i) {
    add(tables[i]->also);
    for (const KeyRow& key : tables[i]->keys) {
      for (const KeyTable* map : key.maps) add(map);
    }
  }
  return tables;
}

std::string KeyPage(const KeyTable& table) {
  std::string text;
  for (const KeyTable* part : TablesOf(table)) text += TableText(*part);
  text.pop_back();  // of the two line ends
  return text;
}

}  // namespace spillway
