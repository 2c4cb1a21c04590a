#include "scenarios/validate/validate_files.h"

#include <fmt/format.h>

#include <system_error>

#include "model/samples/file.h"
#include "reports/html/page.h"
#include "reports/tables/validation.h"
#include "scenarios/output/output_folder.h"

namespace spillway {

namespace {

constexpr const char *kRows = "validation.csv", *kTables = "validation.txt", *kModels = "falsification.csv",
                     *kPartial = "validation.partial", *kCosts = "costs", *kPage = "report.html",
                     *kTimelines = "timelines", *kOps = "ops";

}  // namespace

std::string CasesText(std::size_t done, std::size_t cases) {
  return fmt::format("{} of {} case{}", done, cases, cases == 1 ? "" : "s");
}

void ValidationFiles::Mark(const std::string& text) const { WriteFile(folder_ / kPartial, text + "\n"); }

// Until the first case is finished nothing is taken away, and no folder made.
void ValidationFiles::Begin(std::size_t cases, std::size_t known) {
  cases_ = cases;
  std::error_code none;
  if (folder_.empty() || known > 0 || !std::filesystem::exists(folder_ / kRows, none)) return;
  Mark(CasesText(0, cases_) + " finished; the files beside this one are of an earlier validation");
}

// The mark is there before anything else changes, and goes after everything else: whenever the process ends, files
// without it are whole.
void ValidationFiles::CaseDone(const ValidationSet& set) {
  if (folder_.empty()) return;
  const std::size_t done = set.cases.size();
  const char* const rest = " finished and in validation.csv; the validation runs, or was cut off";
  tables_ += ValidationCaseTable(set, done - 1) + "\n";
  if (done == 1) {
    Mark(CasesText(0, cases_) + rest);
    std::error_code none;
    std::filesystem::remove(folder_ / kModels, none);
  }
  Write(set, "");
  WriteFile(folder_ / kPage, ReportPage(folder_));
  Mark(CasesText(done, cases_) + rest);
}

void ValidationFiles::StepsOf(const FinishedCase& finished) const {
  if (folder_.empty()) return;
  for (const auto& [point, samples] : finished.steps) {
    if (samples.empty()) continue;
    std::filesystem::create_directories(folder_ / kCosts);
    WriteFile(folder_ / kCosts / (point + ".csv"), WriteSamples(samples));
  }
  for (const ObservedTexts& observed : finished.observed) {
    WriteFile(folder_ / kTimelines / (observed.point + ".trace.json"), observed.trace);
    WriteFile(folder_ / kOps / (observed.point + ".csv"), observed.ops);
  }
}

void ValidationFiles::End(const ValidationSet& set, bool all) {
  if (folder_.empty()) return;
  Write(set, ValidationSummaryTable(set));
  WriteFile(folder_ / kModels, FalsificationCsv(set));
  WriteFile(folder_ / kPage, ReportPage(folder_));
  if (!all) return;
  std::error_code none;
  std::filesystem::remove(folder_ / kPartial, none);
}

void ValidationFiles::Whole(const ValidationSet& set) {
  if (folder_.empty()) return;
  for (std::size_t k = 0; k < set.cases.size(); ++k) tables_ += ValidationCaseTable(set, k) + "\n";
  std::error_code none;
  std::filesystem::remove(folder_ / kModels, none);
  Write(set, ValidationSummaryTable(set));
  WriteFile(folder_ / kPage, ReportPage(folder_));
}

void ValidationFiles::Write(const ValidationSet& set, const std::string& more) const {
  WriteFile(folder_ / kRows, ValidationCsv(set));
  WriteFile(folder_ / kTables, NoiseVerdict(set.noise) + tables_ + more);
}

}  // namespace spillway
