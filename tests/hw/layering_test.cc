// The house rules that a compiler does not check: who may include what, and who may print or exit.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

// hw <- model <- sim <- {calibrate, reports} <- scenarios: what each folder may include besides itself.
const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"hw", {}},
    {"model", {"hw"}},
    {"sim", {"hw", "model"}},
    {"calibrate", {"hw", "model", "sim"}},
    {"reports", {"hw", "model", "sim"}},
    {"scenarios", {"hw", "model", "sim", "calibrate", "reports"}},
};

// Headers of results that reports/ shows: data without a way back to what found them.
const std::set<std::string> kShownResults = {"calibrate/validate/results.h"};

// And what each room may include of the other rooms of its folder. A room is a folder with files of its own; a table.inc
// lists names of a room for the header above it that declares them, and counts for nothing here.
const std::map<std::string, std::set<std::string>> kRoomMayInclude = {
    {"hw/text", {}},
    {"hw/machine", {"hw/text"}},
    {"model/util", {}},
    {"model/step", {"model/util"}},
    {"model/kernels", {"model/step"}},
    {"model/profile", {"model/step", "model/kernels"}},
    {"model/cost", {"model/util", "model/step", "model/kernels", "model/profile"}},
    {"model/network", {"model/util", "model/step"}},
    {"model/unroll", {"model/step", "model/network"}},
    {"model/layers", {"model/step", "model/network", "model/unroll"}},
    {"model/recorded", {"model/util", "model/step", "model/kernels", "model/profile", "model/cost"}},
    {"model/stats", {"model/util"}},
    {"model/samples", {"model/step", "model/kernels", "model/profile", "model/stats"}},
    {"model/zoo", {"model/network"}},
    {"sim/plan", {}},
    {"sim/program", {"sim/plan"}},
    {"sim/program/lower", {"sim/plan", "sim/program"}},
    {"sim/bounds", {"sim/plan", "sim/program", "sim/program/lower"}},
    {"sim/engine", {"sim/plan", "sim/program"}},
    {"sim/program/layout", {"sim/program"}},
    {"sim/verify", {"sim/plan", "sim/program"}},
    {"sim/evaluate",
     {"sim/plan", "sim/program", "sim/program/lower", "sim/bounds", "sim/engine", "sim/program/layout", "sim/verify"}},
    {"sim/certify", {"sim/bounds", "sim/evaluate"}},
    {"sim/execute", {"sim/program", "sim/engine"}},
    {"sim/execute/fake", {"sim/program", "sim/execute"}},
    {"sim/planning", {"sim/plan", "sim/bounds", "sim/evaluate"}},
    {"sim/strategies/shared", {"sim/plan", "sim/program", "sim/program/lower", "sim/evaluate", "sim/planning"}},
    {"sim/strategies/pooch",
     {"sim/plan", "sim/program", "sim/program/lower", "sim/evaluate", "sim/planning", "sim/strategies/shared"}},
    {"sim/strategies",
     {"sim/plan", "sim/program", "sim/program/lower", "sim/planning", "sim/strategies/shared", "sim/strategies/pooch"}},
    {"sim/strategies/accumulate", {"sim/plan", "sim/program", "sim/planning", "sim/strategies"}},
    {"sim/uncertainty", {"sim/evaluate"}},
    {"sim/strategies/ucudnn", {"sim/program", "sim/planning", "sim/uncertainty"}},
    {"sim/strategies/best",
     {"sim/plan", "sim/program", "sim/program/lower", "sim/bounds", "sim/evaluate", "sim/planning",
      "sim/strategies/pooch", "sim/strategies", "sim/uncertainty", "sim/strategies/ucudnn"}},
    {"sim/strategies/dtr", {"sim/program/lower", "sim/planning"}},
    {"sim/strategies/ooc_cudnn",
     {"sim/plan", "sim/program", "sim/program/lower", "sim/planning", "sim/strategies/shared", "sim/strategies",
      "sim/strategies/best"}},
    {"sim/strategies/tvdnn", {"sim/plan", "sim/program", "sim/bounds", "sim/evaluate", "sim/planning"}},
    {"sim/strategies/vdnn", {"sim/plan", "sim/evaluate", "sim/planning", "sim/strategies/shared"}},
    {"calibrate/fit", {}},
    {"calibrate/accuracy", {"calibrate/fit"}},
    {"calibrate/host", {}},
    {"calibrate/ops", {}},
    {"calibrate/measure", {"calibrate/fit", "calibrate/ops"}},
    {"calibrate/devices", {"calibrate/host", "calibrate/ops", "calibrate/measure"}},
    {"calibrate/devices/cpu", {"calibrate/host", "calibrate/ops", "calibrate/measure", "calibrate/devices"}},
    {"calibrate/devices/cpu/kernels", {"calibrate/devices/cpu"}},
    {"calibrate/devices/cuda", {"calibrate/host", "calibrate/ops", "calibrate/measure", "calibrate/devices"}},
    {"calibrate/devices/cuda/plugin", {"calibrate/ops", "calibrate/devices/cuda"}},
    {"calibrate/validate", {"calibrate/ops", "calibrate/measure", "calibrate/devices"}},
    {"reports/rows", {}},
    {"reports/tables", {"reports/rows"}},
    {"reports/dump", {}},
    {"reports/trace", {"reports/rows", "reports/tables", "reports/dump"}},
    {"reports/html", {"reports/rows", "reports/tables"}},
    {"scenarios/file", {}},
    {"scenarios/output", {}},
    {"scenarios/run", {"scenarios/file", "scenarios/output"}},
    {"scenarios/validate", {"scenarios/file", "scenarios/output", "scenarios/run"}},
    {"scenarios/cli", {"scenarios/file", "scenarios/output", "scenarios/run", "scenarios/validate"}},
    {"scenarios/claims", {}},
};

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Headers that only some files may include.
bool MayUseLibrary(const std::string& file, const std::string& header) {
  if (header.starts_with("yaml-cpp/")) return EndsWith(file, "_yaml.cc");
  if (header.starts_with("boost/math/")) return file == "model/stats/deviates.cc";
  if (header.starts_with("boost/")) return file == "model/util/graph.cc" || file == "sim/bounds/min_cut.cc";
  if (header.starts_with("CLI/")) return file == "scenarios/cli/arguments.cc";
  if (header.starts_with("coin/")) return file == "sim/bounds/linear_program.cc";
  if (header.starts_with("nlohmann/")) return file.starts_with("reports/");
  if (header.starts_with("cuda") || header.starts_with("cudnn") || header.find("dnnl") != std::string::npos) {
    return file.starts_with("calibrate/");
  }
  if (header == "iostream") return file.starts_with("scenarios/");
  return true;
}

std::string RoomOf(const std::string& path) { return fs::path(path).parent_path(); }

bool RoomMayInclude(const std::string& file, const std::string& header) {
  const std::string from = RoomOf(file), to = RoomOf(header);
  if (from == to || from.find('/') == std::string::npos || header.ends_with(".inc")) return true;
  const auto row = kRoomMayInclude.find(from);
  return row != kRoomMayInclude.end() && row->second.count(to) != 0;
}

// What is wrong with one line of `file` (a path from the root), "" if nothing.
std::string Violation(const std::string& file, const std::string& line) {
  static const std::regex own_include("^\\s*#\\s*include\\s*\"([^\"/]*)(/?)([^\"]*)\".*");
  static const std::regex library_include("^\\s*#\\s*include\\s*<([^>]*)>.*");
  static const std::regex prints_or_exits(
      "(^|[^A-Za-z0-9_:.>])(std::|fmt::|::)?(cout|cerr|clog|printf|fprintf|puts|print|exit|_exit|_Exit|quick_exit|"
      "abort)\\b\\s*(\\(|<<).*");
  const std::string folder = file.substr(0, file.find('/'));
  const std::string code = line.substr(0, line.find("//"));
  std::smatch match;
  if (std::regex_match(code, match, own_include)) {
    if (match[2] != "/") return "includes must start at the root";
    const std::string header = match[1].str() + "/" + match[3].str();
    if (folder == "reports" && kShownResults.count(header) != 0) return "";
    if (match[1] != folder && kMayInclude.at(folder).count(match[1]) == 0) {
      return folder + "/ may not include " + match[1].str() + "/";
    }
    if (match[1] == folder && !RoomMayInclude(file, header)) return RoomOf(file) + "/ may not include " + header;
    return "";
  }
  if (std::regex_match(code, match, library_include)) {
    return MayUseLibrary(file, match[1]) ? "" : "<" + match[1].str() + "> is not for this file";
  }
  if (folder != "scenarios" && std::regex_search(code, prints_or_exits)) return "the library neither prints nor exits";
  return "";
}

std::vector<std::string> SourceFiles() {
  std::vector<std::string> files;
  for (const auto& [folder, unused] : kMayInclude) {
    const fs::path root = SPILLWAY_SOURCE_DIR;
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension();
      if (extension == ".h" || extension == ".cc" || extension == ".inc")
        files.push_back(entry.path().lexically_relative(root));
    }
  }
  return files;
}

}  // namespace

TEST_CASE("every source file keeps to its layer") {
  std::vector<std::string> files = SourceFiles();
  REQUIRE(files.size() >= 10);
  for (const std::string& file : files) {
    std::ifstream stream(fs::path(SPILLWAY_SOURCE_DIR) / file);
    std::string line;
    for (int number = 1; std::getline(stream, line); ++number) {
      std::string violation = Violation(file, line);
      if (!violation.empty()) FAIL_CHECK(file << ":" << number << ": " << violation << ": " << line);
    }
  }
}

TEST_CASE("rooms include each other in one direction") {
  std::set<std::string> done;
  // REQUIRES: `path` are the rooms on the way from the first one asked about.
  const std::function<void(const std::string&, std::vector<std::string>)> visit = [&](const std::string& room,
                                                                                      std::vector<std::string> path) {
    INFO(room);
    REQUIRE(std::find(path.begin(), path.end(), room) == path.end());
    if (!done.insert(room).second) return;
    path.push_back(room);
    for (const std::string& next : kRoomMayInclude.at(room)) visit(next, path);
  };
  for (const auto& [room, unused] : kRoomMayInclude) {
    done.clear();
    visit(room, {});
  }
}

TEST_CASE("every room has a row, and no row has an arrow that nobody follows") {
  std::map<std::string, std::set<std::string>> followed;
  static const std::regex own_include("^\\s*#\\s*include\\s*\"([^\"]*)\".*");
  for (const std::string& file : SourceFiles()) {
    const std::string room = RoomOf(file);
    if (room.find('/') == std::string::npos) continue;
    std::set<std::string>& arrows = followed[room];
    std::ifstream stream(fs::path(SPILLWAY_SOURCE_DIR) / file);
    std::smatch match;
    for (std::string line; std::getline(stream, line);) {
      if (!std::regex_match(line, match, own_include)) continue;
      const std::string header = match[1], to = RoomOf(header);
      if (to == room || header.ends_with(".inc")) continue;
      if (header.substr(0, header.find('/')) == room.substr(0, room.find('/'))) arrows.insert(to);
    }
  }
  for (const auto& [room, arrows] : followed) {
    INFO(room);
    const auto row = kRoomMayInclude.find(room);
    REQUIRE(row != kRoomMayInclude.end());
    CHECK(std::vector<std::string>(arrows.begin(), arrows.end()) ==
          std::vector<std::string>(row->second.begin(), row->second.end()));
  }
  CHECK(followed.size() == kRoomMayInclude.size());
}

TEST_CASE("every source file includes its own header first, so that the header is known to stand alone") {
  const std::regex include("^\\s*#\\s*include\\s*[\"<]([^\">]*)[\">].*");
  int pairs = 0;
  for (const std::string& file : SourceFiles()) {
    const fs::path header = fs::path(file).replace_extension(".h");
    if (!EndsWith(file, ".cc") || !fs::exists(fs::path(SPILLWAY_SOURCE_DIR) / header)) continue;
    std::ifstream stream(fs::path(SPILLWAY_SOURCE_DIR) / file);
    std::string line;
    std::smatch match;
    while (std::getline(stream, line) && !std::regex_match(line, match, include)) continue;
    INFO(file);
    CHECK(match[1] == header.string());
    ++pairs;
  }
  CHECK(pairs > 50);
}

// Types that a file defines for all to see, with their namespace: at the beginning of a line, outside of namespaces
// without a name.
std::vector<std::string> PublicTypes(std::istream& stream) {
  static const std::regex definition("^(struct|class|enum class) (\\w+)\\b(?!::)[^;]*\\{.*");
  static const std::regex space("^namespace ([\\w:]+) \\{.*");
  std::vector<std::string> types;
  std::string line, inside;
  std::smatch match;
  for (bool hidden = false; std::getline(stream, line);) {
    if (std::regex_match(line, match, space)) inside = match[1].str() + "::";
    if (line == "namespace {") hidden = true;
    if (line == "}  // namespace") hidden = false;
    if (!hidden && std::regex_match(line, match, definition)) types.push_back(inside + match[2].str());
  }
  return types;
}

TEST_CASE("a type's name is used once, or one program would mix up two types") {
  std::map<std::string, std::set<std::string>> places;
  std::vector<std::string> files = SourceFiles();
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(SPILLWAY_SOURCE_DIR) / "tests")) {
    if (entry.path().extension() == ".h") files.push_back(entry.path().lexically_relative(SPILLWAY_SOURCE_DIR));
  }
  for (const std::string& file : files) {
    std::ifstream stream(fs::path(SPILLWAY_SOURCE_DIR) / file);
    // x.h and x.cc are one place.
    const std::string folder = fs::path(file).parent_path().string();
    for (const std::string& type : PublicTypes(stream))
      places[type].insert(folder + "/" + fs::path(file).stem().string());
  }
  CHECK(places.size() > 200);
  for (const auto& [type, files_of] : places) {
    INFO(type);
    for (const std::string& file : files_of) UNSCOPED_INFO(file);
    CHECK(files_of.size() == 1);
  }
}

// The names of what a file defines outside of namespaces without a name; `definition` matches its first line.
std::vector<std::string> Defined(std::istream& stream, const std::regex& definition) {
  std::vector<std::string> names;
  std::string line;
  std::smatch match;
  for (bool hidden = false; std::getline(stream, line);) {
    if (line == "namespace {") hidden = true;
    if (line == "}  // namespace") hidden = false;
    if (!hidden && std::regex_match(line, match, definition)) names.push_back(match[1]);
  }
  return names;
}

TEST_CASE("what a file adds to a table is listed there, or nobody could ask for it") {
  // A folder, and what its files define for its table.inc. What is listed and not defined does not link.
  const std::map<std::string, std::regex> tables = {
      {"sim/strategies", std::regex("Planned (\\w+)\\(const Problem& problem\\) .*")},
      {"model/layers", std::regex("const LayerKind (k\\w+)(?:\\{| =).*")},
      {"model/kernels", std::regex("KernelForm (\\w+)\\(\\) .*")},
      {"scenarios/cli", std::regex("Verb (\\w+)\\(\\) .*")},
      {"reports", std::regex("(?:std::string|void) (\\w+)\\(const (?:ResultSet& results|PointDetail& point)(?:, const "
                             "TextSink& sink)?\\) .*")},
      {"model/zoo", std::regex("Network (\\w+)\\((?:int \\w+, )?const ZooOptions& options\\) .*")},
  };
  for (const auto& [folder, definition] : tables) {
    const fs::path root = fs::path(SPILLWAY_SOURCE_DIR) / folder;
    std::ifstream table_file(root / "table.inc");
    const std::string table(std::istreambuf_iterator<char>(table_file), {});
    std::size_t defined = 0;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (entry.path().extension() != ".cc") continue;
      std::ifstream stream(entry.path());
      for (const std::string& name : Defined(stream, definition)) {
        INFO(entry.path() << " defines " << name);
        CHECK(std::regex_search(table, std::regex("\\b" + name + "\\b")));
        ++defined;
      }
    }
    INFO(folder);
    CHECK(defined >= 7);
  }
}

TEST_CASE("what is one of a kind stays so: hashes, random numbers, quantiles, what follows from a tensor's class") {
  struct Rule {
    std::regex words;
    std::set<std::string> files;  // where they may stand
  };
  const auto icase = std::regex::icase;
  const std::vector<Rule> rules = {
      // own_kernels.h: for nvcc, whose C++ is an older one.
      {std::regex("9e3779b97f4a7c15|bf58476d1ce4e5b9|cbf29ce484222325|100000001b3|1099511628211", icase),
       {"model/util/hash.h", "calibrate/devices/cuda/plugin/own_kernels.h"}},
      {std::regex("mt19937|minstd_rand|random_device|std::rand\\b|drand48"), {}},
      // timer.cc: of pairs, by the time between them. workspace_division.cc: so many of the best, no quantile.
      {std::regex("nth_element"),
       {"model/stats/quantile.cc", "calibrate/devices/cuda/timer.cc", "sim/strategies/ucudnn/workspace_division.cc"}},
      // values.cc: what a parameter begins as. model/recorded/: who else makes steps.
      {std::regex("TensorClass::k(Parameter|OptimizerState|Auxiliary)\\b"),
       {"model/step/tensor.h", "model/step/tensor.cc", "model/unroll/step_writer.cc", "calibrate/ops/values.cc",
        "model/recorded/graph_step.cc", "model/recorded/holds.cc", "model/recorded/recorded_step.cc"}},
  };
  std::vector<int> found(rules.size(), 0);
  for (const std::string& file : SourceFiles()) {
    std::ifstream stream(fs::path(SPILLWAY_SOURCE_DIR) / file);
    std::string line;
    for (int number = 1; std::getline(stream, line); ++number) {
      for (std::size_t k = 0; k < rules.size(); ++k) {
        if (!std::regex_search(line, rules[k].words)) continue;
        ++found[k];
        if (rules[k].files.count(file) == 0) FAIL_CHECK(file << ":" << number << ": " << line);
      }
    }
  }
  for (std::size_t k = 0; k < rules.size(); ++k) CHECK((found[k] > 0) == !rules[k].files.empty());
}

TEST_CASE("includes against the layers are found") {
  CHECK(Violation("hw/machine/figures.cc", "#include \"model/step/tensor.h\"") == "hw/ may not include model/");
  CHECK(Violation("reports/table.cc", "#include \"scenarios/file/scenario.h\"") ==
        "reports/ may not include scenarios/");
  CHECK(Violation("calibrate/fit/fit.cc", "#include \"reports/csv.h\"") == "calibrate/ may not include reports/");
  CHECK(Violation("sim/program/lower/lower.cc", "#include \"lower.h\"") == "includes must start at the root");
  CHECK(Violation("sim/strategies/pooch/pooch.cc", "#include \"sim/planning/strategy.h\"") == "");
  CHECK(Violation("scenarios/main.cc", "#include \"reports/csv.h\"  // NOLINT") == "");
  CHECK(Violation("calibrate/devices/cpu/backend.cc", "#include \"calibrate/devices/cuda/load.h\"") ==
        "calibrate/devices/cpu/ may not include calibrate/devices/cuda/load.h");
  CHECK(Violation("scenarios/run/run.h", "#include \"scenarios/cli/command.h\"") ==
        "scenarios/run/ may not include scenarios/cli/command.h");
  CHECK(Violation("scenarios/run/run.h", "#include \"scenarios/output/console.h\"") == "");
  CHECK(Violation("reports/tables/validation.h", "#include \"calibrate/validate/results.h\"") == "");
  CHECK(Violation("reports/rows/result_row.h", "#include \"reports/tables/text.h\"") ==
        "reports/rows/ may not include reports/tables/text.h");
}

TEST_CASE("libraries stay in their files") {
  CHECK(Violation("hw/text/document.h", "#include <yaml-cpp/yaml.h>") == "<yaml-cpp/yaml.h> is not for this file");
  CHECK(Violation("hw/text/document_yaml.cc", "#include <yaml-cpp/yaml.h>") == "");
  CHECK(Violation("sim/program/layout/layout.cc", "#include <boost/graph/adjacency_list.hpp>") != "");
  CHECK(Violation("model/util/graph.cc", "#include <boost/graph/adjacency_list.hpp>") == "");
  CHECK(Violation("scenarios/scenario.cc", "#include <CLI/CLI.hpp>") != "");
  CHECK(Violation("sim/verify/verify.cc", "#include <iostream>") != "");
  CHECK(Violation("sim/verify/verify.cc", "#include <vector>") == "");
}

TEST_CASE("printing and leaving are found outside the command line") {
  for (const char* line : {"  std::cout << 1;", "  printf(\"x\");", "  std::exit(1);", "  fmt::print(\"x\");",
                           "  if (bad) abort();", "  std::cerr << name;"}) {
    INFO(line);
    CHECK(Violation("sim/verify/verify.cc", line) == "the library neither prints nor exits");
    CHECK(Violation("scenarios/main.cc", line) == "");
  }
  for (const char* line : {"// printf(\"x\")", "  text += Print(row);", "  snprintf(buffer, 8, \"x\");",
                           "  printer.print(row);", "  int exit = 1;"}) {
    INFO(line);
    CHECK(Violation("sim/verify/verify.cc", line) == "");
  }
}
