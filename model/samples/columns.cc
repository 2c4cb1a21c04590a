#include "model/samples/columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "hw/text/lists.h"
#include "model/samples/other_names.h"

namespace spillway {
namespace {

constexpr int kMostTold = 20;
constexpr double kLongestTime = 1e12;  // microseconds: eleven days

std::vector<std::string> TextsOf(const CsvRow& row) {
  std::vector<std::string> texts;
  for (const CsvCell& cell : row) texts.push_back(cell.text);
  return texts;
}

void CheckRequired(const CsvRow& header, const std::vector<Column>& missing, SampleErrors& errors) {
  if (missing.empty()) return;
  std::vector<std::string> names;
  for (const Column column : missing) {
    const std::string nearest = NearestName(NameOf(column), TextsOf(header));
    names.push_back(
        fmt::format("'{}'{}", NameOf(column), nearest.empty() ? "" : fmt::format(" (is it '{}'?)", nearest)));
  }
  errors.Error(header.front().mark, fmt::format("missing column{} {}; the first line names the columns",
                                                missing.size() == 1 ? "" : "s", fmt::join(names, ", ")));
}

// The columns of the format among a text's parts.
std::size_t ColumnsAmong(const std::string& text, char separator) {
  std::size_t columns = 0;
  for (std::size_t begin = 0, end = 0; begin <= text.size(); begin = end + 1) {
    end = std::min(text.find(separator, begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    if (ColumnCalled(part.substr(0, part.find_last_not_of(" \t\"") + 1))) ++columns;
  }
  return columns;
}

// Tables of other programs: one cell holds several names.
bool HasSeparators(const CsvCell& cell, SampleErrors& errors) {
  static constexpr std::pair<char, const char*> kSeparators[] = {
      {'\t', "tabs"}, {';', "semicolons"}, {'|', "bars"}, {':', "colons"}, {' ', "spaces"}};
  for (const auto& [separator, name] : kSeparators) {
    const bool spreadsheet = cell.text.starts_with("sep=") && cell.text.find(separator) != std::string::npos;
    if (!spreadsheet && ColumnsAmong(cell.text, separator) < 2) continue;
    errors.Error(cell.mark, fmt::format("cells are separated by {} here; expected commas between them, and points, not "
                                        "commas, in numbers",
                                        name));
    return true;
  }
  return false;
}

}  // namespace

bool HasOtherSeparators(std::string_view first_line, SampleErrors& errors) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (first_line.starts_with(kByteOrderMark)) first_line.remove_prefix(kByteOrderMark.size());
  CsvCell line{std::string(first_line), {1, 1}};
  std::erase(line.text, '"');
  return ColumnsAmong(line.text, ',') < 2 && HasSeparators(line, errors);
}

void SampleErrors::Error(Mark mark, std::string_view message) {
  const bool again = count_ > 0 && mark.line == last_.line && mark.column == last_.column && message == last_message_;
  if (again) return;  // of two axes that one cell says
  last_ = mark;
  last_message_ = message;
  if (++count_ <= kMostTold) diagnostics_.Error(mark, message);
}

void SampleErrors::ThrowIfAny() const {
  try {
    diagnostics_.ThrowIfAny();
  } catch (const UserError& error) {
    std::vector<std::string> messages = error.messages();
    if (count_ > kMostTold) {
      messages.push_back(fmt::format("{}: error: {} more errors", file(), count_ - kMostTold));
    }
    throw UserError(std::move(messages));
  }
}

ColumnMap::ColumnMap(const CsvRow& header, const std::vector<Column>& required, SampleErrors& errors,
                     std::vector<std::string>& warnings)
    : width_(header.size()) {
  cells_.fill(-1);
  for (const CsvCell& cell : header) {
    if (HasSeparators(cell, errors)) break;
  }
  errors.ThrowIfAny();
  for (std::size_t at = 0; at < header.size(); ++at) Place(header, at, errors, warnings);
  std::vector<Column> missing;
  for (const Column column : required) {
    if (!Has(column)) missing.push_back(column);
  }
  CheckRequired(header, missing, errors);
}

void ColumnMap::Place(const CsvRow& header, std::size_t at, SampleErrors& errors, std::vector<std::string>& warnings) {
  const CsvCell& cell = header[at];
  const std::optional<Column> known = ColumnCalled(cell.text);
  if (!known) {
    if (const OtherName* about = FindOtherName(cell.text)) unread_.push_back({at, about});
    const std::vector<std::string> names(kColumnNames.begin(), kColumnNames.end());
    warnings.push_back(fmt::format("{}:{}:{}: warning: column '{}' is not one of the format and not read{}",
                                   errors.file(), cell.mark.line, cell.mark.column, cell.text,
                                   DidYouMean(cell.text, names)));
    return;
  }
  int& place = cells_[static_cast<std::size_t>(*known)];
  if (place >= 0) {
    const std::string other = cell.text == NameOf(*known) ? "" : fmt::format(", which is read as '{}'", NameOf(*known));
    errors.Error(cell.mark, fmt::format("a second column '{}'{}", cell.text, other));
  }
  place = static_cast<int>(at);
}

const CsvCell* ColumnMap::Find(const CsvRow& row, Column column) const {
  const int at = cells_[static_cast<std::size_t>(column)];
  if (at < 0 || row[static_cast<std::size_t>(at)].text.empty()) return nullptr;
  return &row[static_cast<std::size_t>(at)];
}

std::string SampleRow::Text(Column column) const {
  const CsvCell* cell = columns_.Find(row_, column);
  return cell == nullptr ? "" : cell->text;
}

void SampleRow::Error(Column column, std::string_view message) {
  const CsvCell* cell = columns_.Find(row_, column);
  errors_.Error(cell == nullptr ? row_.front().mark : cell->mark, message);
  good_ = false;
}

std::int64_t SampleRow::Integer(Column column, std::int64_t fallback, std::int64_t min, std::int64_t max) {
  const CsvCell* cell = columns_.Find(row_, column);
  if (cell == nullptr) return fallback;
  const auto value = EqualNumbers(cell->text);
  if (value && *value >= min && *value <= max) return *value;
  Error(column,
        fmt::format("{}: expected a whole number from {} to {}, found '{}'", NameOf(column), min, max, cell->text));
  return std::max(min, std::min(fallback, max));
}

double SampleRow::Microseconds(Column column, bool may_be_zero) {
  const CsvCell* cell = columns_.Find(row_, column);
  if (cell == nullptr) return 0;
  const auto value = ParseNumber(cell->text);
  if (value && *value <= kLongestTime && (*value > 0 || (*value == 0 && may_be_zero))) return *value;
  Error(column, fmt::format("{}: expected microseconds {} zero, found '{}'", NameOf(column),
                            may_be_zero ? "of at least" : "above", cell->text));
  return 0;
}

void SampleRow::RefuseUnread(Matter matter) {
  for (const ColumnMap::Unread& unread : columns_.unread()) {
    const CsvCell& cell = row_[unread.at];
    if (unread.about->matter != matter || IsHarmless(*unread.about, cell.text)) continue;
    errors_.Error(cell.mark, fmt::format("'{}' of a column that is not read would change this op; {}", cell.text,
                                         unread.about->instead));
    good_ = false;
  }
}

int SampleRow::ChoiceOf(Column column, const std::string& word, const std::vector<std::string>& names) {
  const CsvCell* cell = columns_.Find(row_, column);
  if (cell == nullptr) return -1;
  if (const auto index = IndexIn(names, word)) return static_cast<int>(*index);
  Error(column, fmt::format("{}: unknown '{}', expected one of {}{}", NameOf(column), cell->text,
                            fmt::join(names, ", "), DidYouMean(cell->text, names)));
  return -1;
}

void SampleRow::Require(std::string_view what, const std::vector<Column>& columns) {
  std::vector<const char*> missing;
  for (const Column column : columns) {
    if (!Has(column)) missing.push_back(NameOf(column));
  }
  if (missing.empty()) return;
  errors_.Error(row_.front().mark, fmt::format("{} needs {}, empty here", what, fmt::join(missing, ", ")));
  good_ = false;
}

}  // namespace spillway
