// Where the command line writes. Machine-readable output and tables go to `out`, everything else to `err`.
#ifndef SPILLWAY_SCENARIOS_CONSOLE_H_
#define SPILLWAY_SCENARIOS_CONSOLE_H_

#include <cstddef>
#include <ostream>
#include <string>

namespace spillway {

struct Console {
  std::ostream& out;
  std::ostream& err;
  bool terminal = false;  // err is one: progress may be shown
};

// One line on a terminal that is overwritten as work goes on and cleared at the end; nothing otherwise.
class Progress {
 public:
  Progress(Console& console, std::string what, std::size_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void Step();

 private:
  Console& console_;
  std::string what_;
  std::size_t total_;
  std::size_t done_ = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CONSOLE_H_
