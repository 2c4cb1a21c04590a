#ifndef SPILLWAY_SCENARIOS_OUTPUT_CONSOLE_BUFFER_H_
#define SPILLWAY_SCENARIOS_OUTPUT_CONSOLE_BUFFER_H_

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace spillway {

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

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_OUTPUT_CONSOLE_BUFFER_H_
