// spillway validate cut off in the middle: what is finished is kept, and what is missing is told.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "scenarios/output/interrupts.h"
#include "scenarios/output/output_folder.h"
#include "tests/scenarios/validate_command_line.h"

namespace spillway {
namespace {

constexpr const char* kTwoLimits = "memory: [5 MB, 5500 kB]\nlink: 1 GB/s\n";

// What `act` does when the device of the case `which`, from 0, is made; the one before the cases measures the link.
std::function<void()> AtCase(int which, std::function<void()> act) {
  return [left = which + 1, act = std::move(act)]() mutable {
    if (left-- == 0) act();
  };
}

std::vector<std::string> FilesIn(const ValidateFolder& f) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(f.folder().Path("out"))) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

using Names = std::vector<std::string>;

TEST_CASE("a validation that came to its end leaves no mark, and the table that it printed") {
  const ValidateFolder f;
  const Outcome outcome = f.Run(kTwoLimits, {"--out", f.folder().Path("out")});
  CHECK(outcome.status == kExitDone);
  CHECK(FilesIn(f) ==
        Names{"costs", "falsification.csv", "ops", "report.html", "timelines", "validation.csv", "validation.txt"});
  CHECK(f.folder().Read("out/validation.txt") == outcome.out);
}

TEST_CASE("killed in the second case: rows and table of the first one are there, marked as not all") {
  const ValidateFolder f;
  const Outcome whole = f.Run(kTwoLimits, {"--out", f.folder().Path("out"), "--format", "csv"});
  const std::string table = f.folder().Read("out/validation.txt");
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    Reality reality;
    reality.made = AtCase(1, [] { std::raise(SIGKILL); });
    f.Run(kTwoLimits, {"--out", f.folder().Path("out")}, &reality);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGKILL);
  // The earlier validation's models are gone: they are not of these rows.
  CHECK(FilesIn(f) == Names{"costs", "ops", "report.html", "run.lock", "timelines", "validation.csv",
                            "validation.journal", "validation.partial", "validation.txt"});
  const std::string rows = f.folder().Read("out/validation.csv"), text = f.folder().Read("out/validation.txt");
  CHECK(CountOf(rows, "\n") == 1 + 3);
  CHECK(whole.out.starts_with(rows));
  CHECK(text.size() > 500);
  CHECK(table.starts_with(text));
  CHECK(f.folder().Read("out/validation.partial") ==
        "1 of 2 cases finished and in validation.csv; the validation runs, or was cut off\n");
}

TEST_CASE("SIGTERM and Ctrl-C in a case: it is abandoned, the others are summed up, status 130") {
  for (const int signal : {SIGTERM, SIGINT}) {
    for (const char* format : {"table", "csv"}) {
      const ValidateFolder f(ValidateFolder::Profile::kMeasured);
      Interrupts interrupts;
      Reality reality;
      reality.bench = true;
      reality.made = AtCase(1, [signal] { kill(getpid(), signal); });
      reality.stop = [&interrupts] { return interrupts.Came(); };
      const Outcome outcome = f.Run(kTwoLimits, {"--out", f.folder().Path("out"), "--format", format}, &reality);
      INFO(outcome.out << outcome.err);
      CHECK(outcome.status == kExitInterrupted);
      CHECK(outcome.err ==
            "interrupted: 1 of 2 cases finished, kept in " + f.folder().Path("out") + "; --resume goes on\n");
      CHECK(FilesIn(f) == Names{"costs", "falsification.csv", "ops", "report.html", "timelines", "validation.csv",
                                "validation.journal", "validation.partial", "validation.txt"});
      const std::string text = f.folder().Read("out/validation.txt"), rows = f.folder().Read("out/validation.csv");
      CHECK(CountOf(rows, "\n") == 1 + 3);
      CHECK(outcome.out == (format == std::string("csv") ? rows : text));
      CHECK_THAT(text, Catch::Contains("within noise of the fastest, at 1 of 1 points"));
      CHECK_THAT(text, !Catch::Contains("during the measurement"));  // nobody waits for the pace at the end
    }
  }
}

TEST_CASE("interrupted before any case is finished: a sentence, status 130") {
  for (const int which : {-1, 0}) {  // while the link is measured, and in the first case
    const ValidateFolder f;
    bool stop = false;
    Reality reality;
    reality.made = AtCase(which, [&stop] { stop = true; });
    reality.stop = [&stop] { return stop; };
    const Outcome outcome = f.Run(kTwoLimits, {"--out", f.folder().Path("out")}, &reality);
    CHECK(outcome.status == kExitInterrupted);
    CHECK(outcome.out.empty());
    CHECK(outcome.err == "interrupted before the first case was finished\n");
    CHECK_FALSE(std::filesystem::exists(f.folder().Path("out")));
  }
}

TEST_CASE("cut off before any case is finished, an earlier validation's files stay, marked as such") {
  const ValidateFolder f;
  const std::vector<std::string> words = {"--out", f.folder().Path("out")};
  CHECK(f.Run(kTwoLimits, words).status == kExitDone);
  const std::string rows = f.folder().Read("out/validation.csv");
  bool stop = false;
  Reality reality;
  reality.made = AtCase(0, [&stop] { stop = true; });
  reality.stop = [&stop] { return stop; };
  CHECK(f.Run(kTwoLimits, words, &reality).status == kExitInterrupted);
  CHECK(f.folder().Read("out/validation.csv") == rows);
  CHECK(f.folder().Read("out/validation.partial") ==
        "0 of 2 cases finished; the files beside this one are of an earlier validation\n");
  CHECK(f.Run(kTwoLimits, words).status == kExitDone);
  CHECK(FilesIn(f) ==
        Names{"costs", "falsification.csv", "ops", "report.html", "timelines", "validation.csv", "validation.txt"});
}

TEST_CASE("two validations, or a validation and a run, do not share a folder") {
  const ValidateFolder f;
  const std::string out = f.folder().Path("out");
  std::filesystem::create_directories(out);
  Reality reality;
  {
    const FolderLock lock(out, "spillway run other.yaml");
    CHECK_THROWS_WITH(f.Run(kTwoLimits, {"--out", out}, &reality),
                      Catch::Contains("out: error: another run or validation is writing into this folder (process ") &&
                          Catch::Contains("spillway run other.yaml); wait for it"));
    CHECK(reality.rates.empty());
    CHECK(FilesIn(f) == Names{"run.lock"});
  }
  std::string who;
  reality.made = [&] { who = f.folder().Read("out/run.lock"); };
  CHECK(f.Run(kTwoLimits, {"--out", out}, &reality).status == kExitDone);
  CHECK_THAT(who, Catch::StartsWith("process " + std::to_string(getpid()) + " on ") && Catch::Contains(": spillway "));
  CHECK(FilesIn(f) ==
        Names{"costs", "falsification.csv", "ops", "report.html", "timelines", "validation.csv", "validation.txt"});
}

TEST_CASE("tables that cannot be written: all is measured and printed, status 2, and --resume makes up for them") {
  const ValidateFolder f;
  const std::string out = f.folder().Path("out");
  const Outcome whole = f.Run(kTwoLimits, {"--out", out});
  const std::string rows = f.folder().Read("out/validation.csv");
  std::filesystem::remove_all(out);
  std::filesystem::create_directories(out + "/validation.csv/in the way");
  Reality reality;
  const Outcome outcome = f.Run(kTwoLimits, {"--out", out}, &reality);
  CHECK(outcome.status == kExitWrongInput);
  CHECK(outcome.out == whole.out);
  CHECK(outcome.err == "cannot write '" + out +
                           "/validation.csv': it is a folder; the validation goes on without tables, and --resume will "
                           "make up for them\n");
  CHECK(reality.rates.size() == 3);
  CHECK(std::filesystem::exists(out + "/validation.journal"));
  CHECK(std::filesystem::exists(out + "/validation.partial"));
  std::filesystem::remove_all(out + "/validation.csv");
  Reality rest;
  CHECK(f.Run(kTwoLimits, {"--out", out, "--resume"}, &rest).out == whole.out);
  CHECK(rest.rates.empty());
  CHECK(f.folder().Read("out/validation.csv") == rows);
  CHECK(FilesIn(f) ==
        Names{"costs", "falsification.csv", "ops", "report.html", "timelines", "validation.csv", "validation.txt"});
}

TEST_CASE("a journal that cannot be written: said once, and the tables are there, status 0") {
  const ValidateFolder f;
  const std::string out = f.folder().Path("out");
  std::filesystem::create_directories(out + "/validation.journal/in the way");
  const Outcome outcome = f.Run(kTwoLimits, {"--out", out});
  CHECK(outcome.status == kExitDone);
  CHECK_THAT(outcome.err, Catch::StartsWith("cannot write '" + out + "/validation.journal': ") &&
                              Catch::EndsWith("; the validation goes on, and cases from here on cannot be resumed\n"));
  CHECK(CountOf(outcome.err, "\n") == 1);
  CHECK(CountOf(f.folder().Read("out/validation.csv"), "\n") == 1 + 2 * 3);
}

TEST_CASE("a stated expectation is not judged by some of the cases") {
  const ValidateFolder f;
  bool stop = false;
  Reality reality;
  reality.made = AtCase(1, [&stop] { stop = true; });
  reality.stop = [&stop] { return stop; };
  const std::string expect =
      "expect:\n  - {strategy: recompute-all, samples_per_second: 1e6, within: 0.1, source: \"a test\"}\n";
  const Outcome outcome = f.Run(kTwoLimits + expect, {}, &reality);
  CHECK(outcome.status == kExitInterrupted);
  CHECK(outcome.err == "interrupted: 1 of 2 cases finished\n");
}

TEST_CASE("interrupted while plans are made") {
  const ValidateFolder f;
  int asked = 0;
  Reality reality;
  reality.stop = [&asked] { return ++asked > 2; };  // behind the first plan
  const Outcome outcome = f.Run(kTwoLimits, {}, &reality);
  CHECK(outcome.status == kExitInterrupted);
  CHECK(reality.rates.empty());  // no device was made
}

}  // namespace
}  // namespace spillway
