// Files of a run. Each is written under a temporary name and then renamed, so that no reader ever sees half a file.
#ifndef SPILLWAY_SCENARIOS_OUTPUT_FOLDER_H_
#define SPILLWAY_SCENARIOS_OUTPUT_FOLDER_H_

#include <filesystem>
#include <string>
#include <vector>

namespace spillway {

// Throws UserError naming the file when it cannot be written. Folders are made as needed.
void WriteFile(const std::filesystem::path& path, const std::string& text);

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

#endif  // SPILLWAY_SCENARIOS_OUTPUT_FOLDER_H_
