// A stream buffer in front of the console: makes control characters visible and keeps the reason why writing failed.
//
// Names come from files that others wrote. A name may hold an escape sequence that a terminal would obey, for example
// one that clears the screen. Example: the name "a<ESC>[2J" is written as "a\x1b[2J".
#ifndef SPILLWAY_SCENARIOS_OUTPUT_CONSOLE_BUFFER_H_
#define SPILLWAY_SCENARIOS_OUTPUT_CONSOLE_BUFFER_H_

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace spillway {

// Written in hexadecimal, as \x1b, \u009b or \xff: control characters but tab and line feed, the control characters
// U+0080 to U+009F, and bytes that are not UTF-8. The bytes of one character may come in several writes.
class ConsoleBuffer : public std::streambuf {
 public:
  // `to` must outlive the buffer. `quote`: false passes every byte unchanged.
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
  std::string begun_;  // the first bytes of a character whose other bytes have not come yet
  int error_ = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_OUTPUT_CONSOLE_BUFFER_H_
