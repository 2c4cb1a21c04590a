// Which files of a folder are a run's own: those of an earlier run go when another one writes there, and what somebody
// else put beside them, or changed, stays.
//
// Tested by output_folder_test.
#ifndef SPILLWAY_SCENARIOS_RUN_MANIFEST_H_
#define SPILLWAY_SCENARIOS_RUN_MANIFEST_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spillway {

// A file relative to its folder, and the digest of what was written into it; kAnyContent: whatever it holds.
using OwnFile = std::pair<std::string, std::string>;
inline constexpr const char* kAnyContent = "any";

std::string ContentDigest(std::string_view text);  // FNV-1a of 64 bits, 16 hexadecimal digits

// One file a line, with a head that says what this is. Reading skips what is no such line, and paths that lead out of
// the folder; without the file there are none.
std::string ManifestText(const std::vector<OwnFile>& files);
std::vector<OwnFile> ReadManifest(const std::filesystem::path& path);

// Removes those that still hold what was written, and then the folders below `folder` that this leaves empty. What
// cannot be removed stays.
void RemoveOwn(const std::filesystem::path& folder, const std::vector<OwnFile>& files);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_RUN_MANIFEST_H_
