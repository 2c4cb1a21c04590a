// What a validation writes: columns that scripts rely on, and tables for people.
#include <catch2/catch.hpp>

#include "reports/tables/validation.h"
#include "tests/text.h"

namespace spillway {
namespace {

ValidationSet Example() {
  ValidationSet set;
  ValidationCase place;
  place.scenario = "small, with a comma";
  place.network = "net";
  place.batch = 32;
  place.machine = "mine+link=2GB/s";
  place.device = "cpu0";
  place.memory_limit = 24'000'000;
  place.link = {
      .stated_rate = 2, .in_rate = 1.9, .out_rate = 1.8, .in_latency = 5000, .in_duplex = 0.9, .out_duplex = 1};
  place.pace = {.products = {.factor = 1.2,
                             .low = 1.15,
                             .high = 1.25,
                             .launches = 16,
                             .meanwhile = 1.18,
                             .meanwhile_low = 1.1,
                             .meanwhile_high = 1.26,
                             .applied = true},
                .others = {.factor = 0.9, .launches = 3}};
  place.noise = {.load = 1.5, .room = 2, .rounds = 0.02, .launches = 0.03};
  place.in_core = 1e8;
  place.in_core_predicted = 9e7;
  place.in_core_split = {.kernels = 0.9, .seen = 0.88, .isolated = 0.96, .context = 0.9375, .seen_share = 0.75};
  place.tau = 1;
  place.pairs = 1;
  place.best_predicted = "swap-all";
  place.best_measured = "pooch";
  place.regret = 0.02;
  place.regret_low = -0.01;
  place.regret_high = 0.05;
  place.best_or_noise = true;
  set.cases = {place};
  ValidationRow row;
  row.strategy = "swap-all";
  row.point = "net_b32_swap-all";
  row.feasible = true;
  row.predicted = 110'000'000;
  row.as_calibrated = 95'000'000;
  row.at_pace = 110'000'000;
  row.tracked = 104'000'000;
  row.tracked_error = 0.04;
  row.step_times = {{1e8, 1.1e8}, {1e8}};
  row.measured = 1e8;
  row.measured_low = 0.99e8;
  row.measured_high = 1.1e8;
  row.measured_spread = 0.05;
  row.split = {.kernels = 1.2,
               .isolated = 1.25,
               .context = 0.96,
               .copies = 0.5,
               .replay = 0.97,
               .gaps = 0.01,
               .forward = 0.9,
               .recomputed = 1.15,
               .backward = 0.98};
  row.predicted_peak = 23'999'488;
  row.measured_peak = 23'999'400;
  row.predicted_device = 24'000'000;
  row.measured_device = 25'000'000;
  row.predicted_host = 30'000'000;
  row.measured_host = 29'000'000;
  row.numerics.kind = Numerics::Kind::kBitwise;
  ValidationRow random = row;
  random.strategy = "random 1";
  random.stratum = "60 % moved, 33 % of it recomputed, near";
  random.random = true;
  random.numerics = {.kind = Numerics::Kind::kDiffers, .largest_difference = 3.14159e-7, .tensor = "w"};
  ValidationRow none;
  none.strategy = "in-core";
  none.reason = "out_of_memory: the plan needs 53 MB";
  set.rows = {none, row, random};
  set.falsification = {{.variant = "full", .description = "", .median_error = 0.1, .verdict = ""},
                       {.variant = "sum of ops",
                        .description = "",
                        .median_error = 0.3,
                        .worst_error = 0.5,
                        .tau = 0.25,
                        .closer = 2,
                        .farther = 0,
                        .p = 0.5,
                        .gain_low = 0.1,
                        .gain_high = 0.2,
                        .verdict = "cannot be rejected"}};
  set.scaled_falsification = {{.variant = "full", .description = "", .median_error = 0.05, .verdict = ""}};
  set.tau = 1;
  set.clear_pairs = 7;
  set.clear_right = 5;
  set.best_or_noise = 1;
  set.judged = 1;
  set.median_replay = 0.03;
  set.summaries = {{"all strategies", 1, 0.1, 0.1, 0.1}};
  set.notes = {"a note"};
  return set;
}

TEST_CASE("validation.csv begins with the columns of the contract") {
  const std::vector<std::string> lines = LinesOf(ValidationCsv(Example()));
  REQUIRE(lines.size() == 4);
  CHECK(lines[0] ==
        "network,batch,device,memory_limit_bytes,link_rate,strategy,predicted_s,measured_s,measured_spread,error,"
        "replay_error,predicted_peak_bytes,measured_peak_bytes,predicted_device_bytes,measured_device_bytes,numerics,"
        "scenario,machine,kind,stratum,feasible,reason,measured_low_s,measured_high_s,steps,kernel_error,"
        "seen_kernel_error,modelled_kernel_error,isolated_error,context_error,copy_error,gap_share,perturbation,"
        "seen_share,predicted_host_bytes,measured_host_bytes,in_rate,out_rate,duplex_factor,in_duplex,out_duplex,"
        "measured_fastest_s,"
        "products_pace,others_pace,as_calibrated_s,profile_reserve_bytes,measured_reserve_bytes,clock_mhz,lowest_clock_"
        "mhz,products_pace_applied,others_pace_applied,products_pace_meanwhile,others_pace_meanwhile,at_pace_s,"
        "tracked_s,tracked_error,load,rounds_differ,launches_differ,trusted,forward_error,recomputed_error,"
        "backward_error,point,allocated_bytes");
  CHECK(
      lines[2] ==
      "net,32,cpu0,24000000,2000000000,swap-all,0.110000000,0.100000000,0.050000,0.100000,-0.030000,23999488,23999400,"
      "24000000,25000000,bitwise,\"small, with a comma\",mine+link=2GB/s,strategy,,1,,0.099000000,0.110000000,3,"
      "0.200000,,,0.250000,-0.040000,-0.500000,0.010000,0.000000,0.000000,30000000,29000000,1900000000,1800000000,"
      "0.9500,0.9000,1.0000,0.100000000,1.2000,,0.095000000,,,,,1,,1.180000,,0.110000000,0.104000000,0.040000,1.50,0."
      "020000,0.030000,"
      "1,-0.100000,0.150000,-0.020000,net_b32_swap-all,");
}

TEST_CASE("a row that was not measured has empty numbers and a reason") {
  CHECK(LinesOf(ValidationCsv(Example()))[1] ==
        "net,32,cpu0,24000000,2000000000,in-core,,,,,,,,,,skipped,\"small, with a comma\",mine+link=2GB/s,strategy,,0,"
        "out_of_memory: the plan needs 53 "
        "MB,,,0,,,,,,,,,,,,1900000000,1800000000,0.9500,0.9000,1.0000,,1.2000,,,,,,,1,,1.180000,,,,,1.50,0.020000,0."
        "030000,1,,,,,");
}

TEST_CASE("a machine that nobody looked at is neither trusted nor distrusted") {
  ValidationSet set = Example();
  set.cases[0].noise = {};
  CHECK(LinesOf(ValidationCsv(set))[2].ends_with(",0.040000,,,,,-0.100000,0.150000,-0.020000,net_b32_swap-all,"));
  set.cases[0].noise.rounds = 0.2;
  CHECK(LinesOf(ValidationCsv(set))[2].ends_with(
      ",0.040000,,0.200000,,0,-0.100000,0.150000,-0.020000,net_b32_swap-all,"));
}

TEST_CASE("random plans say so, with what they were drawn for") {
  const std::string line = LinesOf(ValidationCsv(Example()))[3];
  CHECK_THAT(line, Catch::Contains(",3.1e-07,"));
  CHECK_THAT(line, Catch::Contains(",random,\"60 % moved, 33 % of it recomputed, near\",1,"));
}

TEST_CASE("falsification.csv") {
  CHECK(
      LinesOf(FalsificationCsv(Example())) ==
      std::vector<std::string>{
          "variant,median_error,worst_error,tau,full_closer,full_farther,sign_test_p,gain_low,gain_high,verdict,scaled",
          "full,0.100000,0.000000,0.0000,0,0,1,0.000000,0.000000,,0",
          "sum of ops,0.300000,0.500000,0.2500,2,0,0.5,0.100000,0.200000,cannot be rejected,0",
          "full,0.050000,0.000000,0.0000,0,0,1,0.000000,0.000000,,1"});
}

TEST_CASE("the table of a case") {
  const std::string text = ValidationCaseTable(Example(), 0);
  INFO(text);
  CHECK_THAT(text,
             Catch::StartsWith("small, with a comma: net at batch 32 on mine+link=2GB/s, 24.0 MB of device memory, "
                               "link 2 GB/s (measured: in 1.90 out 1.80 GB/s, duplex 0.90 and 1.00)\n"));
  CHECK_THAT(text, Catch::Contains("kernel times now / in the profile: products 1.20 (1.15 to 1.25), applied: "
                                   "1.18 (1.10 to 1.26) between the steps; others not measured; 19 launches timed "
                                   "again\nmachine: load 1.5 (threads wait above 2), rounds of a plan differ by 2 %, "
                                   "launches timed between rounds by 3 %\n"));
  CHECK_THAT(text, Catch::Contains("in-core   does not run: out_of_memory: the plan needs 53 MB\n"));
  CHECK_THAT(
      text,
      Catch::Contains("swap-all  chosen =        110       100  99.0-110  +10.0 %   +4.0 %  +20.0 %  -50.0 %  -3.0 %"));
  CHECK_THAT(text, Catch::Contains("chosen swap-all: +2.0 % slower than pooch (-1.0 % to +5.0 %), within noise\n"));
  CHECK_THAT(text,
             Catch::Contains("kernels -10.0 %: measured alone -4.0 %, effect of the step -6.2 %; timed in "
                             "calibration -12.0 %, by model none\n  launches timed in calibration are 75 % of the"));
}

TEST_CASE("a factor that is the other group's says so") {
  ValidationSet set = Example();
  set.cases[0].pace.others = {.factor = 1.2, .low = 1.15, .high = 1.25, .launches = 3, .of_other = true};
  CHECK_THAT(ValidationCaseTable(set, 0), Catch::Contains("between the steps; others 1.20 too (3 launches are too few "
                                                          "for a factor of their own), not applied; 19 launches"));
  CHECK_THAT(ValidationCsv(set), Catch::Contains(",1.2000,1.2000,0.095000000,,,,,1,0,"));  // what was predicted with
}

TEST_CASE("the reserve of a device with memory of its own, by the profile and as it was found") {
  ValidationSet set = Example();
  set.cases[0].profile_reserve = 500'000'000;
  set.cases[0].measured_reserve = 512'000'000;
  for (std::size_t k = 1; k <= 3; ++k) {
    CHECK_THAT(LinesOf(ValidationCsv(set))[k], Catch::Contains(",500000000,512000000,,,1,,"));
  }
}

TEST_CASE("at which clock a device ran, where it tells") {
  ValidationSet set = Example();
  set.rows[1].clock_mhz = 1980;
  set.rows[1].lowest_clock_mhz = 1410.4;
  CHECK_THAT(LinesOf(ValidationCsv(set))[2], Catch::Contains(",1980,1410,1,,"));
  CHECK_THAT(LinesOf(ValidationCsv(set))[1], Catch::Contains(",,,,,1,,"));
}

TEST_CASE("numbers that nobody should trust: said above all else, by case and for all of them") {
  ValidationSet set = Example();
  CHECK(NoiseVerdict(set.cases[0].noise).empty());
  CHECK(NoiseVerdict({}).empty());  // nothing is known
  CHECK(NoiseVerdict({.load = 4, .room = 2, .rounds = 0.31}) ==
        "do not trust these numbers: load 4.0, rounds differ by 31 %\n");
  CHECK(NoiseVerdict({.load = 4, .room = 2, .rounds = 0.03}) == "do not trust these numbers: load 4.0\n");
  CHECK(NoiseVerdict({.load = 4, .room = 64, .rounds = 0.31}) == "do not trust these numbers: rounds differ by 31 %\n");
  CHECK(NoiseVerdict({.load = 4, .room = -1}).empty());  // on who knows how many cores
  set.cases[0].noise.load = set.noise.load = 4;
  set.noise.room = 2;
  CHECK_THAT(ValidationCaseTable(set, 0), Catch::StartsWith("do not trust these numbers: load 4.0\nsmall, with"));
  CHECK_THAT(ValidationSummaryTable(set), Catch::StartsWith("do not trust these numbers: load 4.0\n"));
  CHECK_THAT(LinesOf(ValidationCsv(set))[2], Catch::Contains(",4.00,0.020000,0.030000,0,"));
}

TEST_CASE("a factor that is not applied says why") {
  ValidationSet set = Example();
  PaceGroup& products = set.cases[0].pace.products;
  products.applied = false;
  CHECK_THAT(ValidationCaseTable(set, 0), Catch::Contains("(1.15 to 1.25), not applied: 1.18 (1.10 to 1.26) between"));
  products.low = 0.99;
  CHECK_THAT(ValidationCaseTable(set, 0), Catch::Contains("(0.99 to 1.25), not applied: the interval holds 1; others"));
  CHECK_THAT(LinesOf(ValidationCsv(set))[2], Catch::Contains(",1.2000,,0.095000000,,,,,0,,"));
}

TEST_CASE("the summary") {
  const std::string text = ValidationSummaryTable(Example());
  INFO(text);
  CHECK_THAT(text, Catch::Contains("all strategies                          1  +10.0 %       10.0 %  10.0 %"));
  CHECK_THAT(text, Catch::Contains("within noise of the fastest, at 1 of 1 points; largest regret 2.0 %"));
  CHECK_THAT(text, Catch::Contains(
                       "Kendall's tau-b 1.00. Pairs that differ beyond noise and have the predicted order: 5 of 7.\n"
                       "Replay of measured spans: median size of the error 3.0 %."));
  CHECK_THAT(text, Catch::Contains("cannot be rejected"));
  CHECK_THAT(text, Catch::Contains("note: a note\n"));
}

}  // namespace
}  // namespace spillway
