// Files that commands write. Each is written under a temporary name and then renamed, so that no reader ever sees half a
// file.
#ifndef SPILLWAY_SCENARIOS_RUN_OUTPUT_FOLDER_H_
#define SPILLWAY_SCENARIOS_RUN_OUTPUT_FOLDER_H_

#include <filesystem>
#include <string>
#include <vector>

namespace spillway {

// Throws UserError naming the file when it cannot be written, with what the system says. Folders are made as needed. Of a
// symbolic link the file that it names is replaced. What is there and no file (a device, a FIFO, /dev/stdout) is written
// into; a FIFO is waited for until it has a reader.
void WriteFile(const std::filesystem::path& path, const std::string& text);

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

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_RUN_OUTPUT_FOLDER_H_
