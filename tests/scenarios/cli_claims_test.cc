#include <catch2/catch.hpp>
#include <filesystem>

#include "model/profile/machine.h"
#include "scenarios/file/scenario.h"
#include "tests/command_line.h"

namespace spillway {

TEST_CASE("a system's claims stand beside ours") {
  const Outcome outcome = Spillway({"claims", "vdnn++"});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == kExitDone);
  CHECK_THAT(outcome.out, Catch::StartsWith("vdnn++ (Shriram et al., IPDPS 2019)\n"));
  CHECK_THAT(outcome.out, Catch::Contains("comparable or up to 60 % better") && Catch::Contains("1.00x to 1.60x"));
  CHECK_THAT(outcome.out, Catch::Contains("0 of 0 boundaries") && Catch::Contains("0 of 1 figures") &&
                              Catch::Contains("3 are shown only"));
  CHECK(Spillway({"claims", "vdnn++", "--jobs", "1"}).out == outcome.out);
}

TEST_CASE("a system that nobody published is refused") {
  const Outcome outcome = Spillway({"claims", "vdn"});
  CHECK(outcome.status == kExitWrongInput);
  CHECK_THAT(outcome.err, Catch::Contains("no system 'vdn'") && Catch::Contains("'vdnn'"));
  CHECK(outcome.out.empty());
  // None is near enough to be meant.
  CHECK_THAT(Spillway({"claims", "dtr"}).err,
             Catch::Contains("those with claims are vdnn, vdnn++, superneurons, chen"));
}

TEST_CASE("every claim has its words or its figure, and where it stands") {
  const std::filesystem::path folder = std::filesystem::path(MachineFolder()).parent_path() / "scenarios" / "claims";
  int claims = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    for (const Expectation& e : LoadScenario(entry.path().string()).expectations) {
      INFO(entry.path() << " " << e.claim);
      CHECK_FALSE(e.claim.empty());
      CHECK_FALSE(e.source.empty());
      const bool remembered = e.source.find("from memory") != std::string::npos;
      const bool vague = e.source.find("comparable or up to") != std::string::npos && e.value.low < e.value.high;
      CHECK(e.counted == !(remembered || vague || e.source.starts_with("ours")));
      ++claims;
    }
  }
  CHECK(claims > 20);
}

}  // namespace spillway
