// Output folders: files that appear whole or not at all, one writer at a time, and a manifest of the files that a run
// wrote.
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

// ---- Files. Each is written under a temporary name in its folder (.spillway-PROCESS-NUMBER.part) and then renamed, so
// that no reader ever sees half a file.

// Writes `text` to `path`. Makes missing folders. Replaces the file that a symbolic link names, not the link. Writes
// directly into a device, a FIFO or /dev/stdout; a FIFO waits until it has a reader. Throws UserError with the file's
// name and the system's reason when the file cannot be written.
void WriteFile(const std::filesystem::path& path, const std::string& text);

// Streams a text to a temporary file and renames it when complete (Finish). Without Finish, the destructor removes the
// temporary file and leaves `path` as it was. For a device or FIFO the text is held in memory and written by Finish.
class FileInPieces {
 public:
  explicit FileInPieces(std::filesystem::path path);  // throws UserError if the file cannot be made
  ~FileInPieces();
  FileInPieces(const FileInPieces&) = delete;
  FileInPieces& operator=(const FileInPieces&) = delete;
  void Add(std::string_view piece);  // throws UserError, as Finish does, if the system refuses the write
  std::string Digest() const;        // ContentDigest of everything added so far
  void Finish();

 private:
  std::filesystem::path path_, target_,
      temporary_;  // temporary_: "" while the text is held in memory, and after Finish
  int file_ = -1;
  std::string held_;
};

// `text` as a file name: each byte but letters, digits, '.', '_' and '-' becomes '-'. "a b/c" gives "a-b-c".
std::string FileName(const std::string& text);

[[noreturn]] void CannotWrite(const std::filesystem::path& path, const std::string& why);  // throws UserError

// Removes the temporary files in `folder` whose process no longer runs.
void RemoveTemporaries(const std::filesystem::path& folder);

// Makes the folder for results before anything is computed, so that a wrong path fails at once. The destructor removes
// the folders that the constructor made, as far as they are still empty.
class ResultFolder {
 public:
  // "": makes nothing. Throws UserError if `folder` exists and is no folder, or cannot be made.
  explicit ResultFolder(const std::filesystem::path& folder);
  ~ResultFolder();
  ResultFolder(const ResultFolder&) = delete;
  ResultFolder& operator=(const ResultFolder&) = delete;

 private:
  std::vector<std::filesystem::path> made_;  // the folders made, the innermost first
};

// Allows one run or validation at a time in a folder.
//
// Locks FOLDER/run.lock (flock) while it lives. The file's line names the holder: "process 4711 on HOST: ...". The
// system releases the lock when the process ends for any reason, so a file left over locks nothing. On a file system
// without locks the class has no effect.
//
// Tested by output_folder_test (tests/).
class FolderLock {
 public:
  // "": locks nothing. `what` says what this process does, for messages of other processes. Throws UserError if another
  // process holds the lock, and names it, or if the file cannot be made.
  FolderLock(const std::filesystem::path& folder, const std::string& what);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  void Take();

  std::filesystem::path path_;  // "": no lock
  int file_ = -1;
};

// ---- The manifest: which files of a folder a run wrote. A later run in the same folder removes these files. Files of
// other origin, and files that were changed since, stay.

// A path relative to the folder, and the digest of the content that was written; kAnyContent matches any content.
using OwnFile = std::pair<std::string, std::string>;
inline constexpr const char* kAnyContent = "any";

std::string ContentDigest(std::string_view text);  // FNV-1a of 64 bits, 16 hexadecimal digits

// The manifest as text: a head that explains it, then one file a line. ReadManifest skips lines of another form and
// paths that lead out of the folder. Without a manifest file it returns an empty list.
std::string ManifestText(const std::vector<OwnFile>& files);
std::vector<OwnFile> ReadManifest(const std::filesystem::path& path);

// Removes each file that still holds the content that was written, then the folders below `folder` that are empty
// because of that. A file that cannot be removed stays; no error is raised.
void RemoveOwn(const std::filesystem::path& folder, const std::vector<OwnFile>& files);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_OUTPUT_OUTPUT_FOLDER_H_
