#include <catch2/catch.hpp>
#include <set>

#include "model/network/layer_kind.h"
#include "scenarios/cli/command.h"
#include "tests/command_line.h"
#include "tests/text.h"

namespace spillway {
namespace {

TEST_CASE("every verb has examples that the parser takes, and says what its status means") {
  for (const Verb& verb : Verbs()) {
    INFO(verb.name);
    CHECK(!verb.examples.empty());
    for (const char* example : verb.examples) {
      INFO(example);
      std::vector<std::string> words = WordsOf(example);
      REQUIRE(words.size() >= 2);
      CHECK(words[0] == "spillway");
      words.erase(words.begin());
      const Arguments arguments = ParseArguments(words);
      CHECK(arguments.status == kExitDone);
      CHECK(words[0] == verb.name);
    }
    std::set<ExitCode> codes;
    for (const VerbExit& exit : verb.exits) CHECK(codes.insert(exit.code).second);
    CHECK(codes.count(kExitDone) == 1);
    CHECK(codes.count(kExitWrongInput) == 1);
    const std::string help = Spillway({verb.name, "--help"}).out;
    CHECK(Contains(help, GuideText(verb)));
    CHECK(Contains(Spillway({"help", verb.name}).out, help));
  }
}

TEST_CASE("help: all of it, a verb, a page of keys, or what was meant") {
  CHECK(Spillway({"help"}).out == Spillway({"--help"}).out);
  CHECK(Spillway({"help", "run"}).out == Spillway({"run", "--help"}).out);
  for (const std::string& page : HelpPageNames()) {
    INFO(page);
    const Outcome outcome = Spillway({"help", page});
    CHECK(outcome.status == 0);
    CHECK(Contains(outcome.out, HelpPage(page)));
  }
  // A verb and a page.
  CHECK(Contains(Spillway({"help", "plan"}).out, "--output"));
  const Outcome wrong = Spillway({"help", "scenarios"});
  CHECK(wrong.status == 2);
  CHECK(Contains(wrong.err, "help: unknown topic 'scenarios'; did you mean 'scenario'?"));
}

TEST_CASE("unknown options come with the nearest one") {
  const Outcome outcome = Spillway({"run", "a.yaml", "--strategy=pooch", "--machin", "unit", "--chek"});
  CHECK(outcome.status == 2);
  CHECK(outcome.out.empty());
  CHECK(outcome.err ==
        "run: unknown option '--machin'; did you mean '--machine'? (spillway help run)\n"
        "run: unknown option '--chek'; did you mean '--check'? (spillway help run)\n");
  CHECK(Contains(Spillway({"calibrate", "--devices", "cpu"}).err, "did you mean '--device'?"));
}

TEST_CASE("numbers on the command line do not begin with a zero, which is octal to some") {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"run", "a.yaml", "--batch", "010"},
                                             {"run", "a.yaml", "--batch", "8,010"},
                                             {"run", "a.yaml", "--jobs", "02"},
                                             {"show", "network", "resnet50", "--batch", "010"}}) {
    const Outcome outcome = Spillway(words);
    INFO(outcome.err);
    CHECK(outcome.status == 2);
    CHECK(Contains(outcome.err, "begins with a zero; write it without"));
  }
  CHECK(Spillway({"show", "network", "cifar-resnet20", "--batch", "10"}).status == 0);
}

TEST_CASE("list layers: every kind with what it reads and its keys") {
  const std::string layers = Spillway({"list", "layers"}).out;
  for (const LayerKind* kind : LayerKinds()) CHECK(Contains(layers, std::string("\n") + kind->name + " "));
  CHECK(Contains(layers, "window [stride] [dilation] [pad] [pad_after] out [groups] [bias]"));
  CHECK(Contains(layers, "2 to 64 layers"));
}

}  // namespace
}  // namespace spillway
