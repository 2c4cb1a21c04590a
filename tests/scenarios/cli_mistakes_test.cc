// Wrong command lines: one line for each mistake, with its place, what was expected and the nearest name.
#include <catch2/catch.hpp>

#include "model/profile/machine.h"
#include "scenarios/cli/argument_mistakes.h"
#include "tests/command_line.h"
#include "tests/temporary_folder.h"
#include "tests/text.h"

namespace spillway {
namespace {

struct Wrong {
  const char* line;
  const char* says;
};

constexpr const char* kVerbs =
    "expected a verb: run, compare, plan, certify, list, show, dump, calibrate, probe, fit, "
    "machine, validate, claims, explain, report, estimate, completion, help";

TEST_CASE("what the parser finds wrong is said in our words") {
  const std::vector<Wrong> lines = {
      {"run", "run: FILE is missing: scenario files (spillway help run)\n"},
      {"run s.yaml --format xml", "run: --format: expected one of table, csv, json, found 'xml' (spillway help run)\n"},
      {"run s.yaml --format jsn",
       "run: --format: expected one of table, csv, json, found 'jsn'; did you mean 'json'? (spillway help run)\n"},
      {"run s.yaml --jobs 0", "run: --jobs: expected a whole number from 1 to 1024, found '0' (spillway help run)\n"},
      {"run s.yaml --jobs many",
       "run: --jobs: expected a whole number from 1 to 1024, found 'many' (spillway help run)\n"},
      {"compare s.yaml --batch 8,x",
       "compare: --batch: expected a whole number from 1 to 1000000, found 'x' (spillway help compare)\n"},
      {"run s.yaml --batch 99999999999999999999",
       "run: --batch: expected a whole number from 1 to 1000000, found '99999999999999999999' (spillway help run)\n"},
      {"run s.yaml --out",
       "run: --out: expected a value behind it: folder for results, plans, timelines and report.html (spillway help "
       "run)\n"},
      {"run s.yaml --out --resume", "run: --out: expected a value, found the option '--resume' (spillway help run)\n"},
      {"run s.yaml --batch=",
       "run: --batch: expected a value behind it: these batch sizes instead of the scenario's (spillway help run)\n"},
      {"run s.yaml -x", "run: unknown option '-x' (spillway help run)\n"},
      {"run s.yaml --check=maybe", "run: --check: expected no value, found 'maybe' (spillway help run)\n"},
      {"run s.yaml --jobs 2 --jobs 3", "run: --jobs: expected one, found 2: '2', '3' (spillway help run)\n"},
      {"plan s.yaml -o",
       "plan: -o: expected a value behind it: file to write (default: standard output) (spillway help plan)\n"},
      {"list", "list: WHAT is missing: machines, networks, layers, strategies or reports (spillway help list)\n"},
      {"list machines more", "list: expected WHAT and options, found 'more' behind it (spillway help list)\n"},
      {"show",
       "show: WHAT is missing: network, machine, strategy, menu (algorithms), floor (memory), shares (batch of each "
       "GPU), step (spillway help "
       "show)\n"
       "show: NAME is missing: its name, or a file; `show floor all`: every network of the zoo (spillway help show)\n"},
      {"dump step a.yaml b.yaml", "dump: FILE: expected one, found 2: 'a.yaml', 'b.yaml' (spillway help dump)\n"},
      {"dump step a.yaml --format yaml", "dump: --format: expected json, found 'yaml' (spillway help dump)\n"},
      {"calibrate --device cpu",
       "calibrate: --output is missing: profile to write; its journal is NAME.samples.csv in the same folder (spillway "
       "help calibrate)\n"},
      {"probe --device", "probe: --device: expected a value behind it: cuda:0 and so on (spillway help probe)\n"},
      {"fit s.csv --copies-scale nan",
       "fit: --copies-scale: expected a number from 0.01 to 100, found 'nan' (spillway help fit)\n"},
      {"validate s.yaml --seed -1",
       "validate: --seed: expected a whole number from 0 to 18446744073709551615, found '-1' (spillway help "
       "validate)\n"},
      {"estimate ops.csv",
       "estimate: --machine is missing: machine profile, by name or file (spillway help estimate)\n"},
      {"help run more", "help: expected TOPIC and options, found 'more' behind it (spillway help help)\n"},
      {"runn s.yaml", "unknown verb 'runn'; did you mean 'run'? (spillway --help)\n"}};
  for (const Wrong& wrong : lines) {
    INFO(wrong.line);
    const Outcome outcome = Spillway(WordsOf(wrong.line));
    CHECK(outcome.status == kExitWrongInput);
    CHECK(outcome.out.empty());
    CHECK(outcome.err == wrong.says);
  }
  CHECK(Spillway({}).err == std::string(kVerbs) + " (spillway --help)\n");
  CHECK(Spillway({"--versio"}).err ==
        std::string(kVerbs) + ", found '--versio'; did you mean '--version'? (spillway --help)\n");
  CHECK(Spillway({"run", ""}).err == "run: FILE: expected a name, found '' (spillway help run)\n");
}

TEST_CASE("no verb leaves a mistake to the library's words") {
  for (const Verb& verb : Verbs()) {
    const std::vector<std::vector<std::string>> lines{
        {verb.name, "a", "b", "c", "d", "--no-such"}, {verb.name, "-?"}, {verb.name, "--help=x", "--jobs"}};
    for (const std::vector<std::string>& line : lines) {
      const Outcome outcome = Spillway(line);
      INFO(verb.name << " " << line.back() << ": " << outcome.err);
      CHECK_FALSE(Contains(outcome.err, "Run with --help"));
      if (outcome.status == kExitDone) continue;  // asked for help
      CHECK(outcome.status == kExitWrongInput);
      CHECK(Contains(outcome.err, std::string(verb.name) + ": "));
      CHECK(Contains(outcome.err, "(spillway help "));
    }
  }
}

TEST_CASE("values: all of the text, and nothing else") {
  CHECK(WholeNumberMistake("7", 1, 7).empty());
  CHECK(WholeNumberMistake("0", 0, 7).empty());
  for (const char* text : {"8", "", " 7", "7 ", "+7", "-0", "7.0", "0x7", "1e0"}) {
    INFO(text);
    CHECK_FALSE(WholeNumberMistake(text, 1, 7).empty());
  }
  CHECK(Contains(WholeNumberMistake("007", 1, 7), "begins with a zero"));
  CHECK(NumberMistake("0.5", 0.01, 100).empty());
  for (const char* text : {"0", "101", "inf", "nan", "1,5", ""}) CHECK_FALSE(NumberMistake(text, 0.01, 100).empty());
}

// What --machine says of a name, with these files beside the scenario's folder as the working folder.
std::string MachineError(const TemporaryFolder& folder, const std::string& name) {
  const std::string file =
      folder.Write("s.yaml",
                   "name: s\nnetwork: {zoo: cifar-resnet20, batch: 1}\nmachines: {name: mine-slow, from: unit}\n"
                   "strategies: in-core\n");
  const Outcome outcome = Spillway({"run", file, "--machine", name});
  CHECK(outcome.status == kExitWrongInput);
  CHECK(outcome.out.empty());
  return outcome.err;
}

TEST_CASE("a machine that is not known: its path, and what else it may be") {
  const TemporaryFolder folder("machine-names");
  const std::string profile = folder.Write("box.yaml", MachineToYaml(LoadMachine("unit")));
  const std::string other = "; or the path of a profile, ending in .yaml)\n";
  const auto starts = [](const std::string& text, const std::string& with) { return text.starts_with(with); };

  const std::string bare = folder.Path("box");
  CHECK(starts(MachineError(folder, bare),
               "--machines: unknown name '" + bare + "'; did you mean '" + profile + "'? (one of a100-pcie4, "));
  CHECK(Contains(MachineError(folder, bare), other));
  CHECK(Contains(MachineError(folder, folder.Path("box.yml")), "; did you mean '" + profile + "'? "));
  // A scenario is no profile, whatever it is called.
  const std::string scenario = folder.Path("s");
  CHECK(starts(MachineError(folder, scenario), "--machines: unknown name '" + scenario + "' (one of "));

  const std::string missing = folder.Path("boxx.yaml");
  CHECK(starts(MachineError(folder, missing),
               "--machines: there is no file '" + missing + "'; did you mean '" + profile + "'? (one of "));
  const std::string shipped = folder.Path("v100-x86-pcie3.yaml");
  CHECK(starts(MachineError(folder, shipped),
               "--machines: there is no file '" + shipped + "'; did you mean 'v100-x86-pcie3'? "));
  CHECK(starts(MachineError(folder, "mine-slo"), "--machines: unknown name 'mine-slo'; did you mean 'mine-slow'? "));
  CHECK(Spillway({"run", folder.Path("s.yaml"), "--machine", profile}).status == kExitDone);
}

TEST_CASE("a file that is not there comes with the nearest one beside it") {
  const TemporaryFolder folder("near-files");
  folder.Write("mine.yaml", "x");
  folder.Write("mine.csv", "x");
  CHECK(Spillway({"run", folder.Path("mines.yaml")}).err ==
        folder.Path("mines.yaml") + ": error: no such file; did you mean '" + folder.Path("mine.yaml") + "'?\n");
  CHECK(Contains(Spillway({"run", folder.Path("mine.yml")}).err, "did you mean '" + folder.Path("mine.yaml") + "'?"));
  CHECK(Spillway({"run", folder.Path("unit.yaml")}).err == folder.Path("unit.yaml") + ": error: no such file\n");
  CHECK(Spillway({"run", folder.Path("no/mine.yaml")}).err == folder.Path("no/mine.yaml") + ": error: no such file\n");
}

}  // namespace
}  // namespace spillway
