// A file that grows by lines, as whoever wrote it was killed: its last line may be torn.
//
// Tested by cli_resume_test and validate_journal_test (tests/).
#ifndef SPILLWAY_SCENARIOS_RUN_WHOLE_LINES_H_
#define SPILLWAY_SCENARIOS_RUN_WHOLE_LINES_H_

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace spillway {

// The whole lines of a file, one after another: a last one without its line feed is none. A file that cannot be read has
// none.
class WholeLines {
 public:
  explicit WholeLines(const std::filesystem::path& path) : stream_(path, std::ios::binary) {}
  // Without the line feed; false: there are no more.
  bool Next(std::string& line) {
    if (!std::getline(stream_, line) || stream_.eof()) return false;
    end_ += line.size() + 1;
    return true;
  }
  std::uintmax_t end() const { return end_; }  // bytes of the lines so far

 private:
  std::ifstream stream_;
  std::uintmax_t end_ = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_RUN_WHOLE_LINES_H_
