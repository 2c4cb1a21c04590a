// Where the command line writes. Machine-readable output and tables go to `out`, everything else to `err`.
#ifndef SPILLWAY_SCENARIOS_CONSOLE_H_
#define SPILLWAY_SCENARIOS_CONSOLE_H_

#include <cstddef>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace spillway {

struct Console {
  std::ostream& out;
  std::ostream& err;
  bool terminal = false;           // err is one: progress may be shown
  bool out_terminal = false;       // out is one
  std::ostream* screen = nullptr;  // err with nothing between: what moves the cursor goes here; nullptr: err itself
  std::ostream& Screen() const { return screen != nullptr ? *screen : err; }
};

// On the way to a stream: what a name may hold that a terminal obeys becomes visible, and why writing failed is kept.
//
// Control characters but tab and line feed, those of 8 bits (U+0080 to U+009F) and bytes that are not UTF-8 are
// written as \x1b, \u009b, \xff. A character may come in pieces.
class ConsoleBuffer : public std::streambuf {
 public:
  // `quote`: false lets everything through as it is.
  ConsoleBuffer(std::ostream& to, bool quote) : to_(to), quote_(quote) {}
  ~ConsoleBuffer() override;
  ConsoleBuffer(const ConsoleBuffer&) = delete;
  ConsoleBuffer& operator=(const ConsoleBuffer&) = delete;

  int error() const { return error_; }  // errno of the first write that failed; 0 if the system gave no reason

 protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize count) override;
  int sync() override;

 private:
  bool Pass(std::string_view text);
  bool Failed();

  std::ostream& to_;
  bool quote_;
  std::string begun_;  // bytes of a character that is not complete
  int error_ = 0;
};

// One line on a terminal that is overwritten as work goes on and cleared at the end; nothing otherwise.
class Progress {
 public:
  Progress(Console& console, std::string what, std::size_t total, std::size_t done = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void Step();

 private:
  Console& console_;
  std::string what_;
  std::size_t total_;
  std::size_t done_;
};

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CONSOLE_H_
