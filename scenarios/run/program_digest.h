// Which program this is. Rows of two builds do not belong together, whatever version both say they are: one may plan or
// predict otherwise.
#ifndef SPILLWAY_SCENARIOS_RUN_PROGRAM_DIGEST_H_
#define SPILLWAY_SCENARIOS_RUN_PROGRAM_DIGEST_H_

#include <string>

namespace spillway {

// Of the file that this process runs, read once: 16 hexadecimal digits, the same wherever a copy of it lies. "unknown"
// where the system does not show it (/proc/self/exe).
const std::string& ProgramDigest();

// Likewise of any file; "unknown": it cannot be read, or is empty.
std::string FileDigest(const std::string& path);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_RUN_PROGRAM_DIGEST_H_
