#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <system_error>

#include "model/util/hash.h"
#include "scenarios/output/output_folder.h"

namespace spillway {

namespace {

namespace fs = std::filesystem;

constexpr const char* kHead =
    "# Files of `spillway run`, by what was written into them (FNV-1a, 64 bits). The next run into this folder "
    "removes\n"
    "# those that are still as here, and no others.\n";
constexpr std::size_t kDigits = 16;

bool StaysInside(const std::string& file) {
  const fs::path path(file);
  return path.is_relative() &&
         std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
}

bool IsAsWritten(const fs::path& path, const std::string& digest) {
  std::error_code none;
  if (!fs::is_regular_file(fs::symlink_status(path, none))) return false;
  if (digest == kAnyContent) return true;
  std::ifstream stream(path, std::ios::binary);
  return stream && ContentDigest(std::string(std::istreambuf_iterator<char>(stream), {})) == digest;
}

}  // namespace

std::string ContentDigest(std::string_view text) { return fmt::format("{:016x}", Fnv1a(text)); }

std::string ManifestText(const std::vector<OwnFile>& files) {
  std::string text = kHead;
  for (const auto& [file, digest] : files) text += fmt::format("{:<{}} {}\n", digest, kDigits, file);
  return text;
}

std::vector<OwnFile> ReadManifest(const fs::path& path) {
  std::vector<OwnFile> files;
  std::ifstream stream(path, std::ios::binary);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with('#') || line.size() < kDigits + 2 || line[kDigits] != ' ') continue;
    OwnFile own{line.substr(kDigits + 1), line.substr(0, line.find(' '))};
    if (StaysInside(own.first)) files.push_back(std::move(own));
  }
  return files;
}

void RemoveOwn(const fs::path& folder, const std::vector<OwnFile>& files) {
  std::error_code kept;
  std::set<fs::path> folders;
  for (const auto& [file, digest] : files) {
    if (!StaysInside(file) || !IsAsWritten(folder / file, digest)) continue;
    fs::remove(folder / file, kept);
    for (fs::path above = fs::path(file).parent_path(); !above.empty(); above = above.parent_path()) {
      folders.insert(folder / above);
    }
  }
  // The innermost first; one that holds something is not removed.
  for (auto path = folders.rbegin(); path != folders.rend(); ++path) fs::remove(*path, kept);
}

}  // namespace spillway
