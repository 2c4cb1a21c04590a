// Where the command line writes. Machine-readable output and tables go to `out`, everything else to `err`. Tests give
// streams of their own and a clock that they move.
#ifndef SPILLWAY_SCENARIOS_OUTPUT_CONSOLE_H_
#define SPILLWAY_SCENARIOS_OUTPUT_CONSOLE_H_

#include <cstddef>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace spillway {

double SteadySeconds();  // of a clock that only goes forward

// Whether a terminal that TERM calls so goes back to the beginning of a line and clears it; nullptr: it is not said which.
bool MovesCursor(const char* term);

// Owns none of the streams. `seconds`: what time it is, for progress alone; no result depends on it.
struct Console {
  std::ostream& out;
  std::ostream& err;
  bool terminal = false;           // err is one that moves its cursor: progress may be shown as it goes
  bool out_terminal = false;       // out is one
  std::ostream* screen = nullptr;  // err with nothing between: what moves the cursor goes here; nullptr: err itself
  double (*seconds)() = SteadySeconds;
  std::ostream& Screen() const { return screen != nullptr ? *screen : err; }
};

// What is told of progress where err is no terminal: a line a minute, the first after a minute. Nothing on a terminal.
class MinuteLines {
 public:
  explicit MinuteLines(Console& console) : console_(console), begin_(console.seconds()), last_(begin_) {}
  // Prints the text, and how long it has been, if a minute has passed since the last line.
  void Say(const std::string& text);

 private:
  Console& console_;
  double begin_, last_;
};

// One line on a terminal that is overwritten as work goes on, with the time left, and cleared at the end; elsewhere a line
// a minute.
class Progress {
 public:
  // `what` stands before "7/40"; `done` were so before. `console` must outlive this.
  Progress(Console& console, std::string what, std::size_t total, std::size_t done = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void Step();  // one more is done
  // Called several times a second while none is done: on a terminal, once a second, how long it has been.
  void Wait();

 private:
  std::string TimeLeft() const;
  void Show(const std::string& text);
  Console& console_;
  MinuteLines lines_;
  std::string what_;
  std::size_t total_;
  std::size_t done_;
  std::size_t before_;
  double begin_;
  double shown_at_;
  bool shown_ = false;  // there is a line to clear
};

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_OUTPUT_CONSOLE_H_
