#include "scenarios/output_folder.h"

#include <fmt/format.h>

#include <fstream>
#include <system_error>

#include "hw/document.h"

namespace spillway {

namespace {

[[noreturn]] void CannotWrite(const std::filesystem::path& path, const std::string& why) {
  throw UserError(fmt::format("cannot write '{}': {}", path.string(), why));
}

}  // namespace

void MakeFolder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder)) {
    CannotWrite(folder, error ? error.message() : "it exists and is no folder");
  }
}

void WriteFile(const std::filesystem::path& path, const std::string& text) {
  if (path.has_parent_path()) MakeFolder(path.parent_path());
  if (std::filesystem::is_directory(path)) CannotWrite(path, "it is a folder");
  std::filesystem::path temporary = path;
  temporary += ".part";
  {
    std::ofstream stream(temporary, std::ios::binary | std::ios::trunc);
    stream << text;
    stream.close();
    if (!stream) CannotWrite(path, "the disk is full, or permission is missing");
  }
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error) CannotWrite(path, error.message());
}

}  // namespace spillway
