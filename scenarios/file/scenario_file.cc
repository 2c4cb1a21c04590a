// Reading a scenario file. Every mistake is reported with its place and reading goes on.
#include <fmt/format.h>

#include <filesystem>

#include "hw/machine/shipped.h"
#include "hw/text/file_kind.h"
#include "hw/text/lists.h"
#include "model/network/network.h"
#include "model/profile/machine.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "scenarios/file/list_reader.h"
#include "scenarios/file/scenario.h"
#include "scenarios/file/scenario_reader.h"
#include "sim/plan/runtime.h"
#include "sim/strategies/strategies.h"

namespace spillway {

namespace {

std::vector<StepOptions> TimedOptions() {
  std::vector<StepOptions> timed;
  for (const StepOptions& options : StepOptionTable()) {
    if (options.framework_time > 0) timed.push_back(options);
  }
  return timed;
}

// 0 when the value is bad: it was complained about then.
Bytes PositiveBytes(MapReader& reader, std::string_view key, Diagnostics& diagnostics) {
  const Node* node = reader.Optional(key);
  const Bytes bytes = reader.RequiredBytes(key);
  if (bytes == 0 && node != nullptr && ParseBytes(node->scalar)) {
    diagnostics.Error(node->mark, std::string(key) + ": must be more than zero");
  }
  return bytes;
}

class ScenarioReader {
 public:
  ScenarioReader(const Document& document, ScenarioErrors& errors) : document_(document), errors_(errors) {}

  Scenario Read() {
    MapReader reader(document_.root, errors_.own, "scenario", ScenarioKeys());
    Scenario s;
    s.file = document_.file;
    s.name = reader.RequiredString("name");
    s.networks = ReadNetworks(reader, document_.file, errors_);
    s.machines = ReadMachines(reader, document_.file, errors_);
    s.strategies = ReadStrategies(reader, document_.file, errors_);
    s.options = ReadOptions(reader);
    s.runtimes = ReadRuntimes(reader, errors_.own);
    ReadFramework(reader, s);
    CheckFrameworks(s);
    ReadFigures(reader, s);
    s.emulate = ReadEmulations(reader, errors_.own);
    CheckOneRate(s);
    ReadExpectations(reader, s.name, errors_.own, s.expectations);
    reader.Finish();
    CheckSize(s);
    return s;
  }

 private:
  void CheckSize(const Scenario& s) {
    double batches = 0;
    for (const NetworkChoice& network : s.networks) batches += static_cast<double>(network.batch.size());
    double points = batches;
    for (const std::size_t size :
         {s.machines.size(), s.strategies.size(), s.options.size(), s.runtimes.size(), s.memory.size(),
          s.usable_memory.size(), s.workspace.size(), s.link.size(), s.emulate.size()}) {
      points *= static_cast<double>(size);
    }
    if (points > kMostPoints) {
      errors_.own.Error(
          {}, fmt::format("the lists multiply to {:.0f} points; at most {:.0f} are run", points, kMostPoints));
    }
  }

  // What is not known of a framework is not nothing.
  void CheckFrameworks(const Scenario& s) {
    for (const RuntimeChoice& runtime : s.runtimes) {
      for (const StepOptions& options : StepOptionTable()) {
        const bool taken = Contains(s.options, options.name);
        if (!runtime.framework_of_options || !taken || options.framework_time > 0) continue;
        errors_.own.Error(runtime.framework_mark,
                          fmt::format("framework: no framework_time is known of the options '{}', of {} it is; give "
                                      "other options, or framework_time in its place",
                                      options.name, fmt::join(NamesOf(TimedOptions()), ", ")));
      }
    }
  }

  void CheckOneRate(const Scenario& s) {
    if (s.link == std::vector<double>{0}) return;
    for (const Emulation& emulation : s.emulate) {
      if (emulation.link_rate == 0) continue;
      errors_.own.Error(emulation.mark, "emulate: link_rate and link: are the same link; give one of them");
    }
  }

  std::vector<std::string> ReadOptions(MapReader& reader) {
    std::vector<std::string> values;
    for (const Node* item : ItemsOf(reader, "options", false, errors_.own)) {
      values.push_back(ReadName(*item, "options", OptionNames(), "", errors_.own));
    }
    return values.empty() ? std::vector<std::string>{"plain"} : values;
  }

  // One key says all: the options, and a runtime with the framework's waits and its host's time.
  void ReadFramework(MapReader& reader, Scenario& s) {
    std::vector<std::string> names;
    for (const Node* item : ItemsOf(reader, "framework", false, errors_.own)) {
      names.push_back(ReadName(*item, "framework", FrameworkNames(), "", errors_.own));
    }
    if (names.empty()) return;
    for (const char* other : {"options", "runtime"}) {
      reader.Check(reader.Optional(other) == nullptr, "framework",
                   fmt::format("sets options and runtime, and {}: is there too; give one of them", other));
    }
    s.options = std::move(names);
    s.runtimes = {{.name = "framework",
                   .runtime = RuntimeByName("arena"),
                   .framework_of_options = true,
                   .framework_mark = reader.MarkOf("framework")}};
  }

  void ReadFigures(MapReader& reader, Scenario& s) {
    const auto bytes = [this](MapReader& r, std::string_view key) { return PositiveBytes(r, key, errors_.own); };
    s.memory = ReadAxis(reader, "memory", false, errors_.own, bytes);
    s.memory_mark = reader.MarkOf("memory");
    s.usable_memory = ReadAxis(reader, "usable_memory", false, errors_.own, bytes);
    s.workspace = ReadAxis(reader, "workspace", false, errors_.own,
                           [](MapReader& r, std::string_view key) { return r.RequiredBytes(key); });
    s.link = ReadAxis(reader, "link", false, errors_.own, [this](MapReader& r, std::string_view key) {
      const double rate = r.RequiredBandwidth(key);
      const Node* node = r.Optional(key);
      if (rate <= 0 && node != nullptr && ParseBandwidth(node->scalar)) {
        errors_.own.Error(node->mark, "link: must be more than zero");
      }
      return rate;
    });
    if (s.memory.empty()) s.memory.push_back(0);
    if (s.usable_memory.empty()) s.usable_memory.push_back(0);
    if (s.workspace.empty()) s.workspace.push_back(kGrantOfOptions);
    if (s.link.empty()) s.link.push_back(0);
  }

  const Document& document_;
  ScenarioErrors& errors_;
};

}  // namespace

void ScenarioErrors::ThrowIfAny() const {
  std::vector<std::string> all;
  try {
    own.ThrowIfAny();
  } catch (const UserError& error) {
    all = error.messages();
  }
  all.insert(all.end(), other_files.begin(), other_files.end());
  if (!all.empty()) throw UserError(std::move(all));
}

// Messages of a file that can be read carry that file's positions; that it cannot be found is said here.
void ScenarioErrors::LoadOther(Mark mark, const std::string& path, const std::function<void()>& load) {
  std::error_code why;
  if (const auto status = std::filesystem::status(path, why); !std::filesystem::is_regular_file(status)) {
    const bool folder = std::filesystem::is_directory(status);
    const bool there = status.type() == std::filesystem::file_type::none;  // a loop of links, a name that is too long
    if (there) return own.Error(mark, fmt::format("'{}' cannot be read: {}", path, why.message()));
    return own.Error(
        mark, fmt::format("{} '{}'", folder ? "a file is expected, found the folder" : "there is no file", path));
  }
  try {
    load();
  } catch (const UserError& error) {
    for (const std::string& message : error.messages()) {
      AddOnce(other_files, message);
    }
  }
}

std::string ReadName(const Node& item, const std::string& what, const std::vector<std::string>& names,
                     const std::string& hint, Diagnostics& diagnostics) {
  if (!item.IsScalar()) {
    diagnostics.Error(item.mark, what + ": expected a name");
    return "";
  }
  if (!Contains(names, item.scalar)) {
    const std::string how = hint.empty() ? fmt::format(" (one of {})", fmt::join(names, ", ")) : " (" + hint + ")";
    diagnostics.Error(item.mark,
                      fmt::format("unknown {} '{}'{}{}", what, item.scalar, DidYouMean(item.scalar, names), how));
  }
  return item.scalar;
}

std::string RelativeTo(const std::string& file, const std::string& path) {
  const std::filesystem::path given = path;
  if (given.is_absolute()) return path;
  return (std::filesystem::path(file).parent_path() / given).lexically_normal().string();
}

std::vector<std::string> ZooNames() { return NamesOf(Zoo()); }
std::vector<std::string> StrategyNames() { return NamesOf(Strategies()); }
std::vector<std::string> RuntimeNames() { return NamesOf(RuntimeTable()); }
std::vector<std::string> OptionNames() { return NamesOf(StepOptionTable()); }
std::vector<std::string> FrameworkNames() { return NamesOf(TimedOptions()); }

Scenario ReadScenario(const Document& document) {
  MustBeOfKind(FileKind::kScenario, document);
  ScenarioErrors errors(document);
  Scenario scenario = ScenarioReader(document, errors).Read();
  errors.ThrowIfAny();
  return scenario;
}

// A shipped scenario by its name, or by its path in the tree, from any folder.
Scenario LoadScenario(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status here = fs::status(path, error);
  const fs::path given = path, folder = given.parent_path();
  if (here.type() == fs::file_type::not_found && (folder.empty() || folder == "scenarios")) {
    fs::path shipped = fs::path(MachineFolder()).parent_path() / "scenarios" / given.filename();
    if (!shipped.has_extension()) shipped += ".yaml";
    if (fs::is_regular_file(shipped, error)) return ReadScenario(LoadDocument(shipped.string()));
  }
  return ReadScenario(LoadDocument(path));
}

}  // namespace spillway
