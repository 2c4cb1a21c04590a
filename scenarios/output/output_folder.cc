#include "scenarios/output/output_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "hw/text/document.h"

namespace spillway {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporary = ".spillway-", kTemporaryEnd = ".part";
constexpr int kMostLinks = 40;  // as the system follows

std::string Reason(int error) { return std::system_category().message(error); }

void MakeFolder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) CannotWrite(folder, error.message());
  if (!fs::is_directory(folder, error)) CannotWrite(folder, "it exists and is no folder");
}

// Of the path those that are not there, the innermost first.
std::vector<fs::path> Missing(fs::path path) {
  std::vector<fs::path> missing;
  std::error_code ignored;
  for (; !path.empty() && !fs::exists(path, ignored); path = path.parent_path()) missing.push_back(path);
  return missing;
}

// 0, or the errno of what failed.
int WriteAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(file, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

int WriteAndClose(int file, std::string_view text) {
  const int error = WriteAll(file, text);
  const int at_close = close(file) == 0 ? 0 : errno;
  return error != 0 ? error : at_close;
}

// In the folder of `path`, under a name that nobody else writes to.
struct Temporary {
  fs::path path;
  int file = -1;
};

Temporary MakeTemporary(const fs::path& path) {
  for (int number = 0;; ++number) {
    const fs::path name = path.parent_path() / fmt::format("{}{}-{}{}", kTemporary, getpid(), number, kTemporaryEnd);
    const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0) return {name, file};
    if (errno != EEXIST) CannotWrite(path, Reason(errno));
  }
}

void Replace(const fs::path& path, const std::string& text) {
  const Temporary temporary = MakeTemporary(path);
  int error = WriteAndClose(temporary.file, text);
  if (error == 0 && rename(temporary.path.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return;
  unlink(temporary.path.c_str());
  CannotWrite(path, Reason(error));
}

// `append`: a file that somebody has open is gone on with; a device has no end.
void WriteThrough(const fs::path& path, const std::string& text, bool append) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | (append ? O_APPEND : 0));
  if (file < 0) CannotWrite(path, Reason(errno));
  const int error = WriteAndClose(file, text);
  if (error != 0) CannotWrite(path, Reason(error));
}

// The path that a chain of symbolic links ends at, whether anything is there or not. Nothing: it leads through a
// process's own descriptors (/dev/stdout), which have no path.
std::optional<fs::path> LinkTarget(fs::path path) {
  std::error_code none;
  for (int i = 0; i < kMostLinks; ++i) {
    if (!fs::is_symlink(fs::symlink_status(path, none))) return path;
    if (fs::weakly_canonical(path.parent_path(), none).string().starts_with("/proc/")) return std::nullopt;
    path = path.parent_path() / fs::read_symlink(path, none);  // an absolute one replaces all
  }
  CannotWrite(path, Reason(ELOOP));
}

// A device, a FIFO: written into, never replaced.
bool IsOther(const fs::path& path) {
  std::error_code none;
  const fs::file_status status = fs::status(path, none);
  return fs::exists(status) && !fs::is_regular_file(status);
}

// The file that one renamed takes the place of; its folder is there from now on. Nothing: what is there is written into.
std::optional<fs::path> Replaceable(const fs::path& path) {
  if (path.has_parent_path()) MakeFolder(path.parent_path());
  std::error_code none;
  if (fs::is_directory(path, none)) CannotWrite(path, "it is a folder");
  return IsOther(path) ? std::nullopt : LinkTarget(path);
}

}  // namespace

void CannotWrite(const fs::path& path, const std::string& why) {
  throw UserError(fmt::format("cannot write '{}': {}", path.string(), why));
}

ResultFolder::ResultFolder(const fs::path& folder) : made_(Missing(folder)) {
  if (!folder.empty()) MakeFolder(folder);
}

ResultFolder::~ResultFolder() {
  std::error_code kept;  // one that holds something is not removed
  for (const fs::path& path : made_) fs::remove(path, kept);
}

std::string FileName(const std::string& text) {
  std::string name = text;
  for (char& c : name) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    if (!plain) c = '-';
  }
  return name;
}

void WriteFile(const fs::path& path, const std::string& text) {
  if (const std::optional<fs::path> target = Replaceable(path)) {
    Replace(*target, text);
  } else {
    WriteThrough(path, text, !IsOther(path));
  }
}

FileInPieces::FileInPieces(fs::path path) : path_(std::move(path)) {
  const std::optional<fs::path> target = Replaceable(path_);
  if (!target) return;
  target_ = *target;
  Temporary temporary = MakeTemporary(target_);
  temporary_ = std::move(temporary.path);
  file_ = temporary.file;
}

FileInPieces::~FileInPieces() {
  if (file_ >= 0) close(file_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void FileInPieces::Add(std::string_view piece) {
  if (temporary_.empty()) {
    held_ += piece;
  } else if (const int error = WriteAll(file_, piece); error != 0) {
    CannotWrite(path_, Reason(error));
  }
}

// Mapped: the text is in the system's memory, and not in this process's.
std::string FileInPieces::Digest() const {
  if (temporary_.empty()) return ContentDigest(held_);
  const int file = open(temporary_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) CannotWrite(path_, Reason(errno));
  const auto size = static_cast<std::size_t>(lseek(file, 0, SEEK_END));
  void* const text = size == 0 ? nullptr : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  const int error = errno;
  close(file);
  if (text == MAP_FAILED) CannotWrite(path_, Reason(error));
  std::string digest = ContentDigest({static_cast<const char*>(text), size});
  if (text != nullptr) munmap(text, size);
  return digest;
}

void FileInPieces::Finish() {
  if (temporary_.empty()) return WriteFile(path_, held_);
  int error = close(std::exchange(file_, -1)) == 0 ? 0 : errno;
  if (error == 0 && rename(temporary_.c_str(), target_.c_str()) != 0) error = errno;
  if (error != 0) CannotWrite(path_, Reason(error));
  temporary_.clear();
}

void RemoveTemporaries(const fs::path& folder) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kTemporary) || !name.ends_with(kTemporaryEnd)) continue;
    const auto process = static_cast<pid_t>(std::strtol(name.c_str() + kTemporary.size(), nullptr, 10));
    if (process > 0 && process != getpid() && kill(process, 0) != 0 && errno == ESRCH) fs::remove(entry.path(), none);
  }
}

}  // namespace spillway
