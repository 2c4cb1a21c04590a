#include "scenarios/run/output_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <system_error>

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
  if (path.has_parent_path()) MakeFolder(path.parent_path());
  std::error_code none;
  const fs::file_status status = fs::status(path, none);
  if (fs::is_directory(status)) CannotWrite(path, "it is a folder");
  const bool is_other = fs::exists(status) && !fs::is_regular_file(status);
  const std::optional<fs::path> target = is_other ? std::nullopt : LinkTarget(path);
  if (target) {
    Replace(*target, text);
  } else {
    WriteThrough(path, text, !is_other);
  }
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
