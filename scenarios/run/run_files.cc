#include "scenarios/run/run_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <system_error>
#include <utility>

#include "hw/text/text_file.h"
#include "scenarios/output/output_folder.h"

namespace spillway {

namespace {

namespace fs = std::filesystem;

std::vector<OwnFile> OwnFilesOf(const std::vector<NamedText>& texts) {
  std::vector<OwnFile> files;
  for (const NamedText& t : texts)
    files.emplace_back(t.file, t.varies ? kAnyContent : t.pieces ? t.pieces->Digest() : ContentDigest(t.text));
  return files;
}

// What killed runs left half written beside their files, or would have written there: a file in pieces is begun before its
// row is in the journal.
void RemoveTemporariesBeside(const fs::path& folder, const std::vector<OwnFile>& files) {
  std::set<fs::path> folders{folder};
  for (const auto& [file, digest] : files) folders.insert((folder / file).parent_path());
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    if (entry.is_directory(none)) folders.insert(entry.path());
  }
  for (const fs::path& path : folders) RemoveTemporaries(path);
}

// Each of a row's files, whatever it holds: somebody may have changed it.
bool AreThere(const fs::path& folder, const std::vector<OwnFile>& files) {
  std::error_code none;
  return std::all_of(files.begin(), files.end(),
                     [&](const OwnFile& own) { return fs::exists(folder / own.first, none); });
}

}  // namespace

std::string RunFiles::CutOff() const {
  WholeLines lines(Journal());
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

void RunFiles::RefuseComplete() const {
  std::error_code none;
  if (!fs::exists(Manifest(), none)) return;
  throw UserError(
      fmt::format("{}: error: no run was cut off here, and the one that is complete is not gone on with; without "
                  "--resume a run starts anew in its place",
                  folder_.string()));
}

std::vector<JournalEntry> RunFiles::Resume(const std::vector<Point>& points) {
  std::vector<JournalEntry> entries;
  WholeLines lines(Journal());
  std::string line;
  if (!lines.Next(line)) {
    RefuseComplete();
    return entries;
  }
  CheckHead(line);
  std::vector<std::uintmax_t> ends{lines.end()};  // of what comes before each entry
  while (lines.Next(line)) {
    std::optional<JournalEntry> entry = ReadJournalEntry(line);
    const std::size_t i = entries.size();
    if (!entry && !lines.Next(line)) break;  // the last one is as good as torn
    if (!entry || i >= points.size() || entry->row.point != points[i].row.point) {
      throw UserError(
          fmt::format("{}:{}: error: this is not the row of the run's point {}: the file was changed; without "
                      "--resume the run starts anew",
                      Journal().string(), i + 2, i + 1));
    }
    entry->row.strategy = points[i].row.strategy;  // with the name that the plan's file has now
    entries.push_back(*std::move(entry));
    ends.push_back(lines.end());
  }
  Keep(DoneOf(entries), ends, entries);
  RemoveTemporariesBeside(folder_, own_);
  RemoveOld();
  OpenJournal();
  return entries;
}

// So many of the rows have their files; of the last one they may be there from before.
std::size_t RunFiles::DoneOf(const std::vector<JournalEntry>& entries) const {
  const auto gone = std::find_if(entries.begin(), entries.end(),
                                 [this](const JournalEntry& entry) { return !AreThere(folder_, entry.files); });
  const auto count = static_cast<std::size_t>(gone - entries.begin());
  return count == entries.size() && count > 0 ? count - 1 : count;
}

// Of the others what is there goes while the journal still has them: no file is nobody's.
void RunFiles::Keep(std::size_t count, const std::vector<std::uintmax_t>& ends, std::vector<JournalEntry>& entries) {
  for (std::size_t i = count; i < entries.size(); ++i) RemoveOwn(folder_, entries[i].files);
  std::error_code error;
  fs::resize_file(Journal(), ends[count], error);
  if (error) CannotWrite(Journal(), error.message());
  entries.resize(count);
  for (const JournalEntry& entry : entries) Own(entry.files);
}

void RunFiles::OpenJournal() {
  errno = 0;
  journal_.open(Journal(), std::ios::binary | std::ios::app);
  if (!journal_) CannotWrite(Journal(), std::system_category().message(errno));
}

// The files of the run before, whether it came to its end or not, go when the first of this one come. First the manifest
// has them all, then the journal is this run's, then they go: whenever the process ends, no journal has rows whose files
// were removed, and no file is nobody's. Of the old journal only the files are read: another version wrote other rows.
void RunFiles::Begin() {
  std::vector<OwnFile> old = ReadManifest(Manifest());
  const std::size_t listed = old.size();
  WholeLines lines(Journal());
  for (std::string line; lines.Next(line);) {
    const std::vector<OwnFile> files = ReadJournalFiles(line);
    old.insert(old.end(), files.begin(), files.end());
  }
  if (old.size() > listed) WriteFile(Manifest(), ManifestText(old));
  WriteFile(Journal(), JournalLine(head_));
  RemoveOld();
  OpenJournal();
}

// What the manifest of the run before has, but for this one's rows.
void RunFiles::RemoveOld() {
  std::vector<OwnFile> old = ReadManifest(Manifest());
  const std::set<OwnFile> own(own_.begin(), own_.end());
  std::erase_if(old, [&own](const OwnFile& file) { return own.contains(file); });
  RemoveOwn(folder_, old);
  RemoveTemporariesBeside(folder_, old);
  std::error_code none;
  fs::remove(Manifest(), none);
}

void RunFiles::Write(const std::vector<NamedText>& texts) const {
  for (const NamedText& t : texts) {
    if (t.pieces) {
      t.pieces->Finish();
    } else {
      WriteFile(folder_ / t.file, t.text);
    }
  }
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

void RunFiles::End(const std::vector<NamedText>& texts, const std::function<NamedText(const fs::path&)>& last) {
  Write(texts);
  Own(OwnFilesOf(texts));
  const std::vector<NamedText> page{last(folder_)};
  Write(page);
  Own(OwnFilesOf(page));
  WriteFile(Manifest(), ManifestText(own_));
  journal_.close();
  std::error_code error;
  fs::remove(Journal(), error);
  if (error) CannotWrite(Journal(), error.message());
}

}  // namespace spillway
