#include "hw/text/text_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <system_error>
#include <thread>

namespace spillway {
namespace {

constexpr std::size_t kPiece = static_cast<std::size_t>(kMiB);
constexpr std::chrono::milliseconds kBetweenLooks{10};

[[noreturn]] void Refuse(const std::string& path, const std::string& why) {
  throw UserError(fmt::format("{}: error: {}", path, why));
}

[[noreturn]] void CannotRead(const std::string& path, int error) {
  if (error == ENOENT || error == ENOTDIR) Refuse(path, "no such file" + DidYouMeanFile(path));
  Refuse(path, "cannot be read: " + std::system_category().message(error));
}

class OpenFile {
 public:
  // Not blocking: opening a FIFO waits for its writer otherwise, and that may be never.
  explicit OpenFile(const std::string& path) : path_(path), fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (fd_ < 0) CannotRead(path, errno);
  }
  ~OpenFile() { close(fd_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  mode_t Kind() const { return Status().st_mode & S_IFMT; }
  std::size_t Size() const { return static_cast<std::size_t>(Status().st_size); }  // 0 where there is none

  // Appends what comes next; false at the end, and where nobody writes into a FIFO.
  bool Read(std::string& text) {
    const std::size_t before = text.size();
    text.resize(before + kPiece);
    const ssize_t count = Wait(text.data() + before);
    text.resize(before + static_cast<std::size_t>(count));
    return count > 0;
  }

 private:
  struct stat Status() const {
    struct stat status {};
    if (fstat(fd_, &status) != 0) CannotRead(path_, errno);
    return status;
  }

  ssize_t Wait(char* to) {
    for (;;) {
      const ssize_t count = read(fd_, to, kPiece);
      if (count >= 0) return count;
      if (errno == EAGAIN) {
        pollfd wanted{.fd = fd_, .events = POLLIN, .revents = 0};
        (void)poll(&wanted, 1, -1);
      } else if (errno != EINTR) {
        CannotRead(path_, errno);
      }
    }
  }

  const std::string& path_;
  int fd_;
};

// By its mark, or by two characters that are a byte and a zero each.
bool IsUtf16(std::string_view text) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) return true;
  if (text.size() < 4) return false;
  const auto zeros = [&](std::size_t from) { return text[from] == '\0' && text[from + 2] == '\0'; };
  return zeros(0) != zeros(1);
}

bool IsControl(std::string_view text, Returns returns) {
  const auto byte = static_cast<unsigned char>(text.front());
  if (byte == '\r') return returns == Returns::kBeforeLineFeeds && !text.starts_with("\r\n");
  return (byte < 0x20 && byte != '\t' && byte != '\n') || byte == 0x7F;
}

}  // namespace

std::string DidYouMeanFile(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path given = path, folder = given.parent_path();
  // Endings are alike by nature: of files with the same one they are left out, else any would be near.
  std::map<std::string, std::string> alike;  // by name without ending
  std::vector<std::string> others;
  std::error_code error, ignored;
  fs::directory_iterator entry(folder.empty() ? fs::path(".") : folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const fs::path name = entry->path().filename();
    if (!entry->is_regular_file(ignored)) continue;
    if (given.has_extension() && name.extension() != given.extension()) {
      others.push_back(name.string());
      continue;
    }
    std::string& file = alike[name.stem().string()];
    if (file.empty() || name.string() < file) file = name.string();
  }
  std::vector<std::string> stems;
  for (const auto& [stem, file] : alike) stems.push_back(stem);
  std::sort(others.begin(), others.end());
  const std::string stem = NearestName(given.stem().string(), stems);
  const std::string nearest = stem.empty() ? NearestName(given.filename().string(), others) : alike[stem];
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", (folder / nearest).string());
}

std::string ReadTextFile(const std::string& path, const char* what, std::size_t most,
                         std::chrono::milliseconds patience) {
  OpenFile file(path);
  const mode_t kind = file.Kind();
  if (kind == S_IFDIR) Refuse(path, fmt::format("is a directory, expected {}", what));
  std::string text;
  text.reserve(std::min(file.Size(), most) + kPiece);  // growing by doubling takes three times the file
  const auto until = std::chrono::steady_clock::now() + patience;
  while (text.size() <= most) {
    if (file.Read(text)) continue;
    if (kind != S_IFIFO || !text.empty()) break;
    if (std::chrono::steady_clock::now() >= until) {
      Refuse(path, fmt::format("is a FIFO that nobody writes into, expected {}", what));
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
  if (text.size() > most) text.resize(most + 1);
  return text;
}

std::size_t CharacterLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xC2 ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                             : lead < 0xF5 ? 4
                                           : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool outside = (lead == 0xED && byte(1) >= 0xA0) || (lead == 0xF4 && byte(1) >= 0x90);
  return overlong || outside ? 0 : length;
}

bool IsText(std::string_view text, const char* what, Returns returns, Diagnostics& diagnostics) {
  if (IsUtf16(text)) {
    diagnostics.Error({1, 1}, fmt::format("this is a text in UTF-16; expected {} in UTF-8", what));
    return false;
  }
  Mark mark{1, 1};
  while (!text.empty()) {
    const std::size_t length = CharacterLength(text);
    if (length == 0 || IsControl(text, returns)) {
      const auto byte = static_cast<unsigned char>(text.front());
      diagnostics.Error(
          mark, fmt::format("byte 0x{:02x} is {}{}; this is not {}", byte,
                            length == 0 ? "not UTF-8" : "a control character", byte == 0 ? " (NUL)" : "", what));
      return false;
    }
    mark = text.front() == '\n' ? Mark{mark.line + 1, 1} : Mark{mark.line, mark.column + static_cast<int>(length)};
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace spillway
