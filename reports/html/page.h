// report.html: what a run, a comparison or a validation left in a folder, as one file to look at; and, of the samples of
// a calibration, the page that it leaves beside its profile.
//
// The page is reports/html/dist/page.html, built from the sources beside it (reports/html/README.md), and behind it the
// folder's own files as they are, each compressed: <script type="application/gzip" data-file="results.json">BASE64</script>.
// What the page shows it reads from these formats alone (reports/README.md, reports/trace/trace.h): it has
// none of its own. It opens from a disk and asks nobody for anything.
//
// Tested by page_test and tests/reports/html.
#ifndef SPILLWAY_REPORTS_HTML_PAGE_H_
#define SPILLWAY_REPORTS_HTML_PAGE_H_

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

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

// The same of texts by the names that the page knows them by: calibration.csv (reports/html/calibration_page.h).
std::string PageOf(const std::vector<std::pair<std::string, std::string>>& files);

// ---- What it is made of.

// Of results.json: the rows' files that the page should have, the most wanted first: timelines/POINT.trace.json.
// UserError, with `file` as its name: it is not what a run writes.
std::vector<std::string> WantedTimelines(const std::string& results, const std::string& file);
// Of validation.csv: the points that were measured, the step farthest from its prediction first. None where it is older
// than its column of points.
std::vector<std::string> MeasuredPoints(const std::string& validation);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_HTML_PAGE_H_
