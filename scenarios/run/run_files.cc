#include "scenarios/run/run_files.h"

#include <fmt/format.h>

#include <cerrno>
#include <set>
#include <system_error>
#include <utility>

#include "scenarios/run/output_folder.h"

namespace spillway {

namespace {

namespace fs = std::filesystem;

// The whole lines of a file, one after another, and where they end: a last one without its line feed was torn.
class Lines {
 public:
  explicit Lines(const fs::path& path) : stream_(path, std::ios::binary) {}
  bool Next(std::string& line) {
    if (!std::getline(stream_, line) || stream_.eof()) return false;
    end_ += line.size() + 1;
    return true;
  }
  std::uintmax_t end() const { return end_; }

 private:
  std::ifstream stream_;
  std::uintmax_t end_ = 0;
};

std::vector<OwnFile> OwnFilesOf(const std::vector<NamedText>& texts) {
  std::vector<OwnFile> files;
  for (const NamedText& t : texts) files.emplace_back(t.file, t.varies ? kAnyContent : ContentDigest(t.text));
  return files;
}

// What killed runs left half written beside their files.
void RemoveTemporariesBeside(const fs::path& folder, const std::vector<OwnFile>& files) {
  std::set<fs::path> folders{folder};
  for (const auto& [file, digest] : files) folders.insert((folder / file).parent_path());
  for (const fs::path& path : folders) RemoveTemporaries(path);
}

}  // namespace

std::string RunFiles::CutOff() const {
  Lines lines(Journal());
  std::string line;
  if (!lines.Next(line)) return "";
  const std::optional<JournalHead> head = ReadJournalHead(line);
  std::size_t rows = 0;
  while (lines.Next(line)) ++rows;
  return head ? fmt::format("{} of {} points", rows, head->points) : "some points";
}

void RunFiles::CheckHead(const std::string& line) const {
  const std::optional<JournalHead> there = ReadJournalHead(line);
  const std::string anew = "without --resume the run starts anew";
  if (!there || there->digests.size() != head_.digests.size()) {
    throw UserError(fmt::format("{}:1: error: no run that this version can go on with; {}", Journal().string(), anew));
  }
  std::vector<std::string> other;
  if (there->version != head_.version) other.emplace_back("the version of spillway");
  for (std::size_t i = 0; i < head_.digests.size(); ++i) {
    if (there->digests[i] != head_.digests[i]) other.push_back(head_.digests[i].first);
  }
  if (other.empty()) return;
  throw UserError(fmt::format("{}: error: the run that was cut off here differs in {}; it was begun by '{}'; {}",
                              Journal().string(), fmt::join(other, ", "), there->command, anew));
}

std::vector<JournalEntry> RunFiles::Resume(const std::vector<Point>& points) {
  std::vector<JournalEntry> entries;
  Lines lines(Journal());
  std::string line;
  if (!lines.Next(line)) return entries;
  CheckHead(line);
  std::uintmax_t end = lines.end(), before = end;
  while (lines.Next(line)) {
    std::optional<JournalEntry> entry = ReadJournalEntry(line);
    const std::size_t i = entries.size();
    if (!entry || i >= points.size() || entry->row.point != points[i].row.point) {
      throw UserError(
          fmt::format("{}:{}: error: this is not the row of the run's point {}: the file was changed; without "
                      "--resume the run starts anew",
                      Journal().string(), i + 2, i + 1));
    }
    entries.push_back(*std::move(entry));
    before = std::exchange(end, lines.end());
  }
  if (!entries.empty()) entries.pop_back();
  std::error_code error;
  fs::resize_file(Journal(), before, error);
  if (error) CannotWrite(Journal(), error.message());
  for (const JournalEntry& entry : entries) Own(entry.files);
  RemoveTemporariesBeside(folder_, own_);
  OpenJournal();
  return entries;
}

void RunFiles::OpenJournal() {
  errno = 0;
  journal_.open(Journal(), std::ios::binary | std::ios::app);
  if (!journal_) CannotWrite(Journal(), std::system_category().message(errno));
}

// The files of the run before, whether it came to its end or not, go when the first of this one come.
void RunFiles::Begin() {
  std::vector<OwnFile> old = ReadManifest(Manifest());
  Lines lines(Journal());
  for (std::string line; lines.Next(line);) {
    if (const auto entry = ReadJournalEntry(line)) old.insert(old.end(), entry->files.begin(), entry->files.end());
  }
  RemoveOwn(folder_, old);
  RemoveTemporariesBeside(folder_, old);
  WriteFile(Journal(), JournalLine(head_));
  std::error_code none;
  fs::remove(Manifest(), none);
  OpenJournal();
}

void RunFiles::Write(const std::vector<NamedText>& texts) const {
  for (const NamedText& t : texts) WriteFile(folder_ / t.file, t.text);
}

// The line comes first: of files that stand there without one, nobody would know whose they are.
void RunFiles::Add(JournalEntry entry, const std::vector<NamedText>& texts) {
  if (!journal_.is_open()) Begin();
  entry.files = OwnFilesOf(texts);
  errno = 0;
  journal_ << JournalLine(entry) << std::flush;
  if (!journal_) CannotWrite(Journal(), std::system_category().message(errno));
  Own(entry.files);
  Write(texts);
}

void RunFiles::End(const std::vector<NamedText>& texts) {
  Write(texts);
  Own(OwnFilesOf(texts));
  WriteFile(Manifest(), ManifestText(own_));
  journal_.close();
  std::error_code error;
  fs::remove(Journal(), error);
  if (error) CannotWrite(Journal(), error.message());
}

}  // namespace spillway
