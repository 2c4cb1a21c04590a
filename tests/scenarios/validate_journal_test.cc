// The journal of a validation: what goes in comes out, and what is not its own is refused.
#include <catch2/catch.hpp>
#include <filesystem>
#include <limits>

#include "calibrate/validate/journal.h"
#include "hw/text/document.h"
#include "reports/tables/validation.h"
#include "tests/temporary_folder.h"

namespace spillway {
namespace {

FinishedCase Finished(const std::string& network) {
  FinishedCase finished;
  ValidationCase& place = finished.place;
  place.scenario = "spaces, 50 % and\nlines";
  place.network = network;
  place.machine = "mine";
  place.batch = 32;
  place.memory_limit = 24'000'000;
  place.link = {
      .stated_rate = 2, .in_rate = 1.0 / 3, .out_rate = 0.1, .in_latency = 5, .in_duplex = 0.9, .out_duplex = 0.7};
  place.pace.products = {.factor = 0.8,
                         .low = 0.7,
                         .high = 0.9,
                         .launches = 16,
                         .of_other = true,
                         .meanwhile = 0.85,
                         .meanwhile_low = 0.8,
                         .meanwhile_high = 0.9,
                         .applied = true};
  place.noise = {.load = 0.75, .room = 2, .rounds = 0.05, .launches = 0.25};
  place.in_core = 1e8 / 3;
  place.in_core_split.recomputed = 0.5;
  place.tau = -0.25;
  place.clear_pairs = 7;
  place.best_predicted = "a b";
  place.best_or_noise = true;
  ValidationRow row;
  row.strategy = "swap-all";
  row.feasible = true;
  row.predicted = 110'000'000;
  row.as_calibrated = 95;
  row.at_pace = 96;
  row.step_times = {{1e8 / 3, 1.1e8}, {}, {std::numeric_limits<double>::denorm_min()}};
  row.moments = {1, -2, 3};
  row.tracked = 97;
  row.tracked_error = -1e-17;
  row.measured = 1e8;
  row.split = {.kernels = 1.2, .backward = 0.97};
  row.measured_device = -1;
  row.numerics = {.kind = Numerics::Kind::kDiffers, .largest_difference = 3e-7, .tensor = "w %20"};
  ValidationRow none;
  none.reason = "out_of_memory: the plan needs 53 MB";
  finished.rows = {none, row};
  finished.models = {{1e8 / 7, 2}};
  finished.notes = {"", "a note"};
  finished.reserve = 5;
  finished.no_memory = "no";
  finished.classes = {{.keep = 1, .swap = 2, .recompute = 3}, {}};
  return finished;
}

TEST_CASE("a case as a line and back: the same line, and the same tables") {
  const FinishedCase before = Finished("net");
  const std::string line = CaseLine(before);
  CHECK(line.find('\n') == line.size() - 1);
  const std::optional<FinishedCase> found = ParseCaseLine(line.substr(0, line.size() - 1));
  REQUIRE(found.has_value());
  CHECK(CaseLine(*found) == line);
  CHECK(found->rows[1].step_times == before.rows[1].step_times);
  CHECK(found->rows[1].moments == before.rows[1].moments);
  CHECK(found->rows[1].numerics.tensor == "w %20");
  CHECK(found->models == before.models);
  REQUIRE(found->classes.size() == 2);
  CHECK(found->classes[0].recompute == 3);
  CHECK(found->notes == before.notes);
  CHECK(found->place.scenario == before.place.scenario);
  const auto tables = [](const FinishedCase& finished) {
    ValidationSet set;
    set.cases = {finished.place};
    set.rows = finished.rows;
    return ValidationCsv(set) + ValidationCaseTable(set, 0);
  };
  CHECK(tables(*found) == tables(before));
}

TEST_CASE("lines that are no case") {
  const std::string line = CaseLine(Finished("net"));
  CHECK_FALSE(ParseCaseLine("").has_value());
  CHECK_FALSE(ParseCaseLine("casus").has_value());
  CHECK_FALSE(ParseCaseLine(line + " 1").has_value());
  for (std::size_t size = 1; size + 1 < line.size(); size += 13) {
    // Cut within a number it may still be one; the words behind it are missing all the same.
    if (line.find(' ', size) == std::string::npos) break;
    CHECK_FALSE(ParseCaseLine(line.substr(0, size)).has_value());
  }
}

JournalIdentity Identity(const std::string& scenario = "all of it", const std::string& device = "EPYC") {
  return {{"scenario", scenario, "s, 3 points"}, {"device", device, device}};
}

TEST_CASE("cases come back in order, a torn last line is dropped, and more go behind them") {
  const TemporaryFolder folder("journal");
  const std::filesystem::path out = folder.Path("");
  ValidationJournal first(out, Identity());
  first.Append(Finished("one"));
  first.Append(Finished("two"));
  // What a disk left that lost a line, and one that is torn.
  folder.Write("validation.journal", folder.Read("validation.journal") + "case \n" + "case =torn");
  ValidationJournal second(out, Identity());
  CHECK(second.Resume().size() == 2);
  second.Append(Finished("three"));
  ValidationJournal third(out, Identity());
  const std::vector<FinishedCase> found = third.Resume();
  REQUIRE(found.size() == 3);
  CHECK(found[0].place.network == "one");
  CHECK(found[2].place.network == "three");
  ValidationJournal anew(out, Identity());  // nobody resumes
  anew.Append(Finished("four"));
  ValidationJournal fourth(out, Identity());
  CHECK(fourth.Resume().size() == 1);
  fourth.Remove();
  CHECK_FALSE(std::filesystem::exists(out / "validation.journal"));
}

TEST_CASE("a journal of something else is refused, with all that differs") {
  const TemporaryFolder folder("journal");
  ValidationJournal(folder.Path(""), Identity()).Append(Finished("one"));
  const auto resume = [&](const JournalIdentity& identity) {
    return ValidationJournal(folder.Path(""), identity).Resume().size();
  };
  CHECK(resume(Identity()) == 1);
  CHECK_THROWS_WITH(resume(Identity("all of it", "Xeon")),
                    Catch::Contains("validation.journal:3: error: the device differs: there EPYC, now Xeon; leave "
                                    "--resume away to measure all cases anew, or name another folder by --out"));
  CHECK_THROWS_WITH(resume(Identity("other", "EPYC")),
                    Catch::Contains("the scenario differs: there it has changed since, now s, 3 points"));
  CHECK_THROWS_WITH(resume(Identity("other", "Xeon")), Catch::Contains("scenario") && Catch::Contains("device"));
  folder.Write("validation.journal", "something else\nin\nlines\n");
  CHECK_THROWS_WITH(resume(Identity()), Catch::Contains("no journal that this version of spillway writes"));
}

TEST_CASE("without a journal: a validation that was ended early begins, one that is complete is left alone") {
  const TemporaryFolder folder("journal");
  const auto resume = [&] { return ValidationJournal(folder.Path(""), Identity()).Resume().size(); };
  CHECK(resume() == 0);
  folder.Write("validation.csv", "");
  CHECK_THROWS_WITH(resume(), Catch::Contains("is complete"));
  folder.Write("validation.partial", "");
  CHECK(resume() == 0);
  folder.Write("validation.journal", "spillway validation journal 2\nscenario 12");  // killed while it was begun
  CHECK(resume() == 0);
  CHECK_THROWS_WITH(ValidationJournal("", Identity()).Resume(), Catch::StartsWith("--resume: "));
}

}  // namespace
}  // namespace spillway
