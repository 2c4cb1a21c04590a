// From a document to a RecordedGraph: keys, numbers and limits.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "model/kernels/kernel_form.h"
#include "model/profile/profile_text.h"
#include "model/recorded/recorded_graph.h"
#include "model/recorded/recorded_step.h"
#include "model/step/launch.h"

namespace spillway {

namespace {

constexpr std::size_t kLongestId = 200;
constexpr double kLongestTime = static_cast<double>(kMostRecordedTime);

bool IsIdCharacter(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || (c >= '0' && c <= '9') || std::string_view("_.:/+@#-[]").find(c) != std::string_view::npos;
}

class GraphReader {
 public:
  explicit GraphReader(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  RecordedGraph Read(const Node& root) {
    MapReader reader(root, diagnostics_, "recorded step", GraphKeys());
    graph_.name = reader.RequiredString("graph");
    CheckName(graph_.name, reader.MarkOf("graph"), true);
    graph_.samples = reader.IntegerOr("samples", 1, 1, 1'000'000'000);
    graph_.source = ReadSource(reader, diagnostics_);
    graph_.error = reader.RequiredNumber("error", 0, 10);
    graph_.shared_error = reader.NumberOr("shared_error", 0, 0, 10);
    reader.Check(graph_.shared_error <= graph_.error, "shared_error", "must not be larger than error");
    graph_.fixed_bytes = reader.IntegerOr("fixed_bytes", 0, 0, kMostRecordedBytes);
    AddBytes(graph_.fixed_bytes, reader.MarkOf("fixed_bytes"));
    graph_.about = ReadRecordedAbout(reader, diagnostics_);
    reader.Optional("more");  // RecordedKinds
    const Node* unseen = reader.Optional("unseen");
    const Node* varies = reader.Optional("varies");
    const Node* values = reader.Optional("values");
    const Node* nodes = reader.Required("nodes");
    reader.Finish();
    ForEachItem(values, "values", [this](const Node& node) { ReadValue(node); });
    if (nodes != nullptr && nodes->IsSequence() && nodes->items.empty()) {
      diagnostics_.Error(nodes->mark, "nodes: the list is empty");
    }
    ForEachItem(nodes, "nodes", [this](const Node& node) { ReadNode(node); });
    ReadIds(unseen, "unseen", graph_.unseen);
    ForEachItem(varies, "varies", [this](const Node& node) { ReadVarying(node); });
    return std::move(graph_);
  }

 private:
  template <typename Read>
  void ForEachItem(const Node* list, const char* key, const Read& read) {
    if (list == nullptr) return;
    if (!list->IsSequence()) return diagnostics_.Error(list->mark, fmt::format("{}: expected a list", key));
    if (list->items.size() > kMostRecordedNodes) {
      return diagnostics_.Error(
          list->mark, fmt::format("{}: expected at most {}, found {}", key, kMostRecordedNodes, list->items.size()));
    }
    for (const Node& item : list->items) read(item);
  }

  void CheckName(const std::string& name, Mark mark, bool spaces) {
    const bool good = std::all_of(name.begin(), name.end(),
                                  [spaces](char c) { return IsIdCharacter(c) || (spaces && (c == ' ' || c == ',')); });
    if (name.size() <= kLongestId && good && name != "start") return;
    diagnostics_.Error(mark,
                       fmt::format("'{}': expected up to {} letters, digits and _ . : / + @ # - [ ]{}; not 'start'",
                                   name.substr(0, 60), kLongestId, spaces ? " or spaces" : ""));
  }

  RecordedName ReadId(MapReader& reader, const char* key) {
    RecordedName name{reader.RequiredString(key), reader.MarkOf(key)};
    CheckName(name.id, name.mark, false);
    return name;
  }

  // Bytes and times in all are kept within what sums of them can hold; the first that is too much is reported.
  void AddBytes(Bytes bytes, Mark mark) {
    if (bytes_ > kMostRecordedBytes) return;
    bytes_ += bytes;
    if (bytes_ <= kMostRecordedBytes) return;
    diagnostics_.Error(mark, fmt::format("more than {} bytes up to here", kMostRecordedBytes));
  }

  Bytes ReadBytes(MapReader& reader) {
    const Bytes bytes = reader.RequiredInteger("bytes", 0, kMostRecordedBytes);
    AddBytes(bytes, reader.MarkOf("bytes"));
    return bytes;
  }

  void ReadValue(const Node& node) {
    MapReader reader(node, diagnostics_, "value", GraphValueKeys());
    RecordedValue value;
    value.name = ReadId(reader, "id");
    value.bytes = ReadBytes(reader);
    value.on_host = reader.ChoiceOr("where", GraphPlaceNames(), 0) == 1;
    value.use = reader.ChoiceOr("class", GraphValueClassNames(), -1);
    reader.StringOr("name", "");
    reader.Finish();
    graph_.values.push_back(std::move(value));
  }

  void ReadNode(const Node& item) {
    MapReader reader(item, diagnostics_, "node", GraphNodeKeys());
    RecordedNode node;
    node.name = ReadId(reader, "id");
    node.call.op = reader.RequiredString("op");
    node.call.module = reader.StringOr("module", "");
    constexpr Pass kPasses[] = {Pass::kForward, Pass::kBackward, Pass::kUpdate};
    node.pass = kPasses[reader.ChoiceOr("pass", GraphPassNames(), 0)];
    node.layer = reader.StringOr("layer", "");
    CheckName(node.layer, reader.MarkOf("layer"), false);
    ReadTimes(reader, node);
    node.recompute = reader.BoolOr("recompute", true);
    const bool random = reader.BoolOr("random", false), replay = reader.BoolOr("replay", false);
    reader.Check(random || !replay, "replay", "the node is not `random`");
    node.recompute = node.recompute && (!random || replay);
    if (node.recompute_differs && (!node.recompute || node.pass != Pass::kForward)) {
      diagnostics_.Error(reader.mark(),
                         "recompute_ns: expected of forward nodes that may run twice, found another node");
    }
    ReadArguments(reader, node);
    const Node* deps = reader.Optional("deps");
    const Node* also = reader.Optional("also");
    const Node* results = reader.Optional("results");
    reader.Finish();
    ReadIds(deps, "deps", node.deps);
    ReadIds(also, "also", node.also);
    ForEachItem(results, "results", [&](const Node& result) { ReadResult(result, node); });
    graph_.nodes.push_back(std::move(node));
  }

  void ReadArguments(MapReader& reader, RecordedNode& node) {
    RecordedArguments call{.op = node.call.op, .pass = node.pass, .precision = graph_.about.precision};
    call.inputs = ReadOperands(reader, "inputs");
    call.outputs = ReadOperands(reader, "outputs");
    const Node* scalars = reader.Optional("scalars");
    if (scalars != nullptr && !scalars->IsSequence()) diagnostics_.Error(scalars->mark, "scalars: expected a list");
    if (scalars != nullptr && scalars->IsSequence()) {
      for (const Node& scalar : scalars->items) call.scalars.push_back(scalar.IsScalar() ? scalar.scalar : "");
    }
    node.call.flops = FlopsOf(call.op, call.inputs, call.outputs);
    node.call.element_bytes = call.outputs.empty() ? 0 : ElementBytes(call.outputs.front().type);
    node.call.launches = LaunchesOfCall(call);
  }

  void ReadIds(const Node* list, const char* key, std::vector<RecordedName>& ids) {
    ForEachItem(list, key, [&](const Node& id) {
      if (!id.IsScalar()) return diagnostics_.Error(id.mark, fmt::format("{}: expected an id", key));
      ids.push_back({id.scalar, id.mark});
    });
  }

  std::vector<std::int64_t> ReadSizes(const Node* list, const char* key) {
    std::vector<std::int64_t> sizes;
    ForEachItem(list, key, [&](const Node& item) {
      const auto size = item.IsScalar() ? ParseInteger(item.scalar) : std::nullopt;
      if (size && *size >= 0 && *size <= kMostRecordedBytes) return sizes.push_back(*size);
      diagnostics_.Error(item.mark, fmt::format("{}: expected {}", key, WholeNumberFrom(0, kMostRecordedBytes)));
    });
    return sizes;
  }

  std::vector<RecordedOperand> ReadOperands(MapReader& reader, const char* key) {
    std::vector<RecordedOperand> operands;
    ForEachItem(reader.Optional(key), key, [&](const Node& item) {
      MapReader operand(item, diagnostics_, "operand", GraphOperandKeys());
      const Node* shape = operand.Required("shape");
      const Node* stride = operand.Optional("stride");
      const std::string type = operand.StringOr("type", "");
      operand.Finish();
      operands.push_back({.shape = ReadSizes(shape, "shape"), .strides = ReadSizes(stride, "stride"), .type = type});
      const RecordedOperand& read = operands.back();
      if (stride != nullptr && stride->IsSequence() && read.strides.size() != read.shape.size()) {
        diagnostics_.Error(stride->mark, fmt::format("stride: expected as many numbers as in shape, {}, found {}",
                                                     read.shape.size(), read.strides.size()));
      }
    });
    return operands;
  }

  void ReadVarying(const Node& node) {
    MapReader reader(node, diagnostics_, "argument that varies", GraphVaryingKeys());
    graph_.varying.push_back(ReadId(reader, "node"));
    reader.RequiredInteger("argument", 0, 1000);
    if (const Node* values = reader.Optional("values"); values != nullptr && !values->IsSequence()) {
      diagnostics_.Error(values->mark, "values: expected a list");
    }
    reader.Finish();
  }

  void ReadTimes(MapReader& reader, RecordedNode& node) {
    const Node* ways = reader.Optional("ways");
    if (ways == nullptr) {
      node.ways.push_back(ReadWay(reader, node));
      return;
    }
    for (const char* key : {"ns", "workspace", "recompute_ns"}) {
      if (const Node* other = reader.Optional(key)) {
        diagnostics_.Error(other->mark, fmt::format("'{}' besides 'ways': give either the one or the other", key));
      }
    }
    ForEachItem(ways, "ways", [&](const Node& item) {
      MapReader way(item, diagnostics_, "way", GraphWayKeys());
      const std::string algorithm = way.StringOr("algorithm", "");
      node.ways.push_back(ReadWay(way, node));
      node.ways.back().algorithm = algorithm;
      way.Finish();
    });
    if (ways->IsSequence() && (node.ways.empty() || node.ways.size() > kMostRecordedWays)) {
      diagnostics_.Error(ways->mark,
                         fmt::format("ways: expected 1 to {}, found {}", kMostRecordedWays, node.ways.size()));
    }
  }

  RecordedWay ReadWay(MapReader& reader, RecordedNode& node) {
    RecordedWay way;
    const double time = reader.RequiredNumber("ns", 0, kLongestTime);
    const double again = reader.NumberOr("recompute_ns", time, 0, kLongestTime);
    way.workspace = reader.IntegerOr("workspace", 0, 0, kMostWorkspace);
    if (time_ > kLongestTime) return way;
    way.time = std::llround(time);
    way.recompute_time = std::llround(again);
    node.recompute_differs = node.recompute_differs || way.recompute_time != way.time;
    time_ += std::max(time, again);
    if (time_ > kLongestTime)
      diagnostics_.Error(reader.MarkOf("ns"), fmt::format("more than {} ns up to here", kMostRecordedTime));
    return way;
  }

  void ReadResult(const Node& item, RecordedNode& node) {
    MapReader reader(item, diagnostics_, "result", GraphResultKeys());
    RecordedResult result;
    result.name = ReadId(reader, "id");
    const Node* alias = reader.Optional("alias");
    const Node* in_place = reader.Optional("in_place");
    if (alias == nullptr && in_place == nullptr) {
      result.bytes = ReadBytes(reader);
    } else {
      result.kind = alias != nullptr ? ResultKind::kAlias : ResultKind::kInPlace;
      const char* key = alias != nullptr ? "alias" : "in_place";
      result.of = {reader.StringOr(key, ""), reader.MarkOf(key)};
      const Node* bytes = reader.Optional("bytes");
      if (bytes != nullptr || (alias != nullptr && in_place != nullptr)) {
        diagnostics_.Error(reader.mark(), "result: expected exactly one of bytes, alias and in_place");
      }
    }
    result.held_until = {reader.StringOr("held_until", ""), reader.MarkOf("held_until")};
    result.use = reader.ChoiceOr("class", GraphResultClassNames(), -1);
    reader.Finish();
    node.results.push_back(std::move(result));
  }

  Diagnostics& diagnostics_;
  RecordedGraph graph_;
  Bytes bytes_ = 0;
  double time_ = 0;
};

}  // namespace

RecordedGraph ReadRecordedGraph(const Node& root, Diagnostics& diagnostics) {
  return GraphReader(diagnostics).Read(root);
}

}  // namespace spillway
