// The pages that runs leave to look at, each one file: report.html of a folder, and calibration.html of a calibration.
//
// A page is reports/html/dist/page.html, built from the sources beside it (reports/html/README.md), and after it the files
// that it shows, each compressed: <script type="application/gzip" data-file="results.json">BASE64</script>. The page knows
// their formats alone (reports/README.md, reports/trace/trace.h). It opens from a disk and loads nothing else.
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
//   how                 model, model beyond its data, law, roofline, curve
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

// Compressed bytes of timelines that go into a page, and the size of the largest that is read for it. The hardest come
// first: of each machine and limit the fastest at the largest batch and the slow one that the verdict explains, beside its
// fastest; then the fastest at other batches, then the others, from large batches to small. One too large leaves its room
// to those behind it. The page marks what it has not, and opens that from its file.
constexpr std::size_t kMostTimelineBytes = 900'000;
constexpr std::size_t kLargestTimeline = std::size_t{48} << 20;

// The same of the ops of validated plans, in bytes of their own: those farthest from what was predicted come first, of
// timelines too.
constexpr std::size_t kMostOpsBytes = 400'000;

// Of the folder's files those that the page can show. UserError when there are none, or one that is there cannot be read or
// is not what this version shows: results.json of another version, without rows, or rows without a key that the page needs;
// validation.csv or falsification.csv with other first columns.
std::string ReportPage(const std::filesystem::path& folder);

// `machine`: the profile fitted to the samples.
std::string CalibrationPage(std::span<const Sample> samples, const Machine& machine);
std::string CalibrationCsv(std::span<const Sample> samples, const Machine& machine);
// A page with texts, by the names that it knows them by.
std::string PageOf(const std::vector<std::pair<std::string, std::string>>& files);

// ---- Steps of making them.

// The page without files, as the build put it into the program.
std::string_view PageTemplate();

// Of results.json: the rows' files that the page should have, the most wanted first: timelines/POINT.trace.json.
// UserError, with `file` as its name: it is not what a run writes.
std::vector<std::string> WantedTimelines(const std::string& results, const std::string& file);
// Of validation.csv: the points that were measured, the step farthest from its prediction first. None where it is older
// than its column of points.
std::vector<std::string> MeasuredPoints(const std::string& validation);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_HTML_PAGE_H_
