// spillway run and compare, interrupted: what is kept, and that it is told.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <functional>
#include <sstream>

#include "scenarios/cli/results.h"
#include "scenarios/output/interrupts.h"
#include "tests/scenarios/cut_off_run.h"
#include "tests/text.h"

namespace spillway {
namespace {

namespace fs = std::filesystem;

template <typename Made>
Outcome Interrupt(const std::vector<std::string>& words, const std::function<bool()>& stop) {
  const Arguments arguments = ParseArguments(words);
  REQUIRE(arguments.command);
  std::ostringstream out, err;
  Console console{out, err};
  const int status = dynamic_cast<const Made&>(*arguments.command).RunUntil(console, stop);
  return {status, out.str(), err.str()};
}

bool Always() { return true; }
bool Never() { return false; }

TEST_CASE("an interrupted run keeps its rows, says so, and is gone on with") {
  const TemporaryFolder folder("interrupt");
  const std::string file = folder.Write("s.yaml", SweepText()), out = folder.Path("out");
  Spillway({"run", file, "--out", folder.Path("whole")});
  const auto three_rows = [&folder] {
    const std::string journal = fs::exists(folder.Path("out/run.journal")) ? folder.Read("out/run.journal") : "";
    return std::count(journal.begin(), journal.end(), '\n') == 1 + 3;
  };
  const Outcome outcome = Interrupt<RunCommand>({"run", file, "--out", out, "--jobs", "2"}, three_rows);
  CHECK(outcome.status == kExitInterrupted);
  CHECK(outcome.out.empty());
  CHECK(outcome.err ==
        "interrupted: 3 of 12 points are kept in " + out + "; --resume goes on, with the last one again\n");
  CHECK(fs::exists(folder.Path("out/run.journal")));
  CHECK_FALSE(fs::exists(folder.Path("out/run.lock")));
  CHECK_FALSE(fs::exists(folder.Path("out/results.csv")));
  const Outcome rest = Interrupt<RunCommand>({"run", file, "--out", out, "--resume"}, Never);
  INFO(rest.err);
  CHECK(rest.status == kExitDone);
  CHECK(FilesOf(folder, "out") == FilesOf(folder, "whole"));
}

TEST_CASE("interrupted before the first row: the folder that was made goes again") {
  const TemporaryFolder folder("interrupt-first");
  const std::string file = folder.Write("s.yaml", SweepText());
  const Outcome outcome = Interrupt<RunCommand>({"run", file, "--out", folder.Path("out")}, Always);
  CHECK(outcome.status == kExitInterrupted);
  CHECK(outcome.err == "interrupted: 0 of 12 points are done: nothing is kept\n");
  CHECK_FALSE(fs::exists(folder.Path("out")));
}

TEST_CASE("interrupted without a folder nothing is kept, and that is said") {
  const TemporaryFolder folder("interrupt-none");
  const std::string file = folder.Write("s.yaml", SweepText());
  const Outcome run = Interrupt<RunCommand>({"run", file}, Always);
  CHECK(run.status == kExitInterrupted);
  CHECK(run.out.empty());
  CHECK(run.err == "interrupted: 0 of 12 points are done, and nothing is kept without --out\n");
  const Outcome compare =
      Interrupt<CompareCommand>({"compare", file, "--machines", "v100-x86-pcie3,v100-power9-nvlink2"}, Always);
  CHECK(compare.status == kExitInterrupted);
  CHECK(compare.out.empty());
  CHECK(compare.err == "interrupted: 0 of 24 points are done, and nothing is kept without --out\n");
}

TEST_CASE("Ctrl-C and SIGTERM are what interrupts") {
  const TemporaryFolder folder("interrupt-signal");
  const std::string file = folder.Write("s.yaml", SweepText());
  const Interrupts held;  // so that what is raised here waits for the verb
  for (const int signal : {SIGINT, SIGTERM}) {
    std::raise(signal);
    const Outcome run = Spillway({"run", file});
    CHECK(run.status == kExitInterrupted);
    CHECK(run.err.find("once more ends at once") != std::string::npos);
    std::raise(signal);
    CHECK(Spillway({"compare", file, "--machines", "v100-x86-pcie3,unit"}).status == kExitInterrupted);
  }
  CHECK(Spillway({"run", file}).status == kExitDone);
}

// A point whose search takes minutes: the second signal is not waited with.
TEST_CASE("a second Ctrl-C ends at once") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, nullptr);
    std::signal(SIGINT, SIG_DFL);
    Interrupts interrupts;
    std::ostringstream err;
    const std::function<bool()> stop = StopBetweenPoints(interrupts, err);
    if (stop()) _exit(1);
    std::raise(SIGINT);
    if (!stop() || err.str().find("once more") == std::string::npos) _exit(2);
    std::raise(SIGINT);
    _exit(3);  // still there
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  INFO(status);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGINT);
}

}  // namespace
}  // namespace spillway
