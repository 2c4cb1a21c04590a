#include "reports/rows/run_journal.h"

#include <nlohmann/json.hpp>

namespace spillway {

namespace {

using Json = nlohmann::ordered_json;
constexpr int kFormat = 1;  // of the lines

// Calls visit("key", field) for every field of a row, const or not: the fields written are the fields read.
template <typename Row, typename Visit>
void ForEachField(Row& row, const Visit& visit) {
#define ROW_FIELD(FIELD, KEY) visit(KEY, row.FIELD);
#define ROW_COLUMN(FIELD, KEY, ...) ROW_FIELD(FIELD, KEY)
#define ROW_FIGURE(...)
#include "reports/rows/row_fields.inc"
}

template <typename Field>
void Put(const Field& field, const char* key, Json& row) {
  row[key] = field;
}
template <typename Field>
void Take(const Json& row, const char* key, Field& field) {
  row.at(key).get_to(field);
}
// Few rows have tiles: only those have the key.
void Put(const TileCounts& tiles, const char* key, Json& row) {
  if (tiles.Any()) row[key] = {tiles.in_channels, tiles.out_channels, tiles.rows};
}
void Take(const Json& row, const char* key, TileCounts& tiles) {
  if (!row.contains(key)) return;
  row.at(key).at(0).get_to(tiles.in_channels);
  row.at(key).at(1).get_to(tiles.out_channels);
  row.at(key).at(2).get_to(tiles.rows);
}

std::string Line(const Json& object) { return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

template <typename T, typename Read>
std::optional<T> Parsed(std::string_view line, const Read& read) {
  try {
    const Json object = Json::parse(line);
    T result;
    read(object, result);
    return result;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::string JournalLine(const JournalHead& head) {
  return Line({{"spillway_run", kFormat},
               {"version", head.version},
               {"command", head.command},
               {"points", head.points},
               {"digests", head.digests}});
}

std::string JournalLine(const JournalEntry& entry) {
  Json row = Json::object();
  ForEachField(entry.row, [&row](const char* key, const auto& field) { Put(field, key, row); });
  return Line({{"row", row}, {"seconds", entry.seconds}, {"files", entry.files}});
}

std::optional<JournalHead> ReadJournalHead(std::string_view line) {
  auto head = Parsed<JournalHead>(line, [](const Json& object, JournalHead& to) {
    if (object.at("spillway_run").get<int>() != kFormat) return;
    object.at("version").get_to(to.version);
    object.at("command").get_to(to.command);
    object.at("points").get_to(to.points);
    object.at("digests").get_to(to.digests);
  });
  if (head && head->digests.empty()) head.reset();
  return head;
}

std::optional<JournalEntry> ReadJournalEntry(std::string_view line) {
  return Parsed<JournalEntry>(line, [](const Json& object, JournalEntry& to) {
    const Json& row = object.at("row");
    ForEachField(to.row, [&row](const char* key, auto& field) { Take(row, key, field); });
    object.at("seconds").get_to(to.seconds);
    object.at("files").get_to(to.files);
  });
}

std::vector<std::pair<std::string, std::string>> ReadJournalFiles(std::string_view line) {
  using Files = std::vector<std::pair<std::string, std::string>>;
  return Parsed<Files>(line, [](const Json& object, Files& to) { object.at("files").get_to(to); }).value_or(Files());
}

}  // namespace spillway
