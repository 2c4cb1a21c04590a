// Folders that commands write into: files written whole, one writer at a time, and which files are whose.
//
// Tested by output_folder_test.
#ifndef SPILLWAY_SCENARIOS_OUTPUT_OUTPUT_FOLDER_H_
#define SPILLWAY_SCENARIOS_OUTPUT_OUTPUT_FOLDER_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spillway {

// ---- Files that commands write. Each is written under a temporary name and then renamed, so that no reader ever sees
// half a file.

// Throws UserError naming the file when it cannot be written, with what the system says. Folders are made as needed. Of a
// symbolic link the file that it names is replaced. What is there and no file (a device, a FIFO, /dev/stdout) is written
// into; a FIFO is waited for until it has a reader.
void WriteFile(const std::filesystem::path& path, const std::string& text);

// The same of a text that comes piece by piece and is nowhere held, but for what is there and no file: the file is there
// once it is whole. Of one that is not, nothing is left.
class FileInPieces {
 public:
  explicit FileInPieces(std::filesystem::path path);  // UserError: it cannot be made
  ~FileInPieces();
  FileInPieces(const FileInPieces&) = delete;
  FileInPieces& operator=(const FileInPieces&) = delete;
  void Add(std::string_view piece);
  std::string Digest() const;  // ContentDigest of all that was added, read back
  void Finish();

 private:
  std::filesystem::path path_, target_, temporary_;  // temporary_: "" where the text is held, and at the end
  int file_ = -1;
  std::string held_;
};

// Letters, digits, '.', '_' and '-'; everything else becomes '-'.
std::string FileName(const std::string& text);

[[noreturn]] void CannotWrite(const std::filesystem::path& path, const std::string& why);  // UserError

// Removes what processes that are no more left half written in `folder`.
void RemoveTemporaries(const std::filesystem::path& folder);

// A folder that files will come into, there from now on: whether it can be made shows before anything is computed. If
// nothing has come into it, it goes again with this, and so does what had to be made above it.
class ResultFolder {
 public:
  // "": none. Throws UserError when `folder` is something else than a folder, or cannot be made.
  explicit ResultFolder(const std::filesystem::path& folder);
  ~ResultFolder();
  ResultFolder(const ResultFolder&) = delete;
  ResultFolder& operator=(const ResultFolder&) = delete;

 private:
  std::vector<std::filesystem::path> made_;  // the innermost first
};

// One run or validation at a time in a folder.
//
// Holds FOLDER/run.lock, which says who has it, while it lives. The system gives it back when the process ends, however it
// ends: a file left over keeps nobody out. Where the file system has no locks, nobody is kept out either.
//
// Tested by output_folder_test (tests/).
class FolderLock {
 public:
  // "": none. `what` tells others what is being done. UserError: somebody else has it (who, is said), or the file cannot
  // be made.
  FolderLock(const std::filesystem::path& folder, const std::string& what);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  void Take();

  std::filesystem::path path_;  // "": none
  int file_ = -1;
};

// ---- Which files of a folder are a run's own: those of an earlier run go when another one writes there, and what
// somebody else put beside them, or changed, stays.

// A file relative to its folder, and the digest of what was written into it; kAnyContent: whatever it holds.
using OwnFile = std::pair<std::string, std::string>;
inline constexpr const char* kAnyContent = "any";

std::string ContentDigest(std::string_view text);  // FNV-1a of 64 bits, 16 hexadecimal digits

// One file a line, with a head that says what this is. Reading skips what is no such line, and paths that lead out of
// the folder; without the file there are none.
std::string ManifestText(const std::vector<OwnFile>& files);
std::vector<OwnFile> ReadManifest(const std::filesystem::path& path);

// Removes those that still hold what was written, and then the folders below `folder` that this leaves empty. What
// cannot be removed stays.
void RemoveOwn(const std::filesystem::path& folder, const std::vector<OwnFile>& files);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_OUTPUT_OUTPUT_FOLDER_H_
