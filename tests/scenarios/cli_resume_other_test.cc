// spillway run --resume where there is nothing to go on with: another run, another program, a journal that was changed, a
// run that is complete.
#include <catch2/catch.hpp>
#include <filesystem>

#include "model/profile/machine.h"
#include "scenarios/run/run_identity.h"
#include "tests/scenarios/cut_off_run.h"
#include "tests/text.h"

namespace spillway {
namespace {

namespace fs = std::filesystem;

TEST_CASE("another run is not gone on with, and the message says what differs") {
  const TemporaryFolder folder("other");
  const std::string file = folder.Write("s.yaml", SweepText());
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
  folder.Write("s.yaml", SweepText("[64, 128, 200]", "options: chainer\n"));
  CHECK(Contains(refusal({}), "differs in the networks;"));
}

TEST_CASE(
    "a scenario or plan that was only renamed is the same run, and rows are called by what the plan is called now") {
  const TemporaryFolder folder("renamed");
  const std::string first = folder.Write("s.yaml", SweepText("64"));
  const std::string old_plan = folder.Path("old.yaml"), plan = folder.Path("new.yaml");
  REQUIRE(Spillway({"plan", first, "--memory", "1 GB", "--strategy", "swap-all", "-o", old_plan}).status == kExitDone);
  fs::create_directories(folder.Path("cut/results.csv/in the way"));
  Spillway({"run", first, "--plan", old_plan, "--out", folder.Path("cut")});
  fs::remove_all(folder.Path("cut/results.csv"));
  CHECK(Contains(folder.Read("cut/run.journal"), "swap-all (old.yaml)"));
  fs::rename(first, folder.Path("t.yaml"));
  fs::rename(old_plan, plan);
  const auto run = [&](const char* out, const std::vector<std::string>& more) {
    std::vector<std::string> words{"run", folder.Path("t.yaml"), "--plan", plan, "--out", folder.Path(out)};
    words.insert(words.end(), more.begin(), more.end());
    return Spillway(words);
  };
  const std::string text = folder.Read("new.yaml");
  folder.Write("new.yaml", text + "ops:\n  - {op: \"conv1:forward\", workspace: 1 MB}\n");
  CHECK(Contains(run("cut", {"--resume"}).err, "differs in the plan;"));
  folder.Write("new.yaml", text);
  const Outcome whole = run("whole", {}), rest = run("cut", {"--resume"});
  INFO(rest.err);
  CHECK(rest.status == kExitDone);
  CHECK(Contains(rest.out, "swap-all (new.yaml)"));
  CHECK(rest.out == whole.out);
  CHECK(Contains(folder.Read("cut/run.json"), "\"resumed_points\": 1,"));
  CHECK(FilesOf(folder, "cut") == FilesOf(folder, "whole"));
}

TEST_CASE("the same machine with another figure in its profile is another run") {
  const TemporaryFolder folder("other-machine");
  const std::string profile = MachineToYaml(LoadMachine("v100-x86-pcie3"));
  folder.Write("m.yaml", profile);
  const std::string file = folder.Write("s.yaml", Replaced(SweepText(), "v100-x86-pcie3", "m.yaml"));
  CutOff(folder, file, "out");
  Machine changed = LoadMachine("v100-x86-pcie3");
  changed.devices[0].memory_bandwidth *= 1.01;
  folder.Write("m.yaml", MachineToYaml(changed));
  const Outcome outcome = Spillway({"run", file, "--out", folder.Path("out"), "--resume"});
  CHECK(outcome.status == kExitWrongInput);
  CHECK(Contains(outcome.err, "differs in the machines;"));
}

TEST_CASE("the same profile with another figure in the one that taught its models is another run") {
  const TemporaryFolder folder("other-teacher");
  Machine teacher = LoadMachine("v100-x86-pcie3");
  teacher.devices[0].models_from.clear();
  REQUIRE_FALSE(teacher.devices[0].models.empty());
  folder.Write("teacher.yaml", MachineToYaml(teacher));
  Machine pupil = teacher;
  pupil.name = "pupil";
  pupil.devices[0].models_from = "teacher";
  folder.Write("pupil.yaml", MachineToYaml(pupil));
  const std::string file = folder.Write("s.yaml", Replaced(SweepText("64"), "v100-x86-pcie3", "pupil.yaml"));
  CutOff(folder, file, "out");
  const std::vector<std::string> words{"run", file, "--out", folder.Path("out"), "--resume"};
  teacher.devices[0].models[0].own_error *= 1.01;
  folder.Write("teacher.yaml", MachineToYaml(teacher));
  const Outcome outcome = Spillway(words);
  CHECK(outcome.status == kExitWrongInput);
  CHECK(Contains(outcome.err, "differs in the machines;"));
}

TEST_CASE("another version, or another build of it, is another run") {
  const TemporaryFolder folder("other-program");
  const std::string file = folder.Write("s.yaml", SweepText("64"));
  CutOff(folder, file, "out");
  const std::string journal = folder.Read("out/run.journal");
  const std::vector<std::string> words{"run", file, "--out", folder.Path("out"), "--resume"};
  const std::string version = std::string("\"version\":\"") + Version() + "\"";
  folder.Write("out/run.journal", Replaced(journal, version, "\"version\":\"0.0\""));
  CHECK(Contains(Spillway(words).err, "differs in the version of spillway; it was begun by"));
  CHECK(ProgramDigest().size() == 16);
  folder.Write("out/run.journal", Replaced(journal, ProgramDigest(), "0123456789abcdef"));
  CHECK(Contains(Spillway(words).err, "differs in the build of spillway; it was begun by"));
  folder.Write("out/run.journal", journal);
  CHECK(Spillway(words).status == kExitDone);
}

TEST_CASE("the digest of a file is that of its copy, and sees its last byte and its length") {
  const TemporaryFolder folder("program");
  const std::string text = std::string((1U << 20) + 3, 'a') + '\0';
  const std::string digest = FileDigest(folder.Write("a", text));
  CHECK(FileDigest(folder.Write("copy", text)) == digest);
  CHECK(FileDigest(folder.Write("b", text.substr(0, text.size() - 1))) != digest);
  CHECK(FileDigest(folder.Write("c", text.substr(0, text.size() - 1) + "b")) != digest);
  CHECK(FileDigest(folder.Path("none")) == "unknown");
}

TEST_CASE("a journal that somebody changed is refused with its line") {
  const TemporaryFolder folder("changed");
  const std::string file = folder.Write("s.yaml", SweepText());
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
  const std::string file = folder.Write("s.yaml", SweepText("64"));
  CHECK(Contains(Spillway({"run", file, "--resume"}).err, "--resume: of which run? --out is missing"));
  const Outcome outcome = Spillway({"run", file, "--out", folder.Path("out"), "--resume"});
  CHECK(outcome.out == Spillway({"run", file}).out);
  CHECK(fs::exists(folder.Path("out/results.csv")));
}

TEST_CASE("resuming in a folder whose run is complete is refused, and takes nothing away") {
  const TemporaryFolder folder("complete");
  const std::string file = folder.Write("s.yaml", SweepText("64"));
  const std::vector<std::string> words{"run", file, "--out", folder.Path("out")};
  CHECK(Spillway(words).status == kExitDone);
  const auto before = FilesOf(folder, "out");
  std::vector<std::string> resume = words;
  resume.emplace_back("--resume");
  const Outcome outcome = Spillway(resume);
  CHECK(outcome.status == kExitWrongInput);
  CHECK(outcome.out.empty());
  CHECK(Contains(outcome.err,
                 "out: error: no run was cut off here, and the one that is complete is not gone on with; "
                 "without --resume a run starts anew"));
  CHECK(FilesOf(folder, "out") == before);
  CHECK(Spillway(words).status == kExitDone);
}

}  // namespace
}  // namespace spillway
