// Reading a scenario file. Every mistake is reported with its place and reading goes on.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "hw/machine.h"
#include "model/network.h"
#include "scenarios/list_reader.h"
#include "scenarios/scenario.h"
#include "scenarios/scenario_reader.h"
#include "sim/strategy.h"

namespace spillway {

namespace {

constexpr std::int64_t kMostPixels = 100'000;
constexpr std::size_t kMostNetworks = 1000;
constexpr double kMostPoints = 100'000;
constexpr std::int64_t kMostClasses = 10'000'000;

template <typename Table>
std::vector<std::string> NamesOf(const Table& table) {
  std::vector<std::string> names;
  for (const auto& entry : table) names.emplace_back(entry.name);
  return names;
}

struct ImageSize {
  std::int64_t height = 0, width = 0;  // width 0: the same
};

// "224" or "448x224".
ImageSize ReadImageSize(MapReader& reader, std::string_view key, Diagnostics& diagnostics) {
  const Node* node = reader.Optional(key);
  const auto cross = node != nullptr && node->IsScalar() ? node->scalar.find('x') : std::string::npos;
  if (cross == std::string::npos) return {reader.RequiredInteger(key, 1, kMostPixels), 0};
  const std::string_view text = node->scalar;
  const auto height = ParseInteger(text.substr(0, cross));
  const auto width = ParseInteger(text.substr(cross + 1));
  const auto good = [](const auto& size) { return size && *size >= 1 && *size <= kMostPixels; };
  if (good(height) && good(width)) return {*height, *width};
  diagnostics.Error(node->mark, fmt::format("{}: expected a size such as 224, or height x width such as 448x224, "
                                            "found '{}'",
                                            key, text));
  return {};
}

auto IntegerFromOne(std::int64_t max) {
  return [max](MapReader& r, std::string_view key) { return r.RequiredInteger(key, 1, max); };
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
    MapReader reader(document_.root, errors_.own, "scenario");
    Scenario s;
    s.file = document_.file;
    s.name = reader.RequiredString("name");
    ReadNetworks(reader, s);
    s.machines = ReadMachines(reader, document_.file, errors_);
    for (const Node* item : ItemsOf(reader, "strategies", true, errors_.own)) {
      s.strategies.push_back(ReadStrategy(*item));
    }
    s.options = ReadOptions(reader);
    s.runtimes = ReadRuntimes(reader, errors_.own);
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

  void CheckOneRate(const Scenario& s) {
    if (s.link == std::vector<double>{0}) return;
    for (const Emulation& emulation : s.emulate) {
      if (emulation.link_rate == 0) continue;
      errors_.own.Error(emulation.mark, "emulate: link_rate and link: are the same link; give one of them");
    }
  }

  void ReadNetworks(MapReader& reader, Scenario& s) {
    const Node* node = reader.Required("network");
    if (node == nullptr) return;
    if (!node->IsSequence()) return ReadNetwork(*node, s);
    if (node->items.empty()) errors_.own.Error(node->mark, "network: the list is empty");
    for (const Node& item : node->items) ReadNetwork(item, s);
  }

  void ReadNetwork(const Node& node, Scenario& s) {
    MapReader reader(node, errors_.own, "network");
    const auto zoo = ReadAxis(reader, "zoo", false, errors_.own,
                              [](MapReader& r, std::string_view key) { return r.RequiredString(key); });
    const std::string file = reader.StringOr("file", "");
    auto image = ReadAxis(reader, "image", false, errors_.own,
                          [this](MapReader& r, std::string_view key) { return ReadImageSize(r, key, errors_.own); });
    if (image.empty()) image.push_back({});
    const auto frames = OrUsual(ReadAxis(reader, "frames", false, errors_.own, IntegerFromOne(kMostPixels)));
    const auto classes = OrUsual(ReadAxis(reader, "classes", false, errors_.own, IntegerFromOne(kMostClasses)));
    const auto batch = ReadAxis(reader, "batch", true, errors_.own, IntegerFromOne(kMostBatch));
    reader.Finish();
    if (!node.IsMap()) return;
    if (zoo.empty() == file.empty()) {
      errors_.own.Error(node.mark, "network: give exactly one of zoo (a name) and file (a path)");
    }
    if (!file.empty()) AddFile(node, file, batch, s);
    if (zoo.size() * image.size() * frames.size() * classes.size() > kMostNetworks) {
      return errors_.own.Error(node.mark, fmt::format("network: more than {} combinations", kMostNetworks));
    }
    for (const std::string& name : zoo) {
      for (const ImageSize& i : image) {
        for (const std::int64_t f : frames) {
          for (const std::int64_t c : classes) {
            AddZoo({name, "", i.height, i.width, f, c, batch, MarkOf(node, "zoo")}, s);
          }
        }
      }
    }
  }

  static std::vector<std::int64_t> OrUsual(const std::vector<std::int64_t>& values) {
    return values.empty() ? std::vector<std::int64_t>{0} : values;
  }
  static std::int64_t Largest(const std::vector<std::int64_t>& batch) {
    return batch.empty() ? 1 : *std::max_element(batch.begin(), batch.end());
  }
  static Mark MarkOf(const Node& map, std::string_view key) {
    const Node* value = map.Find(key);
    return value != nullptr ? value->mark : map.mark;
  }

  // The network is built once, with its largest batch: names and sizes that it cannot take show up here.
  void AddZoo(NetworkChoice choice, Scenario& s) {
    if (choice.zoo.empty()) return;
    try {
      BuildZooNetwork(choice.zoo, ZooOptionsOf(choice, Largest(choice.batch)));
    } catch (const UserError& error) {
      for (const std::string& message : error.messages()) errors_.own.Error(choice.mark, message);
    }
    s.networks.push_back(std::move(choice));
  }

  void AddFile(const Node& node, const std::string& file, const std::vector<std::int64_t>& batch, Scenario& s) {
    for (const char* key : {"image", "frames", "classes"}) {
      if (const Node* value = node.Find(key)) {
        errors_.own.Error(value->mark, fmt::format("{}: only for networks of the zoo; '{}' states its own", key, file));
      }
    }
    NetworkChoice choice;
    choice.file = RelativeTo(document_.file, file);
    choice.batch = batch;
    choice.mark = MarkOf(node, "file");
    errors_.LoadOther(choice.mark, choice.file, [&] { LoadNetwork(choice.file, Largest(choice.batch)); });
    s.networks.push_back(std::move(choice));
  }

  StrategyChoice ReadStrategy(const Node& item) {
    StrategyChoice choice;
    choice.mark = item.mark;
    const char* hint = "spillway list strategies";
    if (!item.IsMap()) {
      choice.name = ReadName(item, "strategy", StrategyNames(), hint, errors_.own);
      return choice;
    }
    MapReader reader(item, errors_.own, "strategy");
    if (const Node* name = reader.Required("strategy")) {
      choice.name = ReadName(*name, "strategy", StrategyNames(), hint, errors_.own);
    }
    if (const Node* machine = reader.Required("planned_on")) {
      choice.planned_on = ReadMachineName(*machine, document_.file, errors_);
    }
    reader.Finish();
    return choice;
  }

  std::vector<std::string> ReadOptions(MapReader& reader) {
    std::vector<std::string> values;
    for (const Node* item : ItemsOf(reader, "options", false, errors_.own)) {
      values.push_back(ReadName(*item, "options", OptionNames(), "", errors_.own));
    }
    return values.empty() ? std::vector<std::string>{"plain"} : values;
  }

  void ReadFigures(MapReader& reader, Scenario& s) {
    const auto bytes = [this](MapReader& r, std::string_view key) { return PositiveBytes(r, key, errors_.own); };
    s.memory = ReadAxis(reader, "memory", false, errors_.own, bytes);
    s.usable_memory = ReadAxis(reader, "usable_memory", false, errors_.own, bytes);
    s.workspace = ReadAxis(reader, "workspace", false, errors_.own, bytes);
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
    if (s.workspace.empty()) s.workspace.push_back(0);
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
  if (!std::filesystem::is_regular_file(path)) return own.Error(mark, fmt::format("there is no file '{}'", path));
  try {
    load();
  } catch (const UserError& error) {
    for (const std::string& message : error.messages()) {
      if (std::find(other_files.begin(), other_files.end(), message) == other_files.end()) {
        other_files.push_back(message);
      }
    }
  }
}

std::string ReadName(const Node& item, const std::string& what, const std::vector<std::string>& names,
                     const std::string& hint, Diagnostics& diagnostics) {
  if (!item.IsScalar()) {
    diagnostics.Error(item.mark, what + ": expected a name");
    return "";
  }
  if (std::find(names.begin(), names.end(), item.scalar) == names.end()) {
    const std::string how = hint.empty() ? fmt::format(" (one of {})", fmt::join(names, ", ")) : " (" + hint + ")";
    diagnostics.Error(item.mark,
                      fmt::format("unknown {} '{}'{}{}", what, item.scalar, DidYouMean(item.scalar, names), how));
  }
  return item.scalar;
}

std::string StrategyChoice::Label() const { return planned_on.empty() ? name : name + "@" + planned_on; }

ZooOptions ZooOptionsOf(const NetworkChoice& choice, std::int64_t batch) {
  return {
      .batch = batch, .image = choice.image, .width = choice.width, .frames = choice.frames, .classes = choice.classes};
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

Scenario ReadScenario(const Document& document) {
  ScenarioErrors errors(document);
  Scenario scenario = ScenarioReader(document, errors).Read();
  errors.ThrowIfAny();
  return scenario;
}

Scenario LoadScenario(const std::string& path) { return ReadScenario(LoadDocument(path)); }

}  // namespace spillway
