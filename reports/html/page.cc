#include "reports/html/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <system_error>
#include <tuple>
#include <utility>

#include "hw/text/document.h"
#include "hw/text/text_file.h"
#include "reports/html/packed.h"
#include "reports/rows/result_columns.h"

namespace spillway {

namespace {

namespace fs = std::filesystem;
using ResultsJson = nlohmann::json;

constexpr std::string_view kFilesMark = "<!--FILES-->";
constexpr std::size_t kLargestFile = std::size_t{1} << 30;
// Timelines that are compressed in vain, as there is no room left for them, before the others are not tried.
constexpr int kMostMisses = 8;
constexpr double kSlow = 1.25;  // over the fastest's step: a row that the page's verdict explains
// In the order in which the page wants them; those of a run are not those of a validation.
constexpr const char* kShown[] = {"results.json", "validation.csv", "falsification.csv"};
// What of a row decides whether its timeline goes into the page. All else is dropped while it is read: a sweep has tens
// of thousands of rows.
constexpr std::string_view kKeys[] = {"scenario", "network",  "batch",       "machine", "memory_limit_bytes",
                                      "feasible", "strategy", "step_time_s", "point"};
constexpr int kRowDepth = 2;  // of a row's braces in {"results": [{...}]}

// All keys of a row that the page reads. `standing` it makes up where results are older than that.
const std::set<std::string_view>& NeededKeys() {
  static const std::set<std::string_view> keys = [] {
    std::set<std::string_view> needed;
    for (const ResultColumn& column : ResultColumns()) {
      if (column.place.page) needed.insert(column.name);
    }
    return needed;
  }();
  return keys;
}

[[noreturn]] void NotARunsResults(const std::string& file, const std::string& why) {
  throw UserError(fmt::format("{}: error: not what a run writes: {}", file, why));
}

void MustBeReadable(const ResultsJson& document, const std::string& file) {
  const auto format = document.find("format");
  if (format == document.end()) return;  // of before results said so
  const auto& version = document.at("version");
  const bool known = version.is_number_integer() && version >= 1 && version <= kResultsVersion;
  if (*format != kResultsFormat || !known) {
    throw UserError(fmt::format(
        "{}: error: expected {} of versions 1 to {}, found {} of version {}: written by another Spillway", file,
        kResultsFormat, kResultsVersion, format->dump(), document.value("version", ResultsJson()).dump()));
  }
}

// Of each row the keys of kKeys. Throws UserError where a row has not all that the page needs.
ResultsJson ParsedRows(const std::string& text, const std::string& file) {
  std::size_t row = 0, needed = 0;
  std::string list;  // in which the parser is
  const auto keep = [&](int depth, ResultsJson::parse_event_t event, ResultsJson& value) {
    const bool in_row = depth == kRowDepth && list == "results";
    if (event == ResultsJson::parse_event_t::object_start && in_row) needed = 0;
    if (event == ResultsJson::parse_event_t::object_end && in_row && (++row, needed != NeededKeys().size())) {
      NotARunsResults(file, fmt::format("row {} lacks {} of the {} keys that the page needs", row,
                                        NeededKeys().size() - needed, NeededKeys().size()));
    }
    if (event != ResultsJson::parse_event_t::key) return true;
    const std::string& key = value.get_ref<const std::string&>();
    if (depth == 1) {
      list = key;
      return key == "results" || key == "format" || key == "version";
    }
    if (depth != kRowDepth + 1 || list != "results") return false;
    if (NeededKeys().contains(key)) ++needed;
    return std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
  };
  try {
    ResultsJson document = ResultsJson::parse(text, keep);
    MustBeReadable(document, file);
    if (!document.at("results").is_array() || row == 0) NotARunsResults(file, "it holds no rows");
    return document;
  } catch (const ResultsJson::exception& error) {
    NotARunsResults(file, error.what());
  }
}

// The first columns of the tables that the page draws: their files' own (reports/README.md).
void MustBeginWith(std::string_view columns, const std::string& text, const std::string& file) {
  if (text.starts_with(columns)) return;
  throw UserError(fmt::format("{}:1: error: not what a validation writes: expected a first line that begins with {}",
                              file, columns));
}

void MustBeShown(std::string_view name, const std::string& text, const std::string& file) {
  if (name == "validation.csv") {
    MustBeginWith("network,batch,device,memory_limit_bytes,link_rate,strategy,predicted_s,measured_s,", text, file);
  }
  if (name == "falsification.csv") MustBeginWith("variant,median_error,worst_error,", text, file);
}

void AddFile(const std::string& name, std::string_view gzip, std::string& page) {
  page += fmt::format("<script type=\"application/gzip\" data-file=\"{}\">", name);
  page += Base64(gzip);
  page += "</script>\n";
}

std::string WithFiles(const std::string& elements) {
  std::string page(PageTemplate());
  const std::size_t mark = page.find(kFilesMark);
  if (mark == std::string::npos) throw std::logic_error("the page has no place for its files");
  return page.replace(mark, kFilesMark.size(), elements);
}

// So many bytes of these, compressed; none twice.
void AddWhileRoom(const fs::path& folder, const std::vector<std::string>& names, std::size_t room,
                  std::set<std::string>& added, std::string& page) {
  int misses = 0;
  for (const std::string& name : names) {
    const fs::path path = folder / name;
    std::error_code none;
    const std::uintmax_t size = fs::file_size(path, none);
    if (none || size > kLargestTimeline || added.contains(name)) continue;
    const auto gzip = GzipWithin(ReadTextFile(path.string(), "a result", kLargestTimeline), room);
    if (!gzip) {
      if (++misses == kMostMisses) break;
      continue;
    }
    room -= gzip->size();
    added.insert(name);
    AddFile(name, *gzip, page);
  }
}

std::vector<std::string> NamesOf(std::string_view form, const std::vector<std::string>& points) {
  std::vector<std::string> names;
  for (const std::string& point : points) names.push_back(fmt::format(fmt::runtime(form), point));
  return names;
}

struct TimelineWish {
  std::size_t row = 0;
  std::string setting;  // scenario, network, machine, memory limit
  std::int64_t batch = 0;
  double time = 0;
  std::string file;
  int rank = 2;  // less is more wanted
};

std::vector<TimelineWish> RunningRows(const ResultsJson& rows) {
  std::vector<TimelineWish> wanted;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ResultsJson& row = rows[i];
    if (row.at("feasible") != 1) continue;
    wanted.push_back({.row = i,
                      .setting = row.at("scenario").dump() + row.at("network").dump() + row.at("machine").dump() +
                                 row.at("memory_limit_bytes").dump(),
                      .batch = row.at("batch").get<std::int64_t>(),
                      .time = row.at("step_time_s").get<double>(),
                      .file = fmt::format("timelines/{}.trace.json", row.at("point").get<std::string>())});
  }
  return wanted;
}

// 0: of each setting the fastest at its largest batch, and the slow row that the verdict tells of beside its fastest;
// 1: the fastest of all other places; 2: the rest.
void Rank(std::vector<TimelineWish>& wanted) {
  struct Extremes {
    TimelineWish *fastest, *slowest;
  };
  std::map<std::string, std::map<std::int64_t, Extremes, std::greater<>>> settings;  // the largest batch first
  for (TimelineWish& one : wanted) {
    Extremes& place = settings[one.setting].try_emplace(one.batch, Extremes{&one, &one}).first->second;
    if (one.time < place.fastest->time) place.fastest = &one;
    if (one.time > place.slowest->time) place.slowest = &one;
  }
  for (auto& [setting, places] : settings) {
    bool told = false;
    for (auto& [batch, place] : places) {
      const bool slow = !told && place.slowest->time > kSlow * place.fastest->time;
      place.fastest->rank = slow || batch == places.begin()->first ? 0 : 1;
      if (slow) place.slowest->rank = 0;
      told = told || slow;
    }
  }
}

}  // namespace

std::vector<std::string> WantedTimelines(const std::string& results, const std::string& file) {
  const ResultsJson document = ParsedRows(results, file);
  std::vector<TimelineWish> wanted;
  try {
    wanted = RunningRows(document.at("results"));
  } catch (const ResultsJson::exception& error) {
    NotARunsResults(file, error.what());
  }
  Rank(wanted);
  std::sort(wanted.begin(), wanted.end(), [](const TimelineWish& a, const TimelineWish& b) {
    return std::tuple(a.rank, -a.batch, a.row) < std::tuple(b.rank, -b.batch, b.row);
  });
  std::vector<std::string> files;
  for (TimelineWish& one : wanted) {
    const bool inside =
        one.file.find("..") == std::string::npos && one.file.find_first_of("\\\"<>&\n") == std::string::npos;
    if (inside) files.push_back(std::move(one.file));
  }
  return files;
}

std::string PageOf(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string elements;
  for (const auto& [name, text] : files) AddFile(name, Gzip(text), elements);
  return WithFiles(elements);
}

std::string ReportPage(const fs::path& folder) {
  std::string page;
  std::set<std::string> added;
  std::size_t shown = 0;
  for (const char* name : kShown) {
    std::error_code none;
    if (!fs::exists(folder / name, none)) continue;
    const std::string text = ReadTextFile((folder / name).string(), "a result", kLargestFile);
    MustBeShown(name, text, (folder / name).string());
    AddFile(name, Gzip(text), page);
    ++shown;
    if (std::string_view(name) == "results.json") {
      AddWhileRoom(folder, WantedTimelines(text, (folder / name).string()), kMostTimelineBytes, added, page);
    } else if (std::string_view(name) == "validation.csv") {
      const std::vector<std::string> points = MeasuredPoints(text);
      AddWhileRoom(folder, NamesOf("ops/{}.csv", points), kMostOpsBytes, added, page);
      AddWhileRoom(folder, NamesOf("timelines/{}.trace.json", points), kMostTimelineBytes, added, page);
    }
  }
  if (shown == 0) {
    throw UserError(
        fmt::format("{}: error: nothing to show here: neither results.json of a run or comparison nor "
                    "validation.csv of a validation",
                    folder.string()));
  }
  return WithFiles(page);
}

}  // namespace spillway
