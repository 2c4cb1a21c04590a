// spillway validate --torch as a user meets it: the tables and files of a validation, and what is refused.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/command_line.h"
#include "tests/temporary_folder.h"
#include "tests/text.h"

namespace spillway {
namespace {

std::string Report(const std::string& strategy, double seconds, long peak, long predicted_ns) {
  std::string contexts;
  for (int k = 0; k < 3; ++k) {
    contexts += (k == 0 ? "" : ", ") + std::string("{\"seconds\": ") + std::to_string(seconds + 0.01 * k) +
                ", \"matched\": 40, \"clock\": 40, \"extra\": 1, \"missing\": 0, \"lost_at\": null, "
                "\"counted_peak_bytes\": " +
                std::to_string(peak) + ", \"process_peak_bytes\": 400000000}";
  }
  return R"({"format": "spillway-carried", "version": 1, "network": "a net", "strategy": ")" + strategy +
         R"(", "batch": 4, "machine": "mine", "device": "cpu", "capacity_bytes": 10000000, )" +
         R"("predicted_peak_bytes": 9500000, "predicted_step_ns": )" + std::to_string(predicted_ns) +
         R"(, "contexts": [)" + contexts + R"(], "extra_calls": {"aten.mean.default": 3}})";
}

TEST_CASE("validate --torch: predicted against counted and measured, in the tables and files of a validation") {
  const TemporaryFolder folder("carried");
  const std::string best = folder.Write("best.json", Report("best", 1, 9'400'000, 1'100'000'000));
  const std::string swap = folder.Write("swap.json", Report("swap-all", 2, 9'000'000, 1'900'000'000));
  const Outcome outcome = Spillway({"validate", "--torch", best, swap, "--out", folder.Path("out")});
  INFO(outcome.out << outcome.err);
  REQUIRE(outcome.status == kExitDone);
  CHECK(outcome.err.empty());
  CHECK(Contains(outcome.out, "carried out: a net at batch 4 on mine, 10.0 MB of device memory\n"));
  CHECK(Contains(outcome.out, "order of plans: Kendall's tau 1.00 over 1 pairs; chosen best: the fastest measured"));
  CHECK(Contains(outcome.out, "3 contexts, 3 extra calls, 0 missing; most often extra: aten.mean.default (3)"));
  CHECK(Contains(outcome.out, "bytes of all storages, predicted and counted"));
  CHECK_FALSE(Contains(outcome.out, "calibrat"));
  CHECK_FALSE(Contains(outcome.out, "in-core"));
  CHECK_FALSE(Contains(outcome.out, "duplex"));
  const std::string csv = folder.Read("out/validation.csv");
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 3);
  CHECK(Contains(csv, "a net,4,cpu,10000000,"));
  CHECK(Contains(csv, ",9500000,9400000,,400000000,skipped,"));
  CHECK(Contains(folder.Read("out/validation.txt"), "Kendall's tau"));
  CHECK(Contains(folder.Read("out/report.html"), "data-file=\"validation.csv\""));
  CHECK_FALSE(std::filesystem::exists(folder.Path("out/falsification.csv")));
  CHECK_FALSE(std::filesystem::exists(folder.Path("out/run.lock")));
  CHECK(Spillway({"validate", "--torch", best, swap, "--format", "csv"}).out == csv);
}

TEST_CASE("validate --torch: a counted peak above the limit is status 1, with the rest shown") {
  const TemporaryFolder folder("carried");
  const std::string high = folder.Write("high.json", Report("best", 1, 12'000'000, 1'000'000'000));
  const Outcome outcome = Spillway({"validate", "--torch", high});
  CHECK(outcome.status == kExitExpectationFailed);
  CHECK(outcome.err == "a net by best: counted peak 12.0 MB above the 10.0 MB planned for\n");
  CHECK(Contains(outcome.out, "best"));
}

TEST_CASE("validate --torch: mistakes are one message and status 2, and nothing is written") {
  const TemporaryFolder folder("carried");
  const std::string good = folder.Write("good.json", Report("best", 1, 0, 1'000'000'000));
  const std::string bad = folder.Write("bad.json", "{\"format\": \"spillway-step\"}");
  const auto refused = [&](std::vector<std::string> words, const char* why) {
    words.insert(words.begin(), "validate");
    words.insert(words.end(), {"--out", folder.Path("out")});
    const Outcome outcome = Spillway(words);
    INFO(outcome.err);
    CHECK(outcome.status == kExitWrongInput);
    CHECK(Contains(outcome.err, why));
    CHECK_FALSE(std::filesystem::exists(folder.Path("out")));
  };
  refused({"--torch", good, bad}, "bad.json:1:12: error: expected a report of a carrier");
  refused({"--torch", folder.Path("none.json")}, "none.json");
  refused({"--torch", good, "--resume"}, "--torch: not with --resume");
  refused({"my.yaml", "--torch", good}, "--torch: not with FILE");
  refused({}, "expected a scenario FILE, or --torch");
}

}  // namespace
}  // namespace spillway
