// What reaches a terminal, and what is said when nothing can.
#include "scenarios/output/console.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "scenarios/output/console_buffer.h"
#include "tests/command_line.h"
#include "tests/temporary_folder.h"
#include "tests/text.h"

namespace spillway {
namespace {

std::string Seen(const std::vector<std::string>& pieces, bool quote = true) {
  std::ostringstream to;
  {
    ConsoleBuffer buffer(to, quote);
    std::ostream stream(&buffer);
    for (const std::string& piece : pieces) stream << piece << std::flush;
  }
  return to.str();
}

TEST_CASE("what a terminal would obey is shown instead") {
  CHECK(Seen({"plain\ttext\n"}) == "plain\ttext\n");
  CHECK(Seen({"a\x1b[31mb\x07\r\x7f"}) == "a\\x1b[31mb\\x07\\x0d\\x7f");
  CHECK(Seen({"\xc2\x9b"
              "31m"}) == "\\u009b31m");
  CHECK(Seen({"\x9b"
              "31m"}) == "\\x9b31m");
  CHECK(Seen({"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"}) ==
        "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
  CHECK(Seen({"\x1b[31m"}, false) == "\x1b[31m");
}

TEST_CASE("progress is drawn over itself only where the terminal says that it can do that") {
  CHECK(MovesCursor("xterm-256color"));
  for (const char* term : {static_cast<const char*>(nullptr), "", "dumb", "unknown"}) CHECK_FALSE(MovesCursor(term));
}

TEST_CASE("a character may come in pieces, or never whole") {
  CHECK(Seen({"\xe2", "\x82", "\xac"}) == "\xe2\x82\xac");
  CHECK(Seen({"\xc2", "\x9b"}) == "\\u009b");
  CHECK(Seen({"\xe0", "\xa0\x80"}) == "\xe0\xa0\x80");
  CHECK(Seen({"\xf4", "\x8f\xbf\xbf"}) == "\xf4\x8f\xbf\xbf");
  CHECK(Seen({"\xe2\x82", "x"}) == "\\xe2\\x82x");
  CHECK(Seen({"x\xf0\x9f"}) == "x\\xf0\\x9f");
}

const std::string kNamed =
    "name: \"red \\e[31m\"\nnetwork: {zoo: cifar-resnet20, batch: 1}\nmachines: unit\nstrategies: in-core\n";

TEST_CASE("a name with an escape sequence is quoted in tables and messages, and as it is in CSV") {
  const TemporaryFolder folder("escape");
  const std::string file = folder.Write("s.yaml", kNamed);
  const Outcome table = Spillway({"run", file});
  CHECK(Contains(table.out, "red \\x1b[31m: cifar-resnet20"));
  CHECK_FALSE(Contains(table.out, "\x1b"));
  CHECK(Contains(Spillway({"run", file, "--format", "csv"}).out, "red \x1b[31m,"));
  const Outcome wrong = Spillway({"run", folder.Path("no\x1b[2Jsuch.yaml")});
  CHECK(Contains(wrong.err, "no\\x1b[2Jsuch.yaml: error: no such file"));
  CHECK_FALSE(Contains(wrong.err, "\x1b"));
}

TEST_CASE("on a terminal CSV is quoted too") {
  const TemporaryFolder folder("escape-csv");
  std::ostringstream out, err;
  Console console{.out = out, .err = err, .out_terminal = true};
  CHECK(RunCommandLine({"run", folder.Write("s.yaml", kNamed), "--format", "csv"}, console) == 0);
  CHECK(Contains(out.str(), "red \\x1b[31m,"));
  CHECK_FALSE(Contains(out.str(), "\x1b"));
}

struct Told {
  int status;
  std::string err;
};

Told Into(std::ostream& out, const std::vector<std::string>& words) {
  std::ostringstream err;
  Console console{out, err};
  const int status = RunCommandLine(words, console);
  return {status, err.str()};
}

TEST_CASE("output that cannot be written is status 2, with what the system says") {
  const TemporaryFolder folder("full");
  const std::string file = folder.Write("s.yaml", kNamed);
  const std::string message = "standard output cannot be written: No space left on device\n";
  const std::vector<std::vector<std::string>> commands{
      {"--help"}, {"list", "machines"}, {"run", file}, {"run", file, "--format", "json"}};
  for (const std::vector<std::string>& words : commands) {
    std::ofstream full("/dev/full");
    const Told told = Into(full, words);
    CHECK(told.status == kExitWrongInput);
    CHECK(told.err == message);
  }
}

// Takes so many bytes and no more.
class Narrow : public std::stringbuf {
 public:
  explicit Narrow(std::size_t room) : room_(room) {}

 protected:
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    if (str().size() + static_cast<std::size_t>(count) > room_) return 0;
    return std::stringbuf::xsputn(text, count);
  }

 private:
  std::size_t room_;
};

TEST_CASE("a table that is cut short is no success") {
  const TemporaryFolder folder("rows");
  const std::string file = folder.Write("s.yaml", kNamed);
  Narrow buffer(20);
  std::ostream out(&buffer);
  const Told told = Into(out, {"run", file, "--format", "csv"});
  CHECK(told.status == kExitWrongInput);
  CHECK(told.err == "standard output cannot be written\n");
}

double told_seconds = 0;  // by the clock of the console below

std::string LinesOf(bool terminal, const std::vector<double>& steps) {
  std::ostringstream out, err;
  told_seconds = 1000;
  Console console{.out = out, .err = err, .terminal = terminal, .seconds = [] { return told_seconds; }};
  {
    Progress progress(console, "point", steps.size());
    for (const double at : steps) {
      told_seconds = 1000 + at;
      progress.Step();
    }
  }
  CHECK(out.str().empty());
  return err.str();
}

TEST_CASE("without a terminal progress is a line a minute, the first after a minute") {
  CHECK(LinesOf(false, {1, 30, 59}).empty());
  CHECK(LinesOf(false, {1, 61, 62, 100, 122, 700}) ==
        "point 2/6, after 1 min\npoint 5/6, after 2 min\npoint 6/6, after 12 min\n");
}

TEST_CASE("a command's progress goes by the console's clock") {
  const TemporaryFolder folder("clock");
  std::ostringstream out, err;
  told_seconds = 0;
  Console console{.out = out, .err = err, .seconds = [] { return told_seconds += 61; }};
  CHECK(RunCommandLine({"run", folder.Write("s.yaml", kNamed), "--format", "csv"}, console) == kExitDone);
  CHECK(Contains(err.str(), "point 1/"));
}

TEST_CASE("on a terminal progress tells the time left once a second has passed") {
  CHECK(Contains(LinesOf(true, {2, 4, 5}), "\rpoint 1/3, about 4 s left\x1b[K\rpoint 2/3, about 2 s left\x1b[K"));
  CHECK(Contains(LinesOf(true, {300, 600, 900}), "point 1/3, about 10 min left"));
}

TEST_CASE("on a terminal progress is one line that goes again") {
  CHECK(LinesOf(true, {0.5, 100}) == "\rpoint 1/2\x1b[K\rpoint 2/2\x1b[K\r\x1b[K");
  CHECK(LinesOf(true, {}).empty());
}

TEST_CASE("while a point is worked on a terminal tells how long it has been, and anything else is told nothing") {
  for (const bool terminal : {true, false}) {
    std::ostringstream out, err;
    told_seconds = 1000;
    Console console{.out = out, .err = err, .terminal = terminal, .seconds = [] { return told_seconds; }};
    {
      Progress progress(console, "point", 2);
      for (const double at : {0.1, 0.9, 1.0, 1.5, 12.25, 70.0}) {
        told_seconds = 1000 + at;
        progress.Wait();
      }
      CHECK(err.str() == (terminal ? "\rpoint 0/2, 1 s so far\x1b[K\rpoint 0/2, 12 s so far\x1b[K"
                                     "\rpoint 0/2, 70 s so far\x1b[K"
                                   : ""));
    }
    CHECK(err.str().ends_with(terminal ? "so far\x1b[K\r\x1b[K" : ""));
  }
}

TEST_CASE("run and plan tell a terminal of a long point, and a pipe nothing") {
  const TemporaryFolder folder("long-point");
  const std::string file = folder.Write("s.yaml", std::string(kNamed));
  for (const bool terminal : {true, false}) {
    for (const std::vector<std::string>& line :
         {std::vector<std::string>{"run", file, "--format", "csv"}, {"plan", file, "-o", folder.Path("p.yaml")}}) {
      std::ostringstream out, err;
      told_seconds = 0;
      Console console{.out = out, .err = err, .terminal = terminal, .seconds = [] { return told_seconds += 1; }};
      const ExitCode status = RunCommandLine(line, console);
      INFO(line.front() << "\n" << err.str());
      CHECK((status == kExitDone || line.front() == "plan"));
      if (line.front() == "run" || status == kExitDone) CHECK(Contains(err.str(), " s so far") == terminal);
    }
  }
}

}  // namespace
}  // namespace spillway
