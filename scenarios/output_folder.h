// Files of a run. Each is written under a temporary name and then renamed, so that no reader ever sees half a file.
#ifndef SPILLWAY_SCENARIOS_OUTPUT_FOLDER_H_
#define SPILLWAY_SCENARIOS_OUTPUT_FOLDER_H_

#include <filesystem>
#include <string>

namespace spillway {

// Throws UserError naming the file when it cannot be written. Folders are made as needed.
void WriteFile(const std::filesystem::path& path, const std::string& text);

// Throws UserError when `folder` is something else than a folder, or cannot be made.
void MakeFolder(const std::filesystem::path& folder);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_OUTPUT_FOLDER_H_
