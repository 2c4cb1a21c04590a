// spillway run into a folder: cut off and gone on with, after another run, beside one, on a disk that is full.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>

#include "scenarios/run/output_folder.h"
#include "scenarios/run/run_files.h"
#include "tests/command_line.h"
#include "tests/result_rows.h"
#include "tests/temporary_folder.h"
#include "tests/text.h"

namespace spillway {
namespace {

namespace fs = std::filesystem;

std::string Scenario(const std::string& batches = "[64, 128, 200]", const std::string& more = "") {
  return "name: sweep\nnetwork: {zoo: cifar-resnet20, batch: " + batches +
         "}\nmachines: v100-x86-pcie3\nstrategies: [in-core, swap-all]\nmemory: [100 MB, 1 GB]\n" + more;
}

// Every file below the folder by its name, but run.json, which holds times.
std::map<std::string, std::string> FilesOf(const TemporaryFolder& folder, const std::string& name) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder.Path(name))) {
    if (!entry.is_regular_file() || entry.path().filename() == "run.json") continue;
    const std::string file = fs::relative(entry.path(), folder.Path(name)).string();
    files[file] = folder.Read(name + "/" + file);
  }
  return files;
}

// A run whose last files cannot be written: what is there is what a run leaves that ends before them.
Outcome CutOff(const TemporaryFolder& folder, const std::string& file, const std::string& out) {
  fs::create_directories(folder.Path(out + "/results.csv/in the way"));
  const Outcome outcome = Spillway({"run", file, "--out", folder.Path(out)});
  fs::remove_all(folder.Path(out + "/results.csv"));
  return outcome;
}

// The journal's head, so many rows and a piece of the next one.
void Tear(const TemporaryFolder& folder, const std::string& journal, int rows) {
  const std::string text = folder.Read(journal);
  std::size_t end = 0;
  for (int line = 0; line <= rows; ++line) end = text.find('\n', end) + 1;
  folder.Write(journal, text.substr(0, end + 40));
}

TEST_CASE("a run that was cut off is gone on with to the same bytes") {
  const TemporaryFolder folder("resume");
  const std::string file = folder.Write("s.yaml", Scenario());
  const Outcome whole = Spillway({"run", file, "--out", folder.Path("whole")});
  const auto wanted = FilesOf(folder, "whole");
  CHECK_FALSE(wanted.contains("run.journal"));
  CHECK_FALSE(wanted.contains("run.lock"));
  for (const int rows : {0, 1, 5, 11}) {
    INFO(rows);
    fs::remove_all(folder.Path("cut"));
    CutOff(folder, file, "cut");
    Tear(folder, "cut/run.journal", rows);
    for (const auto& entry : fs::directory_iterator(folder.Path("cut/timelines"))) {
      if (entry.path().string().find("_b200_") != std::string::npos) fs::remove(entry.path());
    }
    const Outcome rest = Spillway({"run", file, "--out", folder.Path("cut"), "--resume", "--jobs", "1"});
    INFO(rest.err);
    CHECK(rest.status == whole.status);
    CHECK(rest.out == whole.out);
    CHECK(Contains(folder.Read("cut/run.json"), "\"resumed_points\": " + std::to_string(std::max(0, rows - 1)) + ","));
    if (rows < 9) CHECK(FilesOf(folder, "cut") == wanted);  // else files of rows that are done were removed above
    CHECK(FilesOf(folder, "cut").at("results.json") == wanted.at("results.json"));
  }
}

TEST_CASE("a file that cannot be written: the table is printed all the same, one message, status 2") {
  const TemporaryFolder folder("in-the-way");
  const std::string file = folder.Write("s.yaml", Scenario());
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
  const std::string file = folder.Write("s.yaml", Scenario());
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

TEST_CASE("another run is not gone on with, and the message says what differs") {
  const TemporaryFolder folder("other");
  const std::string file = folder.Write("s.yaml", Scenario());
  CutOff(folder, file, "out");
  const std::string journal = folder.Read("out/run.journal");
  const auto refusal = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"run", file, "--out", folder.Path("out"), "--resume"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = Spillway(words);
    CHECK(outcome.status == kExitWrongInput);
    CHECK(outcome.out.empty());
    CHECK(folder.Read("out/run.journal") == journal);
    return outcome.err;
  };
  const std::string error = refusal({"--strategies", "in-core"});
  CHECK(Contains(error,
                 "run.journal: error: the run that was cut off here differs in the points; it was begun by "
                 "'spillway run "));
  CHECK(Contains(error, "'; without --resume the run starts anew\n"));
  CHECK(Contains(refusal({"--machine", "v100-power9-nvlink2"}), "differs in the points, the machines;"));
  // The same name, another network behind it.
  folder.Write("s.yaml", Scenario("[64, 128, 200]", "options: chainer\n"));
  CHECK(Contains(refusal({}), "differs in the networks;"));
}

TEST_CASE("the same machine with another figure in its profile is another run") {
  const TemporaryFolder folder("other-machine");
  const std::string profile = MachineToYaml(LoadMachine("v100-x86-pcie3"));
  folder.Write("m.yaml", profile);
  const std::string file = folder.Write("s.yaml", Replaced(Scenario(), "v100-x86-pcie3", "m.yaml"));
  CutOff(folder, file, "out");
  Machine changed = LoadMachine("v100-x86-pcie3");
  changed.devices[0].memory_bandwidth *= 1.01;
  folder.Write("m.yaml", MachineToYaml(changed));
  const Outcome outcome = Spillway({"run", file, "--out", folder.Path("out"), "--resume"});
  CHECK(outcome.status == kExitWrongInput);
  CHECK(Contains(outcome.err, "differs in the machines;"));
}

TEST_CASE("a journal that somebody changed is refused with its line") {
  const TemporaryFolder folder("changed");
  const std::string file = folder.Write("s.yaml", Scenario());
  CutOff(folder, file, "out");
  const std::string journal = folder.Read("out/run.journal");
  const std::vector<std::string> words{"run", file, "--out", folder.Path("out"), "--resume"};
  folder.Write("out/run.journal", Replaced(journal, "\"lower_bound\"", "\"lower_bount\""));
  CHECK(Contains(Spillway(words).err, "run.journal:2: error: this is not the row of the run's point 1: "));
  const std::size_t first = journal.find('\n') + 1, second = journal.find('\n', first) + 1;
  folder.Write("out/run.journal", journal.substr(0, first) + journal.substr(second));  // a row is missing
  CHECK(Contains(Spillway(words).err, "run.journal:2: error: "));
  folder.Write("out/run.journal", "something else\n");
  CHECK(Contains(Spillway(words).err, "run.journal:1: error: no run that this version can go on with"));
  // Without --resume it starts anew, and says what it takes the place of.
  const Outcome anew = Spillway({"run", file, "--out", folder.Path("out")});
  CHECK(Contains(anew.err, "a run into this folder was cut off after some points: it starts anew"));
  CHECK_FALSE(fs::exists(folder.Path("out/run.journal")));
}

TEST_CASE("resuming without a run that was cut off starts one, and needs a folder") {
  const TemporaryFolder folder("nothing");
  const std::string file = folder.Write("s.yaml", Scenario("64"));
  CHECK(Contains(Spillway({"run", file, "--resume"}).err, "--resume: of which run? --out is missing"));
  const Outcome outcome = Spillway({"run", file, "--out", folder.Path("out"), "--resume"});
  CHECK(outcome.out == Spillway({"run", file}).out);
  CHECK(fs::exists(folder.Path("out/results.csv")));
}

TEST_CASE("a smaller run leaves none of the larger one's files, and all that are not a run's") {
  const TemporaryFolder folder("smaller");
  const std::string file = folder.Write("s.yaml", Scenario());
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

TEST_CASE("a run that is refused takes nothing away") {
  const TemporaryFolder folder("refused");
  const std::string file = folder.Write("s.yaml", Scenario("64"));
  Spillway({"run", file, "--out", folder.Path("out")});
  const auto before = FilesOf(folder, "out");
  CHECK(Spillway({"run", file, "--out", folder.Path("out"), "--machine", "none"}).status == kExitWrongInput);
  CHECK(FilesOf(folder, "out") == before);
  const FolderLock lock(folder.Path("out"), "spillway run other.yaml");
  const Outcome locked = Spillway({"run", file, "--out", folder.Path("out")});
  CHECK(locked.status == kExitWrongInput);
  CHECK(locked.out.empty());
  CHECK(Contains(locked.err, "out: error: another run is writing into this folder (process "));
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
