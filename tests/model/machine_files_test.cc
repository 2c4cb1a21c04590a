// Machine profiles as files: found by name, in terms of one another.
#include <catch2/catch.hpp>

#include "model/profile/machine.h"
#include "tests/model/profile_folder.h"
#include "tests/small_profile.h"
#include "tests/text.h"
#include "tests/user_errors.h"

namespace spillway {

TEST_CASE("profiles are found by name and by path") {
  const ProfileFolder folder("machine-files");
  folder.Write("small.yaml", kSmall);
  folder.Write("other.yaml", kSmall);
  folder.Write("readme.txt", "no profile");
  const Home home(folder.path());
  REQUIRE(MachineFolder() == folder.path() + "/hw");
  REQUIRE(ListMachines() == std::vector<std::string>{"other", "small"});
  REQUIRE(LoadMachine("small") == LoadMachine(folder.File("small.yaml")));
  REQUIRE(ErrorOf([] { LoadMachine("smal"); }) ==
          "unknown machine 'smal'; did you mean 'small'? (profiles: other, small; or give a path ending in .yaml)");
  REQUIRE(Contains(ErrorOf([] { LoadMachine(""); }), "unknown machine ''"));
  REQUIRE(Contains(ErrorOf([] { LoadMachine("../hw/small"); }), "unknown machine"));
  REQUIRE(Contains(ErrorOf([] { LoadMachine("no/such.yaml"); }), "no/such.yaml: error: no such file"));
  const Home nowhere(folder.path() + "/nowhere");
  REQUIRE(ListMachines().empty());
  REQUIRE(Contains(ErrorOf([] { LoadMachine("small"); }), "no profiles found in " + folder.path() + "/nowhere/hw"));
}

TEST_CASE("same_as is the other profile under a second name") {
  const ProfileFolder folder("machine-files");
  folder.Write("small.yaml", With("software: none", "software: none\nnotes: [first]"));
  folder.Write("second.yaml", "name: second\nsame_as: small\nnotes: [why]\n");
  folder.Write("third.yaml", "name: third\nsame_as: second\ndescription: new words\nsoftware: other\n");
  Machine expected = LoadMachine(folder.File("small.yaml"));
  expected.name = "second";
  expected.notes = {"first", "why"};
  REQUIRE(LoadMachine(folder.File("second.yaml")) == expected);
  expected.name = "third";
  expected.description = "new words";
  expected.software = "other";
  REQUIRE(LoadMachine(folder.File("third.yaml")) == expected);
  REQUIRE(LoadMachine(folder.File("third.yaml")) == ParseMachine(MachineToYaml(expected), "x.yaml"));
  // A file elsewhere may name a shipped profile.
  REQUIRE(ParseMachine("name: mine\nsame_as: unit\n", folder.File("mine.yaml")).devices == LoadMachine("unit").devices);
}

TEST_CASE("same_as mistakes are refused") {
  const ProfileFolder folder("machine-files");
  folder.Write("a.yaml", "name: a\nsame_as: b\n");
  folder.Write("b.yaml", "name: b\nsame_as: c\n");
  folder.Write("c.yaml", "name: c\nsame_as: a\n");
  folder.Write("self.yaml", "name: self\nsame_as: self\n");
  folder.Write("lost.yaml", "name: lost\nsame_as: unti\n");
  folder.Write("more.yaml", "name: more\nsame_as: unit\ndevices: []\n");
  folder.Write("null.yaml", "name: null_\nsame_as:\n");
  folder.Write("bad.yaml", With("10 TFLOP/s", "10"));
  folder.Write("of_bad.yaml", "name: of_bad\nsame_as: bad\n");
  const auto error = [&](const char* name) { return ErrorOf([&] { LoadMachine(folder.File(name)); }); };
  REQUIRE(Contains(error("a.yaml"), "c.yaml:2:10: error: same_as: profiles name each other in a circle"));
  REQUIRE(Contains(error("self.yaml"), "self.yaml:2:10: error: same_as: profiles name each other in a circle"));
  REQUIRE(Contains(error("lost.yaml"), "lost.yaml:2:10: error: same_as: unknown machine 'unti'; did you mean 'unit'?"));
  REQUIRE(Contains(error("more.yaml"), "more.yaml:3:1: error: unknown key 'devices' in machine profile with same_as"));
  REQUIRE(Contains(error("null.yaml"), "null.yaml:2:1: error: 'same_as' in machine profile with same_as has no value"));
  REQUIRE(Contains(error("of_bad.yaml"), "bad.yaml:10:21: error: peak: '10' has no unit"));
}

TEST_CASE("a device may have the models of another profile") {
  const std::string model =
      "    models:\n"
      "      - {form: elementwise, op: relu, pass: forward, source: {assumed: m},\n"
      "         parameters: {latency: 1, bandwidth_fraction: 0.5, cache_gain: 1}}\n"
      "    call_floors: [{harness: h, op: linear, pass: forward, floor: 20 us}]\n";
  const ProfileFolder folder("machine-files");
  const Home home(folder.path());
  folder.Write("teacher.yaml", With("    laws:\n", model + "    laws:\n"));
  folder.Write("student.yaml", With("    laws:\n", "    models_from: teacher\n    laws:\n"));
  folder.Write("both.yaml", With("    laws:\n", "    models_from: teacher\n" + model + "    laws:\n"));
  folder.Write("lost.yaml", With("    laws:\n", "    models_from: teacer\n    laws:\n"));
  folder.Write("self.yaml", With("    laws:\n", "    models_from: self\n    laws:\n"));
  const Machine teacher = LoadMachine("teacher");
  const Machine student = LoadMachine("student");
  REQUIRE(teacher.devices.at(0).models.size() == 1);
  CHECK(student.devices.at(0).models == teacher.devices[0].models);
  CHECK(student.devices[0].call_floors == teacher.devices[0].call_floors);
  CHECK(student.devices[0].models_from == "teacher");
  CHECK(ParseMachine(MachineToYaml(student), folder.File("again.yaml")) == student);
  const auto error = [&](const char* name) { return ErrorOf([&] { LoadMachine(folder.File(name)); }); };
  CHECK_THAT(error("both.yaml"), Catch::Contains("models_from: there are models of its own too"));
  CHECK_THAT(error("lost.yaml"), Catch::Contains("did you mean 'teacher'?"));
  CHECK_THAT(error("self.yaml"), Catch::Contains("profiles name each other in a circle"));
}

}  // namespace spillway
