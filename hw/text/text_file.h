// Files of text as users name them: read whatever they are, and named for what they are where they are no text.
//
// Tested by document_test, csv_test, text_file_test, cli_resume_test and validate_journal_test (tests/).
#ifndef SPILLWAY_HW_TEXT_TEXT_FILE_H_
#define SPILLWAY_HW_TEXT_TEXT_FILE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "hw/text/document.h"

namespace spillway {

// How long a FIFO may be without anybody who writes into it. One that is being written to is waited for as any file is.
constexpr std::chrono::milliseconds kFifoPatience{5000};

// The bytes of a file, `most` + 1 of them where it has more: for the caller to refuse. `what` is what is expected, "a
// YAML file". UserError: no such file, a directory, what the system says when it cannot be read, a FIFO without a writer.
std::string ReadTextFile(const std::string& path, const char* what, std::size_t most,
                         std::chrono::milliseconds patience = kFifoPatience);

enum class Returns { kAnywhere, kBeforeLineFeeds };  // where a carriage return may stand

// For a path that leads to no file: "; did you mean 'mine.yaml'?", the file beside it with the nearest name; or "".
std::string DidYouMeanFile(const std::string& path);

// Whether these are characters in UTF-8 without control characters but tabs and line ends. The first that is not is
// reported, and text in UTF-16 as such; `what` is "a YAML text".
bool IsText(std::string_view text, const char* what, Returns returns, Diagnostics& diagnostics);

// Length of the valid UTF-8 character that `text` begins with, 0 when there is none. REQUIRES: not empty.
std::size_t CharacterLength(std::string_view text);

// A file that grows by lines, as whoever wrote it was killed: its last line may be torn.
//
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

#endif  // SPILLWAY_HW_TEXT_TEXT_FILE_H_
