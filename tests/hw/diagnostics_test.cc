// How mistakes in a file are told: where, in which order, how many; which name may have been meant.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "hw/text/document.h"
#include "tests/text.h"
#include "tests/user_errors.h"

namespace spillway {
namespace {

TEST_CASE("messages show the place, sorted") {
  const Document document = ParseDocument("name: x\nmemory_limits: 8 GB\n", "s.yaml");
  Diagnostics diagnostics(document);
  diagnostics.Error({2, 16}, "second");
  diagnostics.Error({1, 1}, "first");
  diagnostics.Error({}, "whole file");
  REQUIRE(ErrorOf([&] { diagnostics.ThrowIfAny(); }) ==
          "s.yaml: error: whole file\n"
          "s.yaml:1:1: error: first\n"
          "    1 | name: x\n"
          "      | ^\n"
          "s.yaml:2:16: error: second\n"
          "    2 | memory_limits: 8 GB\n"
          "      |                ^");
}

TEST_CASE("excerpts fit 120 columns and the caret stays under its character") {
  const std::string line = "k: " + std::string(400, 'x') + "Y" + std::string(400, 'x');
  const Document document = ParseDocument("ä: [ö, ü]\n" + line + "\n", "s.yaml");
  for (const int column : {1, 100, 404, 804, 5000}) {
    Diagnostics diagnostics(document);
    diagnostics.Error({2, column}, "here");
    const std::string message = ErrorOf([&] { diagnostics.ThrowIfAny(); });
    const std::size_t source = message.find('\n') + 1;
    const std::size_t caret = message.find('\n', source) + 1;
    INFO(message);
    REQUIRE(caret - source - 1 <= 120);
    REQUIRE(message.size() - caret <= 121);
    if (column == 404) REQUIRE(message[source + (message.find('^') - caret)] == 'Y');
  }
  Diagnostics diagnostics(document);
  diagnostics.Error({1, 9}, "here");  // ü: byte 9, character 7
  REQUIRE(Contains(ErrorOf([&] { diagnostics.ThrowIfAny(); }), "\n      |       ^"));
}

TEST_CASE("after a hundred messages the rest is counted") {
  const Document document = ParseDocument("a: 1\n", "s.yaml");
  Diagnostics diagnostics(document);
  for (int i = 0; i < 250; ++i) diagnostics.Error({1, 1}, "wrong");
  try {
    diagnostics.ThrowIfAny();
    FAIL("nothing was thrown");
  } catch (const UserError& error) {
    REQUIRE(error.messages().size() == 101);
    REQUIRE(error.messages().back() == "s.yaml: error: 150 more errors");
  }
}

TEST_CASE("values from a file do not spoil the layout of messages") {
  const Document document = ParseDocument("a: 1\n", "s.yaml");
  Diagnostics diagnostics(document);
  diagnostics.Error({}, "found 'x\ny'");
  diagnostics.Error({}, std::string(5000, 'z'));
  const std::string message = ErrorOf([&] { diagnostics.ThrowIfAny(); });
  REQUIRE(Contains(message, "found 'x?y'"));
  REQUIRE(message.size() < 700);
}

TEST_CASE("a beginning stands for the shortest name that has it") {
  const std::vector<std::string> names = {"v100-x86-pcie3-long", "v100-x86-pcie3", "vgg16"};
  REQUIRE(NearestName("v100-x86", names) == "v100-x86-pcie3");  // six of fourteen letters are missing
  REQUIRE(NearestName("vgg", names) == "vgg16");
  REQUIRE(NearestName("vg", names).empty());        // too short to mean one name
  REQUIRE(NearestName("x86", names).empty());       // inside, not at the beginning
  REQUIRE(NearestName("vgg61", names) == "vgg16");  // a small distance goes first
}

TEST_CASE("the nearest name is at most a third away") {
  const std::vector<std::string> names = {"vgg16", "resnet50", "alexnet"};
  REQUIRE(NearestName("vgg61", names) == "vgg16");  // one swap
  REQUIRE(NearestName("vgf", names).empty());       // two letters of five are missing, one is wrong
  REQUIRE(NearestName("vgg-16", names) == "vgg16");
  REQUIRE(NearestName("ResNet50", names) == "resnet50");
  REQUIRE(NearestName("resnet", names) == "resnet50");
  REQUIRE(NearestName("transformer", names).empty());
  REQUIRE(NearestName("", names).empty());
  REQUIRE(NearestName("x", {}).empty());
  REQUIRE(NearestName(std::string(1 << 20, 'x'), names).empty());
  REQUIRE(DidYouMean("alexnett", names) == "; did you mean 'alexnet'?");
  REQUIRE(DidYouMean("zzz", names).empty());
  // The beginning of a name in another case: machines, networks, strategies.
  CHECK(DidYouMean("A100", {"h100-sxm", "a100-pcie4"}) == "; did you mean 'a100-pcie4'?");
  CHECK(DidYouMean("RESNEXT", {"resnet50", "resnext101-3d"}) == "; did you mean 'resnext101-3d'?");
  CHECK(DidYouMean("vDNN-c", {"vdnn-all-m", "vdnn-conv-m"}) == "; did you mean 'vdnn-conv-m'?");
  CHECK(DidYouMean("A1", {"a100-pcie4"}).empty());
}

}  // namespace
}  // namespace spillway
