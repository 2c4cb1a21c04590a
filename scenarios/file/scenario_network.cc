// Reading `network:`: a map {zoo or file, image, frames, classes, precision, optimizer, batch}, or a list of such. Lists in one are swept.
#include <fmt/format.h>

#include <algorithm>

#include "hw/text/lists.h"
#include "model/network/network.h"
#include "model/network/optimizer.h"
#include "model/network/precision.h"
#include "model/recorded/recorded_step.h"
#include "model/zoo/zoo.h"
#include "scenarios/file/list_reader.h"
#include "scenarios/file/scenario_reader.h"

namespace spillway {

namespace {

constexpr std::size_t kMostNetworks = 1000;

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

std::vector<std::int64_t> OrUsual(const std::vector<std::int64_t>& values) {
  return values.empty() ? std::vector<std::int64_t>{0} : values;
}

std::int64_t Largest(const std::vector<std::int64_t>& batch) {
  return batch.empty() ? 1 : *std::max_element(batch.begin(), batch.end());
}

// The names of a table's rows, or none of them where the key is absent.
template <typename Table>
std::vector<std::string> ReadRows(MapReader& reader, std::string_view key, const Table& table,
                                  Diagnostics& diagnostics) {
  const auto rows = ReadAxis(reader, key, false, diagnostics, [&table](MapReader& r, std::string_view k) {
    const std::vector<std::string> names = NamesOf(table);
    const int choice = r.ChoiceOr(k, names, -1);
    return choice < 0 ? "" : names[static_cast<std::size_t>(choice)];
  });
  return rows.empty() ? std::vector<std::string>{""} : rows;
}

Mark MarkOf(const Node& map, std::string_view key) {
  const Node* value = map.Find(key);
  return value != nullptr ? value->mark : map.mark;
}

class NetworkReader {
 public:
  NetworkReader(const std::string& file, ScenarioErrors& errors) : file_(file), errors_(errors) {}

  std::vector<NetworkChoice> Read(const Node& node) {
    if (node.IsSequence()) {
      if (node.items.empty()) errors_.own.Error(node.mark, "network: the list is empty");
      for (const Node& item : node.items) ReadOne(item);
    } else {
      ReadOne(node);
    }
    return std::move(networks_);
  }

 private:
  void ReadOne(const Node& node) {
    MapReader reader(node, errors_.own, "network", NetworkChoiceKeys());
    const auto zoo = ReadAxis(reader, "zoo", false, errors_.own,
                              [](MapReader& r, std::string_view key) { return r.RequiredString(key); });
    const std::string file = reader.StringOr("file", "");
    auto image = ReadAxis(reader, "image", false, errors_.own,
                          [this](MapReader& r, std::string_view key) { return ReadImageSize(r, key, errors_.own); });
    if (image.empty()) image.push_back({});
    const auto frames = OrUsual(ReadAxis(reader, "frames", false, errors_.own, IntegerFromOne(kMostPixels)));
    const auto classes = OrUsual(ReadAxis(reader, "classes", false, errors_.own, IntegerFromOne(kMostClasses)));
    precisions_ = ReadRows(reader, "precision", PrecisionTable(), errors_.own);
    optimizers_ = ReadRows(reader, "optimizer", OptimizerTable(), errors_.own);
    const std::string graph = reader.StringOr("graph", "");
    const auto batch = ReadAxis(reader, "batch", graph.empty(), errors_.own, IntegerFromOne(kMostBatch));
    reader.Finish();
    if (!node.IsMap()) return;
    if (static_cast<int>(!zoo.empty()) + static_cast<int>(!file.empty()) + static_cast<int>(!graph.empty()) != 1) {
      errors_.own.Error(node.mark, "network: give exactly one of zoo (a name), file and graph (paths)");
    }
    if (!graph.empty()) AddGraph(node, graph);
    if (!file.empty()) AddFile(node, file, batch);
    if (zoo.size() * image.size() * frames.size() * classes.size() * precisions_.size() * optimizers_.size() >
        kMostNetworks) {
      return errors_.own.Error(node.mark, fmt::format("network: more than {} combinations", kMostNetworks));
    }
    for (const std::string& name : zoo) {
      for (const ImageSize& i : image) {
        for (const std::int64_t f : frames) {
          for (const std::int64_t c : classes) {
            AddZoo({name, "", "", nullptr, i.height, i.width, f, c, batch, MarkOf(node, "zoo")});
          }
        }
      }
    }
  }

  // The network is built once, with its largest batch: names and sizes that it cannot take show up here.
  void AddZoo(const NetworkChoice& choice) {
    if (choice.zoo.empty()) return;
    try {
      BuildZooNetwork(choice.zoo, ZooOptionsOf(choice, Largest(choice.batch)));
    } catch (const UserError& error) {
      for (const std::string& message : error.messages()) errors_.own.Error(choice.mark, message);
    }
    AddTrained(choice);
  }

  // In every precision, with every optimizer.
  void AddTrained(NetworkChoice choice) {
    for (const std::string& precision : precisions_) {
      for (const std::string& optimizer : optimizers_) {
        choice.precision = precision;
        choice.optimizer = optimizer;
        networks_.push_back(choice);
      }
    }
  }

  void AddFile(const Node& node, const std::string& file, const std::vector<std::int64_t>& batch) {
    for (const char* key : {"image", "frames", "classes"}) {
      if (const Node* value = node.Find(key)) {
        errors_.own.Error(value->mark, fmt::format("{}: only for networks of the zoo; '{}' states its own", key, file));
      }
    }
    NetworkChoice choice;
    choice.file = RelativeTo(file_, file);
    choice.batch = batch;
    choice.mark = MarkOf(node, "file");
    errors_.LoadOther(choice.mark, choice.file, [&] {
      const Network network = LoadNetwork(choice.file, Largest(choice.batch));
      if (network.precision == nullptr || precisions_.front().empty()) return;
      errors_.own.Error(MarkOf(node, "precision"),
                        fmt::format("precision: '{}' states its own, {}", file, network.precision->name));
    });
    AddTrained(choice);
  }

  void AddGraph(const Node& node, const std::string& graph) {
    for (const char* key : {"image", "frames", "classes", "precision", "optimizer", "batch"}) {
      if (const Node* value = node.Find(key)) {
        errors_.own.Error(value->mark, fmt::format("{}: not for a recorded step; '{}' is what it is", key, graph));
      }
    }
    NetworkChoice choice;
    choice.graph = RelativeTo(file_, graph);
    choice.batch = {1};
    choice.mark = MarkOf(node, "graph");
    errors_.LoadOther(choice.mark, choice.graph, [&] {
      choice.recorded = LoadRecordedStep(choice.graph);
      choice.batch = {choice.recorded->step.batch};
    });
    networks_.push_back(std::move(choice));
  }

  const std::string& file_;
  ScenarioErrors& errors_;
  std::vector<NetworkChoice> networks_;
  std::vector<std::string> precisions_, optimizers_;  // of the map that is being read; "": none is given
};

}  // namespace

ZooOptions ZooOptionsOf(const NetworkChoice& choice, std::int64_t batch) {
  return {
      .batch = batch, .image = choice.image, .width = choice.width, .frames = choice.frames, .classes = choice.classes};
}

std::vector<NetworkChoice> ReadNetworks(MapReader& reader, const std::string& file, ScenarioErrors& errors) {
  const Node* node = reader.Required("network");
  if (node == nullptr) return {};
  return NetworkReader(file, errors).Read(*node);
}

}  // namespace spillway
