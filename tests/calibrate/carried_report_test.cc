// Reports of a carrier: what is read and refused, which contexts count, and what becomes a row.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "calibrate/validate/carried.h"
#include "hw/text/document.h"
#include "tests/temporary_folder.h"
#include "tests/text.h"

namespace spillway {
namespace {

using Json = nlohmann::json;

Json Context(double seconds, Bytes counted = 0) {
  return {{"seconds", seconds}, {"matched", 40},      {"extra", 0},
          {"missing", 0},       {"lost_at", nullptr}, {"clock", 40},
          {"out", 2},           {"replayed", 1},      {"counted_peak_bytes", counted}};
}

Json Report(const std::vector<Json>& contexts) {
  return {{"format", "spillway-carried"},
          {"version", 1},
          {"network", "net"},
          {"strategy", "best"},
          {"batch", 4},
          {"machine", "mine"},
          {"device", "cpu"},
          {"capacity_bytes", 10'000'000},
          {"predicted_peak_bytes", 9'000'000},
          {"predicted_step_ns", 1'100'000'000},
          {"predicted_host_bytes", 5'000'000},
          {"contexts", contexts},
          {"extra_calls", Json::object()}};
}

class Reports {
 public:
  std::vector<CarriedReport> LoadAll(const Json& report) { return LoadCarriedReports(Write(report)); }
  CarriedReport Load(const Json& report) { return LoadAll(report).at(0); }
  std::string Complaint(const Json& report) {
    try {
      Load(report);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }
  std::string Write(const Json& report) {
    return folder_.Write("r" + std::to_string(++number_) + ".json", report.dump(1));
  }

 private:
  TemporaryFolder folder_{"carried"};
  int number_ = 0;
};

TEST_CASE("of three whole contexts or more the first warms up; times are of the others") {
  Reports reports;
  const CarriedReport report = reports.Load(Report({Context(9), Context(1.0), Context(1.2), Context(1.1)}));
  const CarriedResults results = ValidateCarried({report}, 1);
  REQUIRE(results.set.rows.size() == 1);
  const ValidationRow& row = results.set.rows[0];
  CHECK(row.measured == Approx(1.1e9));
  CHECK(row.predicted == 1'100'000'000);
  CHECK(row.step_times.front().size() == 3);
  CHECK(row.predicted_host == 5'000'000);
  CHECK(results.set.cases[0].memory_limit == 10'000'000);
  CHECK(results.set.cases[0].carried);
  CHECK(results.failures.empty());
  CHECK(ValidateCarried({reports.Load(Report({Context(9), Context(1)}))}, 1).set.rows[0].measured == Approx(5e9));
}

TEST_CASE("contexts that lost the track or ended early do not count; the prediction is of the calls that passed") {
  Reports reports;
  Json lost = Context(3), forward_alone = Context(0.1), whole = Context(1, 8'000'000);
  lost["lost_at"] = "17:relu";
  lost["counted_peak_bytes"] = 90'000'000;
  forward_alone["clock"] = forward_alone["matched"] = 20;
  whole["predicted_ns"] = 900'000'000;
  const CarriedResults results = ValidateCarried({reports.Load(Report({lost, forward_alone, whole, whole}))}, 1);
  const ValidationRow& row = results.set.rows[0];
  CHECK(row.measured == Approx(1e9));
  CHECK(row.predicted == 900'000'000);
  CHECK(row.measured_peak == 8'000'000);
  CHECK(results.failures.empty());
  REQUIRE(results.set.notes.size() == 1);
  CHECK_THAT(results.set.notes[0], Catch::Contains("4 contexts, 0 extra calls, 0 missing, 1 lost the track"));
}

TEST_CASE("peaks are of the report that counts bytes, times of the one that does not, in one row") {
  Reports reports;
  const CarriedReport counting = reports.Load(Report({Context(2, 8'500'000), Context(2, 8'600'000)}));
  const CarriedReport timed = reports.Load(Report({Context(1), Context(1)}));
  for (const auto& both : {std::vector{counting, timed}, std::vector{timed, counting}}) {
    const CarriedResults results = ValidateCarried(both, 1);
    REQUIRE(results.set.rows.size() == 1);
    CHECK(results.set.rows[0].measured == Approx(1e9));
    CHECK(results.set.rows[0].measured_peak == 8'600'000);
  }
}

TEST_CASE("plans of one network and limit are a case, whose choice is judged; others have their own") {
  Reports reports;
  Json slow = Report({Context(2), Context(2)}), other = Report({Context(1), Context(1)});
  slow["strategy"] = "swap-all";
  slow["predicted_step_ns"] = 2'100'000'000;
  other["capacity_bytes"] = 20'000'000;
  const CarriedReport fast = reports.Load(Report({Context(1), Context(1)}));
  const CarriedResults results = ValidateCarried({fast, reports.Load(other), reports.Load(slow)}, 1);
  REQUIRE(results.set.cases.size() == 2);
  CHECK(results.set.rows.size() == 3);
  CHECK(results.set.cases[0].best_predicted == "best");
  CHECK(results.set.cases[0].best_or_noise);
  CHECK(results.set.cases[0].pairs == 1);
  CHECK(results.set.cases[0].tau == 1);
  CHECK(results.set.cases[1].best_predicted.empty());
  CHECK(results.set.rows[1].case_index == 0);
  CHECK(results.set.rows[2].case_index == 1);
}

TEST_CASE("a peak above the limit fails, and so does a plan of which no context is whole") {
  Reports reports;
  const CarriedReport high = reports.Load(Report({Context(1, 10'000'001)}));
  CHECK(ValidateCarried({high}, 1).failures ==
        std::vector<std::string>{"net by best: counted peak 10.0 MB above the 10.0 MB planned for"});
  Json lost = Context(1);
  lost["lost_at"] = "17:relu";
  const CarriedResults results = ValidateCarried({reports.Load(Report({lost}))}, 1);
  CHECK(results.failures ==
        std::vector<std::string>{"net by best: every context lost the track, one of them at '17:relu'"});
  CHECK_FALSE(results.set.rows[0].Measured());
}

Json Plan(const std::string& network, Bytes capacity, Bytes peak, std::int64_t step_ns) {
  return {{"network", network},
          {"strategy", "best"},
          {"capacity_bytes", capacity},
          {"predicted_peak_bytes", peak},
          {"predicted_step_ns", step_ns}};
}

// Two kinds: three contexts of the first, two of the second, none of a third.
Json OfKinds() {
  Json first = Context(1.0, 8'000'000), second = Context(2.0, 5'500'000);
  second["kind"] = 1;
  second["clock"] = second["matched"] = 60;
  Json report = Report({first, second, first, second, first});
  report["extra_calls"] = {{"aten.mean.default", 7}};
  report["kinds"] = {Plan("net", 10'000'000, 9'000'000, 1'100'000'000),
                     Plan("net, kind 2", 6'000'000, 5'000'000, 2'200'000'000),
                     Plan("net, kind 3", 7'000'000, 5'000'000, 2'200'000'000)};
  return report;
}

TEST_CASE("each kind of step is compared with its own plan") {
  Reports reports;
  const CarriedResults results = ValidateCarried(reports.LoadAll(OfKinds()), 1);
  REQUIRE(results.set.rows.size() == 2);
  CHECK(results.set.cases[1].network == "net, kind 2");
  CHECK(results.set.cases[1].memory_limit == 6'000'000);
  CHECK(results.set.rows[0].measured == Approx(1e9));
  CHECK(results.set.rows[0].measured_peak == 8'000'000);
  CHECK(results.set.rows[1].measured == Approx(2e9));
  CHECK(results.set.rows[1].predicted == 2'200'000'000);
  CHECK(results.set.rows[1].predicted_peak == 5'000'000);
  CHECK(results.set.rows[1].measured_peak == 5'500'000);
  CHECK(results.failures.empty());
}

TEST_CASE("contexts that a report no longer lists count for peaks and sums") {
  Reports reports;
  Json report = OfKinds();
  report["kinds"][1]["all_contexts"] = {
      {"contexts", 900}, {"extra", 12}, {"missing", 0}, {"lost", 3}, {"counted_peak_bytes", 6'500'000}};
  const std::vector<CarriedReport> read = reports.LoadAll(report);
  const CarriedResults results = ValidateCarried(read, 1);
  CHECK(results.failures ==
        std::vector<std::string>{"net, kind 2 by best: counted peak 6.50 MB above the 6.00 MB planned for"});
  REQUIRE(results.set.notes.size() == 1);
  CHECK(results.set.notes[0] == read[1].file + ": 900 contexts, 12 extra calls, 0 missing, 3 lost the track");
  report["kinds"] = Json::array();
  CHECK_THAT(reports.Complaint(report), Catch::Contains("kinds: expected a list of plans"));
  report["kinds"] = {Plan("net", 10'000'000, 9'000'000, 1'100'000'000)};
  CHECK_THAT(reports.Complaint(report), Catch::Contains("contexts: a context of kind 1, of 1"));
  report["kinds"][0].erase("strategy");
  CHECK_THAT(reports.Complaint(report), Catch::Contains("strategy"));
}

TEST_CASE("memory beyond the counted is the allocator's, or the process's") {
  Reports reports;
  Json gpu = Context(1), cpu = Context(1);
  gpu["allocated_peak_bytes"] = 11;
  gpu["reserved_peak_bytes"] = 12;
  cpu["process_peak_bytes"] = 13;
  const ValidationRow on_gpu = ValidateCarried({reports.Load(Report({gpu}))}, 1).set.rows[0];
  CHECK(on_gpu.allocated == 11);
  CHECK(on_gpu.measured_device == 12);
  CHECK(ValidateCarried({reports.Load(Report({cpu}))}, 1).set.rows[0].measured_device == 13);
}

TEST_CASE("reports that are none are refused with their place") {
  Reports reports;
  CHECK(reports.Complaint(Report({Context(1)})).empty());
  Json wrong = Report({Context(1)});
  wrong["format"] = "spillway-carry";
  CHECK_THAT(reports.Complaint(wrong), Catch::Contains("expected a report of a carrier"));
  CHECK_THAT(reports.Complaint({{"a", 1}}), Catch::Contains("expected a report of a carrier"));
  wrong = Report({Context(1)});
  wrong["version"] = 2;
  CHECK_THAT(reports.Complaint(wrong), Catch::Contains("version: this program reads version 1"));
  CHECK_THAT(reports.Complaint(Report({})),
             Catch::Contains("contexts: none: ask for the report after at least one step"));
  Json backwards = Context(1);
  backwards["seconds"] = -1;
  CHECK_THAT(reports.Complaint(Report({backwards})), Catch::Contains("seconds"));
  for (const char* key : {"network", "strategy", "capacity_bytes", "predicted_step_ns", "contexts"}) {
    Json without = Report({Context(1)});
    without.erase(key);
    CHECK_THAT(reports.Complaint(without), Catch::Contains(key));
  }
  TemporaryFolder folder("carried");
  CHECK_THROWS_AS(LoadCarriedReports(folder.Write("r.json", "[1, 2")), UserError);
  CHECK_THROWS_AS(LoadCarriedReports(folder.Path("none.json")), UserError);
}

}  // namespace
}  // namespace spillway
