#include "scenarios/output_folder.h"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "hw/document.h"

namespace spillway {

namespace {

[[noreturn]] void CannotWrite(const std::filesystem::path& path, const std::string& why) {
  throw UserError(fmt::format("cannot write '{}': {}", path.string(), why));
}

void MakeFolder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) CannotWrite(folder, error.message());
  if (!std::filesystem::is_directory(folder, error)) CannotWrite(folder, "it exists and is no folder");
}

// Of the path those that are not there, the innermost first.
std::vector<std::filesystem::path> Missing(std::filesystem::path path) {
  std::vector<std::filesystem::path> missing;
  std::error_code ignored;
  for (; !path.empty() && !std::filesystem::exists(path, ignored); path = path.parent_path()) missing.push_back(path);
  return missing;
}

}  // namespace

ResultFolder::ResultFolder(const std::filesystem::path& folder) : made_(Missing(folder)) {
  if (!folder.empty()) MakeFolder(folder);
}

ResultFolder::~ResultFolder() {
  std::error_code kept;  // one that holds something is not removed
  for (const std::filesystem::path& path : made_) std::filesystem::remove(path, kept);
}

void WriteFile(const std::filesystem::path& path, const std::string& text) {
  if (path.has_parent_path()) MakeFolder(path.parent_path());
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) CannotWrite(path, "it is a folder");
  std::filesystem::path temporary = path;
  temporary += ".part";
  {
    std::ofstream stream(temporary, std::ios::binary | std::ios::trunc);
    if (!stream) CannotWrite(path, std::system_category().message(errno));
    stream << text;
    stream.close();
    if (!stream) CannotWrite(path, "the disk is full, or permission is missing");
  }
  std::filesystem::rename(temporary, path, error);
  if (error) CannotWrite(path, error.message());
}

}  // namespace spillway
