// report.html: the results of a run, a comparison or a validation as one file to look at. A calibration leaves such a
// page too, next to its profile.
//
// The file is reports/html/dist/page.html (built from the sources next to it, see reports/html/README.md), followed by
// the folder's own files unchanged, each compressed:
//
//   <script type="application/gzip" data-file="results.json">BASE64</script>
//
// The page reads only these formats (reports/README.md, reports/trace/trace.h) and has no data of its own. It opens
// from a disk and makes no network request.
//
// The file of a calibration holds what was measured and what the profile's models answer. calibration.csv has a row for
// each sample of a kernel, and of a copy between host and device:
//
//   what                kernel or copy
//   op, pass, shape, algorithm     of a kernel, as profiles write them; algorithm empty: the library's choice
//   direction, bytes, rows         of a copy: h2d or d2h; rows > 1: pitched
//   measured_s, low_s, high_s      median, 10th and 90th percentile
//   predicted_s         by the models fitted to these samples, not by looking the very launch up, as plans do
//   error               predicted / measured - 1
//   how                 as Cost::how: model, model beyond its data, law, roofline, curve, ...
//   flags               what is to be said of the sample: noisy, ...
//
// Tested by page_test, calibration_page_test and tests/reports/html.
#ifndef SPILLWAY_REPORTS_HTML_PAGE_H_
#define SPILLWAY_REPORTS_HTML_PAGE_H_

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/profile/machine.h"
#include "model/samples/sample.h"

namespace spillway {

// Bytes of compressed timelines that a page holds at most, and the size of the largest timeline file that is read for
// it.
//
// The timelines most wanted come first (WantedTimelines). For each machine and memory limit they are the fastest
// strategy at the largest batch, and the slow one that the verdict compares with it. Then come the fastest at other
// batches, then all others, from large batches to small. A timeline that is too large is left out, and later ones may
// take its room. The page marks missing timelines and offers to open them from their files.
constexpr std::size_t kMostTimelineBytes = 900'000;
constexpr std::size_t kLargestTimeline = std::size_t{48} << 20;

// Bytes of compressed op tables of validated plans that a page holds at most, in addition. After a validation, tables
// and timelines of the plans farthest from their prediction come first.
constexpr std::size_t kMostOpsBytes = 400'000;

// The text of report.html for the files in `folder` that the page can show. Throws UserError if there are none, if one
// cannot be read, or if one has another format: results.json of another version, without rows, or with rows that lack a
// key that the page needs; validation.csv or falsification.csv with other first columns.
std::string ReportPage(const std::filesystem::path& folder);

// `machine`: the profile fitted to the samples.
std::string CalibrationPage(std::span<const Sample> samples, const Machine& machine);
std::string CalibrationCsv(std::span<const Sample> samples, const Machine& machine);
// A page with texts, by the names that it knows them by.
std::string PageOf(const std::vector<std::pair<std::string, std::string>>& files);

// ---- Steps of making them.

// The page without files, as the build put it into the program.
std::string_view PageTemplate();

// The timeline files (timelines/POINT.trace.json) of the rows in the text of results.json, the most wanted first.
// Throws UserError, naming `file`, if the text is not what a run writes.
std::vector<std::string> WantedTimelines(const std::string& results, const std::string& file);
// The points that were measured, from the text of validation.csv, the step farthest from its prediction first. Empty if
// the file is from a version without the column of points.
std::vector<std::string> MeasuredPoints(const std::string& validation);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_HTML_PAGE_H_
