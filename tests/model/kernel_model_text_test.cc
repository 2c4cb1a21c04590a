// What a profile says of fitted kernel models: models, models_from, call_floors, stack_error, l2_cache.
#include <catch2/catch.hpp>
#include <limits>

#include "model/profile/profile_text.h"
#include "tests/model/profile_folder.h"
#include "tests/profile_text.h"
#include "tests/text.h"
#include "tests/user_errors.h"

namespace spillway {
namespace {

const std::string kModels = R"(    stack_error: 0.05
    call_floors:
      - {harness: events, op: convolution, pass: forward, added: 12 us, floor: 68 us}
      - {harness: events, op: relu, floor: 31500 ns}
    models:
      - form: elementwise
        op: relu
        pass: forward
        parameters: {latency: 2500, bandwidth_fraction: 0.75, cache_gain: 0.5}
        source: {published: "a table"}
      - form: winograd
        op: convolution
        pass: backward_data
        algorithm: winograd
        math: tf32
        parameters: {fixed: 1500, efficiency: 1, prologue: 1, fill: 1, quantisation: 1, bandwidth: 1, filter_bandwidth: 1}
        shared_error: 0.03
        own_error: 0.07
        copy_slowdown: 1.2
        work: {least: 1e6, most: 2.5e12}
        source: {measured: "driver 1"}
)";

std::string ErrorOfLoading(const std::string& name) {
  return ErrorOf([&] { LoadMachine(name); });
}

// Profiles with what is said of their device, in the place of those that are shipped.
struct Folder {
  ProfileFolder files{"kernel-model-text"};
  Home home{files.path()};
  void Write(const std::string& name, const std::string& more) const {
    files.Write(name + ".yaml", ProfileText(more, name));
  }
  void WriteText(const std::string& name, const std::string& text) const { files.Write(name + ".yaml", text); }
};

}  // namespace

TEST_CASE("models, call floors, stack error and cache of a device are read") {
  const Device device = ParseMachine(ProfileText(kModels), "small.yaml").devices.at(0);
  CHECK(device.l2_cache == 6 * kMiB);
  CHECK(device.stack_error == 0.05);
  CHECK(device.models_from.empty());
  REQUIRE(device.call_floors.size() == 2);
  CHECK(device.call_floors[0] == CallFloor{"events", OpKind::kConvolution, Pass::kForward, 12'000, 68'000});
  CHECK(device.call_floors[1] == CallFloor{"events", OpKind::kRelu, std::nullopt, 0, 31'500});
  REQUIRE(device.models.size() == 2);
  CHECK(device.models[1] == KernelModel{"winograd",
                                        OpKind::kConvolution,
                                        Pass::kBackwardData,
                                        "winograd",
                                        "tf32",
                                        {{"fixed", 1500},
                                         {"efficiency", 1},
                                         {"prologue", 1},
                                         {"fill", 1},
                                         {"quantisation", 1},
                                         {"bandwidth", 1},
                                         {"filter_bandwidth", 1}},
                                        0.03,
                                        0.07,
                                        1.2,
                                        1e6,
                                        2.5e12,
                                        {Source::Kind::kMeasured, "driver 1"}});
}

TEST_CASE("what a model leaves out has the documented values") {
  const Device device = ParseMachine(ProfileText(kModels), "small.yaml").devices.at(0);
  CHECK(device.models.at(0) == KernelModel{"elementwise",
                                           OpKind::kRelu,
                                           Pass::kForward,
                                           "",
                                           "fp32",
                                           {{"latency", 2500}, {"bandwidth_fraction", 0.75}, {"cache_gain", 0.5}},
                                           0.1,
                                           0.2,
                                           1.0,
                                           0,
                                           0,
                                           {Source::Kind::kPublished, "a table"}});
  const Device bare = ParseMachine(Replaced(ProfileText(""), "l2_cache: 6 MiB,", ""), "small.yaml").devices.at(0);
  CHECK(bare.models.empty());
  CHECK(bare.call_floors.empty());
  CHECK(bare.stack_error == 0.15);
  CHECK(bare.l2_cache == 0);
}

TEST_CASE("a printed model loads as the same one, whatever its numbers") {
  Machine machine = ParseMachine(ProfileText(kModels), "small.yaml");
  Device& device = machine.devices[0];
  device.l2_cache = 4718593;  // no multiple of anything
  device.stack_error = 1.0 / 3;
  KernelModel model = device.models[1];
  model.parameters = {{"efficiency", 1.0 / 3},  {"prologue", 0.1},
                      {"fill", 1e-300},         {"quantisation", 1e15},
                      {"bandwidth", 123456},    {"fixed", std::numeric_limits<double>::denorm_min()},
                      {"filter_bandwidth", 0.3}};
  model.source.text = "quotes \" and : colons # and\nlines";
  model.least_work = 0.1;
  model.most_work = 1e21;
  device.models.push_back(model);
  device.call_floors.push_back({"a \"harness\": x", OpKind::kAdd, std::nullopt, 1, 1'000'000'007});
  device.call_floors.push_back({"events", OpKind::kLinear, Pass::kForward, 1, 2, "tf32"});
  device.stacks = {{"a, CUDA \"8\"", OpKind::kLinear, Pass::kForward, "fp32", 1.0 / 3, 3, 0.01},
                   {"b", OpKind::kLinear, Pass::kForward}};
  Reread(machine);
}

TEST_CASE("every wrong figure of a model or call floor is refused, in its place") {
  struct Bad {
    const char *from, *to, *message;
  };
  const Bad cases[] = {
      {"      - form: elementwise\n        op", "      - op", "missing key 'form' in model of device 'gpu'"},
      {"        op: relu\n", "", "missing key 'op' in model of device 'gpu'"},
      {"        pass: backward_data\n", "", "missing key 'pass' in model of device 'gpu'"},
      {"        parameters: {fixed: 1500, efficiency: 1, prologue: 1, fill: 1, quantisation: 1, bandwidth: 1, "
       "filter_bandwidth: 1}\n",
       "", "missing key 'parameters' in model of device 'gpu'"},
      {"        source: {measured: \"driver 1\"}\n", "", "missing key 'source' in model of device 'gpu'"},
      {"{fixed: 1500", "{fixed: fast", "small.yaml:27:29: error: fixed: expected a number"},
      {"{fixed: 1500", "{fixed: .nan", "fixed: expected a number"},
      {"{fixed: 1500", "{fixed: 2e15", "fixed: expected a number from -1000000000000000 to 1000000000000000"},
      {"{fixed: 1500, efficiency: 1, prologue: 1, fill: 1, quantisation: 1, bandwidth: 1, filter_bandwidth: 1}",
       "[1, 2]", "parameters of model 'winograd': expected a map"},
      {"shared_error: 0.03", "shared_error: -0.1", "small.yaml:28:23: error: shared_error: expected a number from 0"},
      {"own_error: 0.07", "own_error: 11", "own_error: expected a number from 0 to 10"},
      {"copy_slowdown: 1.2", "copy_slowdown: 0.99", "copy_slowdown: expected a number from 1 to 10"},
      {"least: 1e6", "least: 1e13", "most: must not be below least"},
      {"least: 1e6", "least: -1", "least: expected a number from 0"},
      {"most: 2.5e12", "mots: 1", "did you mean 'most'?"},
      {"        math: tf32\n", "        maths: tf32\n",
       "small.yaml:26:9: error: unknown key 'maths' in model of device 'gpu'; did you mean 'math'?"},
      {"stack_error: 0.05", "stack_error: -1", "stack_error: expected a number from 0 to 10"},
      {"l2_cache: 6 MiB", "l2_cache: 6", "l2_cache: '6' has no unit"},
      {"floor: 68 us", "floor: 68", "small.yaml:14:80: error: floor: '68' has no unit"},
      {", floor: 68 us", "", "missing key 'floor' in call floor of device 'gpu'"},
      {"harness: events, op: relu", "op: relu", "missing key 'harness' in call floor of device 'gpu'"},
      {"added: 12 us", "added: -12 us", "added: expected a duration"},
      {"added: 12 us", "add: 12 us", "did you mean 'added'?"},
  };
  for (const Bad& c : cases) {
    const std::vector<std::string> messages = ErrorsOfProfile(Replaced(ProfileText(kModels), c.from, c.to));
    INFO(c.to);
    std::string told;
    for (const std::string& message : messages) told += message + "\n";
    CHECK_THAT(told, Catch::Contains(c.message));
  }
}

TEST_CASE("all mistakes of all models are told at once") {
  std::string text = Replaced(ProfileText(kModels), "own_error: 0.07", "own_error: 11");
  text = Replaced(text, "latency: 2500", "latency: x");
  text = Replaced(text, "floor: 31500 ns", "floor: 31500");
  const std::vector<std::string> messages = ErrorsOfProfile(text);
  REQUIRE(messages.size() == 3);
  CHECK_THAT(messages[0], Catch::Contains("small.yaml:15:44: error: floor:"));
  CHECK_THAT(messages[1], Catch::Contains("small.yaml:20:31: error: latency:"));
  CHECK_THAT(messages[2], Catch::Contains("small.yaml:29:20: error: own_error:"));
}

TEST_CASE("models_from: models and call floors of another profile, nothing else") {
  const Folder folder;
  folder.Write("teacher", kModels);
  folder.Write("pupil", "    stack_error: 0.3\n    models_from: teacher\n");
  folder.Write("grandpupil", "    models_from: pupil\n");
  folder.WriteText("second", "name: second\nsame_as: pupil\n");
  const Device teacher = LoadMachine("teacher").devices.at(0);
  REQUIRE(teacher.models.size() == 2);
  for (const char* name : {"pupil", "grandpupil", "second"}) {
    INFO(name);
    const Device device = LoadMachine(name).devices.at(0);
    CHECK(device.models == teacher.models);
    CHECK(device.call_floors == teacher.call_floors);
  }
  CHECK(LoadMachine("pupil").devices[0].stack_error == 0.3);
  CHECK(LoadMachine("grandpupil").devices[0].stack_error == 0.15);
}

TEST_CASE("a printed profile with models_from names it again and holds no copy") {
  const Folder folder;
  folder.Write("teacher", kModels);
  folder.Write("pupil", "    models_from: teacher\n");
  const Machine pupil = LoadMachine("pupil");
  const std::string text = MachineToYaml(pupil);
  CHECK_THAT(text, Catch::Contains("models_from: \"teacher\"") && !Catch::Contains("winograd"));
  CHECK(ParseMachine(text, "printed.yaml") == pupil);
}

TEST_CASE("models_from: profiles that name each other, nobody, or have models of their own") {
  const Folder folder;
  folder.Write("teacher", kModels);
  folder.Write("self", "    models_from: self\n");
  folder.Write("hen", "    models_from: egg\n");
  folder.Write("egg", "    models_from: hen\n");
  folder.WriteText("alias", "name: alias\nsame_as: named\n");
  folder.Write("named", "    models_from: alias\n");
  folder.Write("lost", "    models_from: techer\n");
  folder.Write("path", "    models_from: ../hw/teacher\n");
  folder.Write("both", "    models_from: teacher\n" + kModels);
  folder.Write("floors", "    models_from: teacher\n    call_floors: [{harness: e, op: relu, floor: 1 us}]\n");
  CHECK_THAT(ErrorOfLoading("self"), Catch::Contains("self.yaml:12:18: error: models_from: profiles name each other in "
                                                     "a circle"));
  CHECK_THAT(ErrorOfLoading("hen"), Catch::Contains("egg.yaml:12:18") && Catch::Contains("hen.yaml -> ") &&
                                        Catch::Contains("egg.yaml -> ") && Catch::Contains("circle"));
  CHECK_THAT(ErrorOfLoading("alias"), Catch::Contains("circle"));
  CHECK_THAT(ErrorOfLoading("lost"), Catch::Contains("lost.yaml:12:18: error: models_from: unknown machine 'techer'; "
                                                     "did you mean 'teacher'?"));
  CHECK_THAT(ErrorOfLoading("path"), Catch::Contains("models_from: unknown machine"));
  CHECK_THAT(ErrorOfLoading("both"),
             Catch::Contains("both.yaml:12:18: error: models_from: there are models of its own"));
  CHECK_THAT(ErrorOfLoading("floors"),
             Catch::Contains("floors.yaml:12:18: error: models_from: there are call floors of its own too"));
}

TEST_CASE("mistakes of the other profile are told with its name") {
  const Folder folder;
  folder.Write("teacher", Replaced(kModels, "own_error: 0.07", "own_error: 11"));
  folder.Write("pupil", "    models_from: teacher\n");
  CHECK_THAT(ErrorOfLoading("pupil"), Catch::Contains("teacher.yaml:29:20: error: own_error:"));
}

TEST_CASE("each device of a machine names its own teacher") {
  const Folder folder;
  folder.Write("teacher", kModels);
  folder.Write("other", Replaced(kModels, "latency: 2500", "latency: 9999"));
  Machine machine = ParseMachine(ProfileText(""), "small.yaml");
  machine.devices[0].models_from = "teacher";
  machine.devices.push_back(machine.devices[0]);
  machine.devices[1].name = "gpu2";
  machine.devices[1].models_from = "other";
  machine.links.push_back(machine.links[0]);
  machine.links[1].name = "bus2";
  machine.links[1].device = 1;
  const Machine two = ParseMachine(MachineToYaml(machine), "two.yaml");
  REQUIRE(two.devices[0].models.size() == 2);
  REQUIRE(two.devices[1].models.size() == 2);
  CHECK(two.devices[0].models[0].parameters[0].value == 2500);
  CHECK(two.devices[1].models[0].parameters[0].value == 9999);
  CHECK(ParseMachine(MachineToYaml(two), "again.yaml") == two);
}

}  // namespace spillway
