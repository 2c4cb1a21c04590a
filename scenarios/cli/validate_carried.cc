// spillway validate --torch: reports of plans that PyTorch carried out, in the tables of a validation.
#include <fmt/format.h>

#include <utility>

#include "calibrate/validate/carried.h"
#include "reports/tables/validation.h"
#include "scenarios/cli/validate_command.h"
#include "scenarios/output/output_folder.h"
#include "scenarios/validate/validate_files.h"

namespace spillway {

namespace {

// What needs a device or a scenario, and was typed.
const char* NotForReports(const ValidateAsked& asked) {
  if (!asked.scenarios.files.empty()) return "FILE";
  if (asked.resume) return "--resume";
  if (asked.random_plans > 0) return "--random";
  if (!asked.scenarios.overrides.plan.empty()) return "--plan";
  const Overrides& overrides = asked.scenarios.overrides;
  if (!overrides.machines.empty()) return "--machine";
  if (!overrides.memory.empty()) return "--memory";
  if (!overrides.strategies.empty()) return "--strategy";
  if (!overrides.runtime.empty()) return "--runtime";
  return nullptr;
}

}  // namespace

ExitCode ValidateTorch(const ValidateAsked& asked, Console& console) {
  if (const char* other = NotForReports(asked); other != nullptr) {
    throw UserError(fmt::format("--torch: not with {}: a report says what was carried out, and where", other));
  }
  std::vector<CarriedReport> reports;
  for (const std::string& file : asked.torch) {
    for (CarriedReport& report : LoadCarriedReports(file)) reports.push_back(std::move(report));
  }
  const ResultFolder folder(asked.out);
  const FolderLock lock(asked.out, asked.line);
  const CarriedResults results = ValidateCarried(reports, asked.seed);
  ValidationFiles(asked.out).Whole(results.set);
  if (asked.format == "table") {
    for (std::size_t k = 0; k < results.set.cases.size(); ++k)
      console.out << ValidationCaseTable(results.set, k) << "\n";
    console.out << ValidationSummaryTable(results.set);
  } else {
    console.out << ValidationCsv(results.set);
  }
  for (const std::string& failure : results.failures) console.err << failure << "\n";
  return results.failures.empty() ? kExitDone : kExitExpectationFailed;
}

}  // namespace spillway
