#include "calibrate/measure/journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "calibrate/measure/refused.h"
#include "hw/text/document.h"
#include "model/samples/csv.h"
#include "model/samples/file.h"

namespace spillway {
namespace {

namespace fs = std::filesystem;

// With the reason that the system gave, where it gave one.
[[noreturn]] void CannotWrite(const std::string& path) {
  const std::string why = errno == 0 ? "" : ": " + std::system_category().message(errno);
  throw UserError(fmt::format("{}: error: the journal cannot be written{}", path, why));
}

void CutTo(const std::string& path, std::uintmax_t bytes) {
  std::error_code error;
  fs::resize_file(path, bytes, error);
  if (!error) return;
  throw UserError(fmt::format("{}: error: the journal's torn last line cannot be cut off: {}", path, error.message()));
}

void CheckIdentity(const std::string& file, const Sample& there, const Sample& here) {
  std::vector<std::string> messages = SetupRefusals(there, here);
  for (std::string& message : messages) message = fmt::format("{}: error: {}", file, message);
  if (!messages.empty()) throw UserError(std::move(messages));
}

}  // namespace

int RoundOf(const Sample& sample) { return std::max(sample.round, 1); }

bool HasFlag(const Sample& sample, const std::string& flag) {
  return std::find(sample.flags.begin(), sample.flags.end(), flag) != sample.flags.end();
}

std::string BenchKey(const Sample& sample) {
  Sample bare = sample;
  bare.microseconds = bare.p10 = bare.p90 = bare.spread = bare.host_microseconds = 0;
  bare.repetitions = 0;
  bare.workspace = kUsualWorkspace;
  bare.deterministic = bare.heuristic_rank = bare.sm_clock_mhz = -1;
  bare.host = bare.network = bare.source = bare.note = bare.date = "";
  bare.round = 0;
  bare.flags.clear();
  bare.load = 0;
  bare.driver = DriverBranch(bare.driver);
  return SampleLine(bare);
}

std::string BenchKeyLine(const Sample& sample) {
  std::string line = BenchKey(sample);
  while (!line.empty() && line.back() == '\n') line.pop_back();
  return line;
}

void BenchJournal::Open(bool with_header) {
  if (path_.empty()) return;
  std::error_code ignored;
  fs::create_directories(fs::path(path_).parent_path(), ignored);
  errno = 0;
  file_.open(path_, std::ios::binary | std::ios::app);
  if (with_header) file_ << SampleHeader() << std::flush;
  if (!file_) CannotWrite(path_);
}

void BenchJournal::Begin() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove(RefusedPath(path_), ignored);  // of a journal that was removed
  Open(true);
}

// What a path leads nowhere for, its length among it, the attempt to open it tells.
void BenchJournal::Create() {
  std::error_code ignored;
  if (!path_.empty() && fs::exists(path_, ignored)) {
    throw UserError(fmt::format(
        "{}: error: there is a journal of an earlier calibration; --resume continues it, or remove the file "
        "to measure anew",
        path_));
  }
  if (!path_.empty()) fs::remove(InflightPath(path_), ignored);  // of a journal that was removed
  Begin();
}

std::vector<std::string> BenchJournal::Resume(const Sample& identity) {
  std::error_code ignored;
  if (path_.empty() || !fs::exists(path_, ignored)) {
    Begin();
    return {};
  }
  std::string whole = LoadCsvText(path_).text;
  const std::size_t all = whole.size();
  whole.resize(whole.rfind('\n') + 1);  // to nothing where there is no line feed
  const std::size_t kept = whole.size();
  if (whole.empty()) {  // killed before the first line was complete
    CutTo(path_, 0);
    Open(true);
    return {};
  }
  const std::string header = SampleHeader();
  if (!whole.starts_with(header)) {
    throw UserError(
        fmt::format("{}:1: error: no journal that this version of spillway writes; remove the file to "
                    "measure anew",
                    path_));
  }
  if (whole.size() > header.size()) {
    for (Sample& sample : ParseRows(std::move(whole), path_).samples) {
      CheckIdentity(path_, sample, identity);
      Take(std::move(sample));
    }
  }
  resumed_ = static_cast<int>(samples_.size());
  if (kept < all) CutTo(path_, kept);
  Open(false);
  std::vector<std::string> warnings = SetupWarnings(samples_, identity);
  for (std::string& warning : warnings) warning = fmt::format("{}: {}", path_, warning);
  return warnings;
}

const Sample* BenchJournal::Find(const Sample& sample, int round) const {
  const auto found = places_.find({BenchKey(sample), round});
  return found == places_.end() ? nullptr : &samples_[found->second];
}

void BenchJournal::Take(Sample sample) {
  places_.emplace(std::make_pair(BenchKey(sample), RoundOf(sample)), samples_.size());
  samples_.push_back(std::move(sample));
}

void BenchJournal::Append(const Sample& sample) {
  if (!path_.empty()) {
    errno = 0;
    file_ << SampleLine(sample) << std::flush;
    if (!file_) CannotWrite(path_);
  }
  Take(sample);
}

}  // namespace spillway
