#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "hw/text/document.h"
#include "scenarios/output/output_folder.h"

namespace spillway {

namespace {

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "an unknown host";
}

// The line that the holder wrote.
std::string Holder(int file) {
  std::array<char, 1000> text{};
  const ssize_t count = pread(file, text.data(), text.size(), 0);
  const std::string line(text.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  return line.empty() ? "it has not said who it is yet" : line.substr(0, line.find('\n'));
}

// Whether `path` still is this file: who had it before removes it when it is done.
bool IsAt(int file, const std::filesystem::path& path) {
  struct stat mine {
  }, there{};
  return fstat(file, &mine) == 0 && stat(path.c_str(), &there) == 0 && mine.st_ino == there.st_ino &&
         mine.st_dev == there.st_dev;
}

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder, const std::string& what) {
  if (folder.empty()) return;
  path_ = folder / "run.lock";
  do {
    if (file_ >= 0) close(file_);
    Take();
  } while (!IsAt(file_, path_));
  const std::string who = fmt::format("process {} on {}: {}\n", getpid(), HostName(), what);
  // A full disk only keeps others from reading who has it.
  if (ftruncate(file_, 0) == 0) (void)!pwrite(file_, who.data(), who.size(), 0);
}

void FolderLock::Take() {
  file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) {
    throw UserError(fmt::format("cannot write '{}': {}", path_.string(), std::system_category().message(errno)));
  }
  if (flock(file_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  const std::string holder = Holder(file_);
  close(file_);
  throw UserError(fmt::format(
      "{}: error: another run or validation is writing into this folder ({}); wait for it, or name another one",
      path_.parent_path().string(), holder));
}

FolderLock::~FolderLock() {
  if (file_ < 0) return;
  if (IsAt(file_, path_)) unlink(path_.c_str());  // else somebody put another one there
  close(file_);
}

}  // namespace spillway
