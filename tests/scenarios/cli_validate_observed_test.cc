// What spillway validate leaves of each plan that it carried out: both timelines in one trace, and its ops one by one.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "scenarios/cli/command.h"
#include "tests/scenarios/validate_command_line.h"
#include "tests/text.h"
#include "tests/trace_schema.h"

namespace spillway {
namespace {

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> Cells(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c != '"') {
      cells.back() += c;
    }
  }
  return cells;
}

std::vector<std::vector<std::string>> Rows(const std::string& csv) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) rows.push_back(Cells(line));
  return rows;
}

double Sum(const nlohmann::json& events, int pid, const char* category) {
  double sum = 0;
  for (const auto& e : events) {
    if (e["ph"] == "X" && e["pid"] == pid && e["cat"] == category) sum += e["dur"].get<double>();
  }
  return sum;
}

// Kernels take a quarter longer than predicted.
struct SlowerKernels {
  explicit SlowerKernels(const std::string& name = "small") : f(ValidateFolder::Profile::kModels, name) {
    reality.kernels = 1.25;
    const Outcome outcome =
        f.Run(kLimit, {"--strategy", "in-core,swap-all,recompute-all", "--out", f.folder().Path("out")}, &reality);
    INFO(outcome.out << outcome.err);
    REQUIRE(outcome.status == kExitDone);
    timelines = NamesIn(f.folder().Path("out/timelines"));
  }
  nlohmann::json Trace(std::size_t k) const {
    return nlohmann::json::parse(f.folder().Read("out/timelines/" + timelines[k]));
  }
  ValidateFolder f;
  Reality reality;
  std::vector<std::string> timelines;
};

TEST_CASE("a validation's trace has predicted and measured, sorted, without overlaps, with closed flows") {
  const SlowerKernels run;
  REQUIRE(run.timelines.size() == 2);  // in-core does not fit
  for (std::size_t k = 0; k < 2; ++k) {
    INFO(run.timelines[k]);
    const nlohmann::json trace = run.Trace(k), &events = trace["traceEvents"], &head = trace["otherData"];
    CHECK(CheckedThreads(events) >= 4);
    CHECK(Sum(events, 3, "kernel") == Approx(1.25 * Sum(events, 1, "kernel")).epsilon(1e-4));
    CHECK(Sum(events, 3, "copy") == Approx(Sum(events, 1, "copy")).epsilon(0.01));
    CHECK(head["measured_step_ns"].get<double>() > head["step_time_ns"].get<double>());
    CHECK(run.timelines[k] == head["point"].get<std::string>() + ".trace.json");
    for (const auto& e : events) {
      if (e["ph"] != "X" || e["pid"] != 3) continue;
      CHECK(e["args"].contains("predicted_ns"));
    }
  }
}

TEST_CASE("ops predicted beside measured: every kernel and copy of the program, with the row's own error") {
  const SlowerKernels run;
  const std::vector<std::string> files = NamesIn(run.f.folder().Path("out/ops"));
  REQUIRE(files.size() == 2);
  for (std::size_t k = 0; k < files.size(); ++k) {
    const auto rows = Rows(run.f.folder().Read("out/ops/" + files[k]));
    CHECK(rows[0] == Cells("instruction,what,name,shape,algorithm,bytes,how,predicted_s,measured_s,low_s,high_s,steps,"
                           "error"));
    std::size_t slices = 0, kernels = 0;
    const nlohmann::json trace = run.Trace(k);
    for (const auto& e : trace["traceEvents"]) slices += e["ph"] == "X" && e["args"].contains("predicted_ns");
    CHECK(rows.size() == 1 + slices);
    for (std::size_t i = 1; i < rows.size(); ++i) {
      REQUIRE(rows[i].size() == rows[0].size());
      if (rows[i][1] != "kernel" && rows[i][1] != "recompute") continue;
      ++kernels;
      CHECK(std::stod(rows[i][12]) == Approx(-0.2).margin(0.01));
      CHECK(rows[i][11] == "3");
    }
    CHECK(kernels > 50);
  }
}

TEST_CASE("explain reads a validation's trace and tells of what was predicted") {
  const SlowerKernels run;
  const std::string file = run.f.folder().Path("out/timelines/" + run.timelines[0]);
  const nlohmann::json trace = run.Trace(0);
  std::string op;
  for (const auto& e : trace["traceEvents"]) {
    if (op.empty() && e["ph"] == "X" && e["cat"] == "kernel") op = e["name"];
  }
  const Outcome outcome = Spillway({"explain", file, "--op", op});
  CHECK(outcome.status == kExitDone);
  CHECK(CountOf(outcome.out, "  runs ") == 1);
}

TEST_CASE("the page of a validation holds ops and timelines, and `report` makes it again from the folder") {
  const SlowerKernels run("\\\"quoted\\\" </script> \u00fcber \\x07");
  const std::string page = run.f.folder().Read("out/report.html");
  CHECK(CountOf(page, "data-file=\"ops/") == 2);
  CHECK(CountOf(page, "data-file=\"timelines/") == 2);
  CHECK(Spillway({"report", run.f.folder().Path("out")}).status == kExitDone);
  CHECK(run.f.folder().Read("out/report.html") == page);
}

}  // namespace
}  // namespace spillway
