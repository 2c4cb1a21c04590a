// spillway validate --resume: finished cases are read back, the others measured, and the end is as if nobody had asked to
// stop.
#include <filesystem>
#include <functional>
#include <utility>

#include "calibrate/validate/journal.h"
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

TEST_CASE("names with line feeds do not keep a validation from being gone on with") {
  const ValidateFolder f(ValidateFolder::Profile::kModels, "two\\nlines");
  bool stop = false;
  Reality reality = StoppedIn(1, stop);
  reality.bench = false;
  CHECK(f.Run(kThreeLimits, Words(f), &reality).status == kExitInterrupted);
  Reality rest;
  const Outcome outcome = f.Run(kThreeLimits, Words(f, {"--resume"}), &rest);
  INFO(outcome.err);
  CHECK(outcome.status == kExitDone);
  CHECK(rest.rates.size() == 1 + 2);
}

TEST_CASE("a plan that was only renamed is the same validation, and rows are called by what it is called now") {
  const ValidateFolder f;
  const std::string old_plan = f.folder().Path("old.yaml"), plan = f.folder().Path("new.yaml");
  REQUIRE(Spillway({"plan", f.Scenario("link: 1 GB/s\n"), "--memory", "6 MB", "--strategy", "swap-all", "-o", old_plan})
              .status == kExitDone);
  bool stop = false;
  Reality reality = StoppedIn(1, stop);
  reality.bench = false;
  CHECK(f.Run(kThreeLimits, Words(f, {"--plan", old_plan}), &reality).status == kExitInterrupted);
  std::filesystem::rename(old_plan, plan);
  Reality rest;
  const Outcome outcome = f.Run(kThreeLimits, Words(f, {"--plan", plan, "--resume"}), &rest);
  INFO(outcome.err);
  CHECK(outcome.status == kExitDone);
  CHECK(rest.rates.size() == 1 + 2);
  CHECK(CountOf(f.folder().Read("out/validation.csv"), "swap-all (new.yaml)") == 3);
  CHECK(CountOf(f.folder().Read("out/validation.csv"), "old.yaml") == 0);
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

// A validation's folder as it is when it is killed behind its last case.
std::string KilledAtTheEnd(const ValidateFolder& f, const std::string& scenario,
                           const std::vector<std::string>& words) {
  std::string journal;
  Reality reality;
  reality.load = [&] {  // looked at before all else, behind each case and at the end
    if (std::filesystem::exists(f.folder().Path("out/validation.journal"))) {
      journal = f.folder().Read("out/validation.journal");
    }
    return 0.0;
  };
  CHECK(f.Run(scenario, words, &reality).status == kExitDone);
  f.folder().Write("out/validation.journal", journal);
  f.folder().Write("out/validation.partial", "");
  return journal;
}

TEST_CASE("all cases finished, killed before the end: nothing is measured again") {
  const ValidateFolder f;
  const std::string journal = KilledAtTheEnd(f, kThreeLimits, Words(f));
  CHECK(CountOf(journal, "\ncase ") == 3);
  const std::string rows = f.folder().Read("out/validation.csv");
  Reality rest;
  const Outcome outcome = f.Run(kThreeLimits, Words(f, {"--resume"}), &rest);
  CHECK(outcome.status == kExitDone);
  CHECK(rest.rates.empty());  // no device was made
  CHECK(f.folder().Read("out/validation.csv") == rows);
}

TEST_CASE("a journal with another case than its place's, or more of them, is refused with the line") {
  const ValidateFolder f;
  const std::string journal = KilledAtTheEnd(f, kThreeLimits, Words(f));
  const std::string head = journal.substr(0, journal.find("\ncase ") + 1);
  std::vector<std::string> cases;
  for (auto at = head.size(); at < journal.size(); at = journal.find('\n', at) + 1) {
    cases.push_back(journal.substr(at, journal.find('\n', at) + 1 - at));
  }
  REQUIRE(cases.size() == 3);
  const auto refused = [&](const std::string& text, const std::string& what) {
    INFO(what);
    f.folder().Write("out/validation.journal", text);
    Reality reality;
    CHECK_THROWS_WITH(f.Run(kThreeLimits, Words(f, {"--resume"}), &reality), Catch::Contains(what));
    CHECK(reality.rates.empty());
    CHECK(f.folder().Read("out/validation.journal") == text);
  };
  const std::string not_second =
      "validation.journal:8: error: this is not case 2, cifar-resnet20 at batch 2 on "
      "unit+link=1GB/s with 5.50 MB: the file was changed";
  refused(head + cases[0] + cases[2], not_second);
  refused(journal + cases[2], "validation.journal:10: error: there are 3 cases, and this is one more");
  // Rows, and what belongs to them, that are missing or another strategy's.
  FinishedCase second = *ParseCaseLine(cases[1].substr(0, cases[1].size() - 1));
  const auto changed = [&](void (*change)(FinishedCase&)) {
    FinishedCase found = second;
    change(found);
    return head + cases[0] + CaseLine(found);
  };
  refused(changed([](FinishedCase& c) { c.rows.resize(2); }), not_second);
  refused(changed([](FinishedCase& c) { std::swap(c.rows[0], c.rows[1]); }), not_second);
  refused(changed([](FinishedCase& c) { c.models.pop_back(); }), not_second);
  refused(changed([](FinishedCase& c) { c.models[0].pop_back(); }), not_second);
  refused(changed([](FinishedCase& c) { c.classes.clear(); }), not_second);
  refused(changed([](FinishedCase& c) { c.place.scenario = "another"; }), not_second);
}

TEST_CASE("a runtime of the same name with another figure is another scenario, and another build another program") {
  const ValidateFolder f;
  const auto scenario = [](const char* chunk) {
    return std::string(kThreeLimits) + "runtime: {name: own, from: arena, copy_chunk: " + chunk + "}\n";
  };
  const std::string journal = KilledAtTheEnd(f, scenario("1 MiB"), Words(f));
  CHECK_THROWS_WITH(f.Run(scenario("2 MiB"), Words(f, {"--resume"})), Catch::Contains("the scenario differs: there "));
  const auto line = journal.find("\nprogram ") + std::string("\nprogram ").size();
  f.folder().Write("out/validation.journal", journal.substr(0, line) + "0123456789abcdef" + journal.substr(line + 16));
  CHECK_THROWS_WITH(f.Run(scenario("1 MiB"), Words(f, {"--resume"})),
                    Catch::Contains("the program differs: there it has changed since, now "));
  f.folder().Write("out/validation.journal", journal);
  CHECK(f.Run(scenario("1 MiB"), Words(f, {"--resume"})).status == kExitDone);
}

TEST_CASE("what strategies were measured with decides expectations, whatever they would plan now") {
  const ValidateFolder f;
  const std::string expect =
      std::string(kThreeLimits) +
      "expect:\n  - {strategy: swap-all, memory: 5500 kB, swap: 12345, within: 1 %, source: \"a test\"}\n";
  const std::string journal = KilledAtTheEnd(f, kThreeLimits, Words(f));
  const std::size_t second = journal.find("\ncase ", journal.find("\ncase ") + 1) + 1;
  const std::size_t end = journal.find('\n', second);
  FinishedCase found = *ParseCaseLine(journal.substr(second, end - second));
  REQUIRE(found.classes.size() == 3);
  CHECK(found.classes[1].swap > 0);
  found.classes[1].swap = 12345;
  f.folder().Write("out/validation.journal", journal.substr(0, second) + CaseLine(found) + journal.substr(end + 1));
  CHECK(f.Run(expect, Words(f, {"--resume"})).status == kExitDone);  // expectations are no part of what is measured
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
