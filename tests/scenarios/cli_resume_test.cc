// spillway run into a folder: cut off and gone on with, after another run, beside one, on a disk that is full.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "scenarios/output/output_folder.h"
#include "scenarios/run/run_files.h"
#include "tests/result_rows.h"
#include "tests/scenarios/cut_off_run.h"
#include "tests/text.h"

namespace spillway {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a run that was cut off is gone on with to the same bytes") {
  const TemporaryFolder folder("resume");
  const std::string file = folder.Write("s.yaml", SweepText());
  const Outcome whole = Spillway({"run", file, "--out", folder.Path("whole")});
  const auto wanted = FilesOf(folder, "whole");
  CHECK_FALSE(wanted.contains("run.journal"));
  CHECK_FALSE(wanted.contains("run.lock"));
  for (const int rows : {0, 1, 5, 11}) {
    INFO(rows);
    fs::remove_all(folder.Path("cut"));
    CutOff(folder, file, "cut");
    Tear(folder, "cut/run.journal", rows);
    const Outcome rest = Spillway({"run", file, "--out", folder.Path("cut"), "--resume", "--jobs", "1"});
    INFO(rest.err);
    CHECK(rest.status == whole.status);
    CHECK(rest.out == whole.out);
    CHECK(Contains(folder.Read("cut/run.json"), "\"resumed_points\": " + std::to_string(std::max(0, rows - 1)) + ","));
    CHECK(FilesOf(folder, "cut") == wanted);
  }
}

TEST_CASE("rows whose files are gone are not done, and neither are those behind them") {
  const TemporaryFolder folder("resume-gone");
  const std::string file = folder.Write("s.yaml", SweepText());
  Spillway({"run", file, "--out", folder.Path("whole")});
  CutOff(folder, file, "cut");
  fs::remove(folder.Path("cut/plans/cifar-resnet20_b128_v100-x86-pcie3_1-GB_in-core.yaml"));  // the ninth row's
  const Outcome rest = Spillway({"run", file, "--out", folder.Path("cut"), "--resume"});
  INFO(rest.err);
  CHECK(rest.status == kExitDone);
  CHECK(Contains(folder.Read("cut/run.json"), "\"resumed_points\": 8,"));
  CHECK(FilesOf(folder, "cut") == FilesOf(folder, "whole"));
}

TEST_CASE("a last line that is whole and no row is as good as torn; one before it is not") {
  const TemporaryFolder folder("resume-garbage");
  const std::string file = folder.Write("s.yaml", SweepText());
  Spillway({"run", file, "--out", folder.Path("whole")});
  CutOff(folder, file, "cut");
  Tear(folder, "cut/run.journal", 5);
  const std::string journal = folder.Read("cut/run.journal") + std::string(3, '\0') + "\n";  // of a disk that lost it
  const std::vector<std::string> words{"run", file, "--out", folder.Path("cut"), "--resume"};
  folder.Write("cut/run.journal", journal + "{\n");
  CHECK(Contains(Spillway(words).err, "run.journal:7: error: "));
  folder.Write("cut/run.journal", journal + "{");
  const Outcome rest = Spillway(words);
  INFO(rest.err);
  CHECK(rest.status == kExitDone);
  CHECK(FilesOf(folder, "cut") == FilesOf(folder, "whole"));
}

TEST_CASE("until the journal is the new run's, nothing of the old one is taken away") {
  const TemporaryFolder folder("begin");
  const std::string file = folder.Write("s.yaml", SweepText("64"));
  Spillway({"run", file, "--out", folder.Path("out")});
  const auto before = FilesOf(folder, "out");
  fs::create_directories(folder.Path("out/run.journal/in the way"));
  CHECK(Spillway({"run", file, "--batch", "128", "--out", folder.Path("out")}).status == kExitWrongInput);
  fs::remove_all(folder.Path("out/run.journal"));
  CHECK(FilesOf(folder, "out") == before);
}

TEST_CASE("killed while the old run's files are taken away: the next call takes the rest") {
  const TemporaryFolder folder("begun");
  const std::string file = folder.Write("s.yaml", SweepText());
  const std::vector<std::string> words{"run", file, "--batch", "64", "--out"};
  const auto with = [&words](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return Spillway(more);
  };
  with({folder.Path("fresh")});
  for (const bool resume : {false, true}) {
    INFO(resume);
    fs::remove_all(folder.Path("out"));
    Spillway({"run", file, "--out", folder.Path("out")});
    const std::string manifest = folder.Read("out/run.manifest");
    // The new run up to its head; of the old one half is gone.
    fs::create_directories(folder.Path("new/results.csv/in the way"));
    with({folder.Path("new")});
    const std::string journal = folder.Read("new/run.journal");
    folder.Write("out/run.journal", journal.substr(0, EndOfRows(journal, 0)));
    fs::remove_all(folder.Path("out/plans"));
    CHECK(with(resume ? std::vector{folder.Path("out"), std::string("--resume")} : std::vector{folder.Path("out")})
              .status == kExitDone);
    CHECK(FilesOf(folder, "out") == FilesOf(folder, "fresh"));
    CHECK(folder.Read("out/run.manifest") != manifest);
    fs::remove_all(folder.Path("new"));
  }
}

TEST_CASE("a file that cannot be written: the table is printed all the same, one message, status 2") {
  const TemporaryFolder folder("in-the-way");
  const std::string file = folder.Write("s.yaml", SweepText());
  const Outcome whole = Spillway({"run", file});
  const Outcome outcome = CutOff(folder, file, "out");
  CHECK(outcome.status == kExitWrongInput);
  CHECK(outcome.out == whole.out);
  CHECK(
      Contains(outcome.err, "cannot write '" + folder.Path("out/results.csv") + "': it is a folder; the run goes on"));
  CHECK(fs::exists(folder.Path("out/run.journal")));
}

TEST_CASE("a file of a point that cannot be written: no more are tried, and the run goes on") {
  const TemporaryFolder folder("point-in-the-way");
  const std::string file = folder.Write("s.yaml", SweepText());
  const Outcome whole = Spillway({"run", file, "--format", "csv"});
  const std::string second = "out/plans/cifar-resnet20_b128_v100-x86-pcie3_1-GB_in-core.yaml";
  fs::create_directories(folder.Path(second + "/in the way"));
  const Outcome outcome = Spillway({"run", file, "--out", folder.Path("out"), "--format", "csv", "--jobs", "1"});
  CHECK(outcome.status == kExitWrongInput);
  CHECK(outcome.out == whole.out);
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') ==
        1 + std::count(whole.err.begin(), whole.err.end(), '\n'));
  CHECK_FALSE(fs::exists(folder.Path("out/results.csv")));
  fs::remove_all(folder.Path(second));
  CHECK(Spillway({"run", file, "--out", folder.Path("out"), "--format", "csv", "--resume"}).out == whole.out);
  CHECK(folder.Read("out/results.csv") == whole.out);
}

TEST_CASE("a smaller run leaves none of the larger one's files, and all that are not a run's") {
  const TemporaryFolder folder("smaller");
  const std::string file = folder.Write("s.yaml", SweepText());
  const std::string out = folder.Path("out");
  for (const bool cut_off : {false, true}) {
    INFO(cut_off);
    fs::remove_all(out);
    if (cut_off) {
      CutOff(folder, file, "out");
    } else {
      Spillway({"run", file, "--out", out});
    }
    const std::string mine = "out/plans/cifar-resnet20_b200_v100-x86-pcie3_1-GB_swap-all.yaml";
    folder.Write(mine, folder.Read(mine) + "# tried by hand\n");
    folder.Write("out/notes.txt", "the user's");
    folder.Write("out/plans/mine.yaml", "the user's");
    CHECK(fs::exists(folder.Path("out/timelines/cifar-resnet20_b128_v100-x86-pcie3_1-GB_in-core.trace.json")));
    Spillway({"run", file, "--batch", "64", "--out", out});
    Spillway({"run", file, "--batch", "64", "--out", folder.Path("fresh")});
    auto wanted = FilesOf(folder, "fresh");
    wanted[mine.substr(4)] = folder.Read(mine);
    wanted["notes.txt"] = wanted["plans/mine.yaml"] = "the user's";
    CHECK(FilesOf(folder, "out") == wanted);
    CHECK(Contains(folder.Read(mine), "# tried by hand"));
  }
}

TEST_CASE("what a cut-off run of another version left goes, whatever its journal has beside the files") {
  const TemporaryFolder folder("old-version");
  const std::string file = folder.Write("s.yaml", SweepText("[64, 128]"));
  CutOff(folder, file, "out");
  std::string journal = folder.Read("out/run.journal");
  journal.replace(0, journal.find('\n'), R"({"spillway_run":0,"made_by":"an older one"})");
  const std::string now = "\"lower_bound\":", then = "\"the_bound\":";
  for (auto at = journal.find(now); at != journal.npos; at = journal.find(now)) journal.replace(at, now.size(), then);
  folder.Write("out/run.journal", journal);
  CHECK(fs::exists(folder.Path("out/plans/cifar-resnet20_b128_v100-x86-pcie3_1-GB_in-core.yaml")));
  const Outcome anew = Spillway({"run", file, "--batch", "64", "--out", folder.Path("out")});
  CHECK(Contains(anew.err, "was cut off after some points"));
  Spillway({"run", file, "--batch", "64", "--out", folder.Path("fresh")});
  CHECK(FilesOf(folder, "out") == FilesOf(folder, "fresh"));
}

TEST_CASE("a run that is refused takes nothing away") {
  const TemporaryFolder folder("refused");
  const std::string file = folder.Write("s.yaml", SweepText("64"));
  Spillway({"run", file, "--out", folder.Path("out")});
  const auto before = FilesOf(folder, "out");
  CHECK(Spillway({"run", file, "--out", folder.Path("out"), "--machine", "none"}).status == kExitWrongInput);
  CHECK(FilesOf(folder, "out") == before);
  const FolderLock lock(folder.Path("out"), "spillway run other.yaml");
  const Outcome locked = Spillway({"run", file, "--out", folder.Path("out")});
  CHECK(locked.status == kExitWrongInput);
  CHECK(locked.out.empty());
  CHECK(Contains(locked.err, "out: error: another run or validation is writing into this folder (process "));
  CHECK(Contains(locked.err, "spillway run other.yaml)"));
  auto with_lock = before;
  with_lock["run.lock"] = folder.Read("out/run.lock");
  CHECK(FilesOf(folder, "out") == with_lock);
}

TEST_CASE("a row is in the journal as soon as it is finished, before its files") {
  const TemporaryFolder folder("as-finished");
  RunFiles files(folder.Path(""), {"0", "spillway run", 2, {{"the points", "1"}}});
  CHECK_FALSE(fs::exists(folder.Path("run.journal")));
  CHECK(files.CutOff().empty());
  files.Add({FeasibleRow(), 1, {}}, {{"plans/a.yaml", "text"}});
  CHECK(files.CutOff() == "1 of 2 points");
  CHECK(Contains(folder.Read("run.journal"), "\"strategy\":\"pooch\""));
  CHECK(folder.Read("plans/a.yaml") == "text");
  fs::create_directories(folder.Path("plans/b.yaml/in the way"));
  CHECK_THROWS_AS(files.Add({FeasibleRow(), 1, {}}, {{"plans/b.yaml", "text"}}), UserError);
  CHECK(files.CutOff() == "2 of 2 points");
}

}  // namespace
}  // namespace spillway
