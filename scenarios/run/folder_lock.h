// One run or validation at a time in a folder.
#ifndef SPILLWAY_SCENARIOS_RUN_FOLDER_LOCK_H_
#define SPILLWAY_SCENARIOS_RUN_FOLDER_LOCK_H_

#include <filesystem>
#include <string>

namespace spillway {

// Holds FOLDER/run.lock, which says who has it, while it lives. The system gives it back when the process ends, however it
// ends: a file left over keeps nobody out. Where the file system has no locks, nobody is kept out either.
//
// Tested by output_folder_test (tests/).
class FolderLock {
 public:
  // "": none. `what` tells others what is being done. UserError: somebody else has it (who, is said), or the file cannot
  // be made.
  FolderLock(const std::filesystem::path& folder, const std::string& what);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  void Take();

  std::filesystem::path path_;  // "": none
  int file_ = -1;
};

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_RUN_FOLDER_LOCK_H_
