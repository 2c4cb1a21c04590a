// spillway validate --resume: finished cases are read back, the others measured, and the end is as if nobody had asked to
// stop.
#include <functional>

#include "tests/scenarios/validate_command_line.h"

namespace spillway {
namespace {

constexpr const char* kThreeLimits = "memory: [5 MB, 5500 kB, 6 MB]\nlink: 1 GB/s\n";

// Stopped in the case `which`, from 0.
Reality StoppedIn(int which, bool& stop) {
  Reality reality;
  reality.bench = true;
  reality.made = [&stop, left = which + 1]() mutable { stop = stop || left-- == 0; };
  reality.stop = [&stop] { return stop; };
  return reality;
}

Reality Timed() {
  Reality reality;
  reality.bench = true;
  return reality;
}

std::vector<std::string> Words(const ValidateFolder& f, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"--out", f.folder().Path("out"), "--random", "3"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_CASE("interrupted and resumed, twice: the files of a validation that nobody interrupted") {
  const ValidateFolder whole(ValidateFolder::Profile::kMeasured), parts(ValidateFolder::Profile::kMeasured);
  Reality usual = Timed();
  const Outcome all = whole.Run(kThreeLimits, Words(whole), &usual);
  CHECK(all.status == kExitDone);

  for (const int before : {0, 1}) {
    bool stop = false;
    Reality reality = StoppedIn(1, stop);
    const auto more = before == 0 ? std::vector<std::string>{} : std::vector<std::string>{"--resume"};
    CHECK(parts.Run(kThreeLimits, Words(parts, more), &reality).status == kExitInterrupted);
    CHECK(CountOf(parts.folder().Read("out/validation.journal"), "\ncase ") == static_cast<std::size_t>(before + 1));
  }
  Reality last = Timed();
  const Outcome rest = parts.Run(kThreeLimits, Words(parts, {"--resume"}), &last);
  INFO(rest.err);
  CHECK(rest.status == kExitDone);
  CHECK(last.rates.size() == 2);  // the link, and the one case that was left
  for (const char* name : {"out/validation.csv", "out/falsification.csv", "out/validation.txt"}) {
    CHECK(parts.folder().Read(name) == whole.folder().Read(name));
  }
  CHECK(rest.out == all.out);
  CHECK_FALSE(std::filesystem::exists(parts.folder().Path("out/validation.journal")));
  CHECK_FALSE(std::filesystem::exists(parts.folder().Path("out/validation.partial")));
  CHECK_THROWS_WITH(parts.Run(kThreeLimits, Words(parts, {"--resume"})), Catch::Contains("is complete"));
}

TEST_CASE("another scenario, profile, device or number of steps is refused before anything runs") {
  const ValidateFolder f;
  bool stop = false;
  Reality reality = StoppedIn(1, stop);
  reality.bench = false;
  CHECK(f.Run(kThreeLimits, Words(f), &reality).status == kExitInterrupted);
  const std::string rows = f.folder().Read("out/validation.csv");
  const auto refused = [&](const std::string& scenario, const std::vector<std::string>& words, const char* what,
                           const char* device = "a device") {
    Reality other;
    other.identity = device;
    CHECK_THROWS_WITH(f.Run(scenario, words, &other), Catch::Contains(std::string("the ") + what + " differs: there "));
    CHECK(other.rates.empty());
  };
  refused("memory: [5 MB, 5500 kB]\nlink: 1 GB/s\n", Words(f, {"--resume"}), "scenario");
  refused("memory: [5 MB, 5500 kB, 6 MB]\nlink: 2 GB/s\n", Words(f, {"--resume"}), "profile");
  refused(kThreeLimits, Words(f, {"--resume", "--seed", "2"}), "command");
  refused(kThreeLimits, Words(f, {"--resume"}), "device", "another device");
  CHECK(f.folder().Read("out/validation.csv") == rows);
  CHECK_THROWS_WITH(f.Run(kThreeLimits, {"--resume"}), Catch::StartsWith("--resume: goes on in a folder"));
}

TEST_CASE("all cases finished, killed before the end: nothing is measured again") {
  const ValidateFolder f;
  const Outcome all = f.Run(kThreeLimits, Words(f));
  CHECK(all.status == kExitDone);
  const std::string rows = f.folder().Read("out/validation.csv");
  bool stop = false;
  Reality reality = StoppedIn(2, stop);
  reality.bench = false;
  CHECK(f.Run(kThreeLimits, Words(f), &reality).status == kExitInterrupted);
  std::string journal = f.folder().Read("out/validation.journal");
  const std::string second = journal.substr(journal.rfind("case "));
  f.folder().Write("out/validation.journal", journal + second);  // a third one
  Reality rest;
  const Outcome outcome = f.Run(kThreeLimits, Words(f, {"--resume"}), &rest);
  CHECK(outcome.status == kExitDone);
  CHECK(rest.rates.empty());  // no device was made
  CHECK(CountOf(f.folder().Read("out/validation.csv"), "\n") == CountOf(rows, "\n"));
}

TEST_CASE("without --resume all cases are measured anew, and the journal begins anew with the first") {
  const ValidateFolder f;
  for (int k = 0; k < 2; ++k) {
    bool stop = false;
    Reality reality = StoppedIn(1, stop);
    reality.bench = false;
    CHECK(f.Run(kThreeLimits, Words(f), &reality).status == kExitInterrupted);
    CHECK(CountOf(f.folder().Read("out/validation.journal"), "\ncase ") == 1);
  }
}

}  // namespace
}  // namespace spillway
