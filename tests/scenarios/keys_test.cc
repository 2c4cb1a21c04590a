// The reference of keys is what the readers do: every key listed is read from some file here, every map of these files has
// its table, and what is not listed is refused.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <functional>
#include <set>
#include <string_view>

#include "model/network/network_keys.h"
#include "model/profile/machine.h"
#include "model/profile/profile_text.h"
#include "model/unroll/unroll.h"
#include "scenarios/cli/command.h"
#include "scenarios/file/scenario.h"
#include "scenarios/file/scenario_reader.h"
#include "sim/plan/plan_keys.h"
#include "tests/golden.h"
#include "tests/small_profile.h"
#include "tests/temporary_folder.h"
#include "tests/text.h"
#include "tests/user_errors.h"

namespace spillway {
namespace {

// One line; quoted, for a reader takes scalars for what it asks for.
std::string Text(const Node& node) {
  std::string text;
  switch (node.kind) {
    case Node::Kind::kNull:
      return "~";
    case Node::Kind::kScalar:
      return "\"" + node.scalar + "\"";
    case Node::Kind::kSequence:
      for (const Node& item : node.items) text += (text.empty() ? "" : ", ") + Text(item);
      return "[" + text + "]";
    case Node::Kind::kMap:
      for (const Node::Entry& entry : node.entries)
        text += (text.empty() ? "" : ", ") + entry.key + ": " + Text(entry.value);
      return "{" + text + "}";
  }
  return text;
}

// The table of a map under a row that may hold several kinds of maps: layers by their kind, parameters by the strategy
// around them.
const KeyTable* TableOf(const KeyRow& row, const Node& map, const Node& around) {
  if (row.maps.size() == 1) return row.maps.front();
  const Node *kind = map.Find("kind"), *strategy = around.Find("strategy");
  if (kind == nullptr && strategy == nullptr) return nullptr;
  const std::string title = kind != nullptr ? kind->scalar + " layer" : "parameters of " + strategy->scalar;
  for (const KeyTable* table : row.maps) {
    if (table->title == title) return table;
  }
  return nullptr;
}

using Visit = std::function<void(Node& map, const KeyTable& table)>;

// Every map of the file with the table that the reference has for it. Parameters have names of their own.
void VisitMaps(Node& map, const KeyTable& table, const Visit& visit) {
  for (Node::Entry& entry : map.entries) {
    INFO(table.title << ": " << entry.key);
    const KeyRow* row = table.Find(entry.key);
    REQUIRE(row != nullptr);
    std::vector<Node*> values{&entry.value};
    if (entry.value.IsSequence()) {
      values.clear();
      for (Node& item : entry.value.items) values.push_back(&item);
    }
    for (Node* value : values) {
      if (!value->IsMap() || row->value == "a map of numbers") continue;
      const KeyTable* inner = TableOf(*row, *value, map);
      REQUIRE(inner != nullptr);
      VisitMaps(*value, *inner, visit);
    }
  }
  visit(map, table);
}

struct Sample {
  const KeyTable* page;
  std::string text;
  std::function<void(const std::string& text)> read;
};

std::string Without(const Document& document, Node& map, std::size_t entry) {
  const Node whole = map;
  map.entries.erase(map.entries.begin() + static_cast<std::ptrdiff_t>(entry));
  std::string text = Text(document.root);
  map = whole;
  return text;
}

// What is not in the table is refused, what it says is required is, and nothing else is called missing.
void CheckMap(const Sample& sample, const Document& document, Node& map, const KeyTable& table) {
  INFO(table.title);
  Node one;
  one.kind = Node::Kind::kScalar;
  one.scalar = "1";
  map.entries.push_back({"not_in_the_table", {}, one});
  CHECK_THAT(ErrorOf([&] { sample.read(Text(document.root)); }), Catch::Contains("unknown key 'not_in_the_table'"));
  map.entries.pop_back();
  for (std::size_t i = 0; i < map.entries.size(); ++i) {
    const KeyRow& row = *table.Find(map.entries[i].key);
    INFO(row.name);
    const std::string error = ErrorOf([&] { sample.read(Without(document, map, i)); });
    const bool missing = Contains(error, fmt::format("missing key '{}'", row.name));
    const bool makes_it_one = std::string_view(row.name) == "same_as";  // without it the map is of another table
    if (row.otherwise == kRequiredKey && !makes_it_one) CHECK(missing);
    if (!row.otherwise.starts_with(kRequiredKey)) CHECK_FALSE(missing);
  }
}

// The rows that the samples of one page have.
using Rows = std::set<std::pair<const KeyTable*, std::string>>;

void CheckSample(const Sample& sample, Rows& seen) {
  INFO(sample.text);
  Document document = ParseDocument(sample.text, "sample.yaml");
  REQUIRE(ErrorOf([&] { sample.read(Text(document.root)); }) == "no error");
  VisitMaps(document.root, *sample.page, [&](Node& map, const KeyTable& table) {
    for (const Node::Entry& entry : map.entries) {
      const bool own = table.also == nullptr || table.also->Find(entry.key) == nullptr;
      seen.emplace(own ? &table : table.also, entry.key);
    }
    CheckMap(sample, document, map, table);
  });
}

void CheckPage(const KeyTable& page, const std::vector<Sample>& samples) {
  Rows seen;
  for (const Sample& sample : samples) CheckSample(sample, seen);
  for (const KeyTable* table : TablesOf(page)) {
    for (const KeyRow& key : table->keys) {
      INFO(table->title << ": " << key.name << " is in no sample");
      CHECK(seen.count({table, key.name}) == 1);
    }
  }
}

constexpr const char* kNetwork = R"(name: n
input: {channels: 4, image: 16}
optimizer: adamw
precision: tf32
clip_gradients: true
frozen: [k]
layers:
  - {name: a, kind: convolution, from: input, out: 8, window: 3, stride: 1, pad: 1, groups: 2, bias: true, frozen: false}
  - {name: b, kind: batch_norm, frozen: false}
  - {name: c, kind: relu}
  - {name: d, kind: max_pool, window: 3, stride: 2, pad: 1, ceil: true}
  - {name: e, kind: average_pool, window: 2, stride: 1, pad: 0, ceil: false}
  - {name: f, kind: lrn, size: 3}
  - {name: g, kind: dropout, rate: 0.25}
  - {name: h, kind: concat, from: [f, g]}
  - {name: i, kind: add, from: [h, h]}
  - {name: j, kind: average_pool, global: true}
  - {name: k, kind: linear, out: 10, bias: false, frozen: true}
  - {name: l, kind: softmax_loss}
)";

constexpr const char* kImages = R"(name: n
input: {channels: 4, image: 16}
layers:
  - {name: a, kind: convolution, out: 8, window: 3, pad: 1, pad_after: 1, dilation: 1}
  - {name: b, kind: transposed_convolution, out: 6, window: 3, stride: 2, pad: 1, output_pad: 1, groups: 2, bias: true, frozen: true}
  - {name: c, kind: resize, scale: 2, method: linear}
  - {name: d, kind: resize, image: 20}
  - {name: e, kind: crop, image: [8, 8]}
  - {name: f, kind: instance_norm, affine: true, frozen: true}
  - {name: g, kind: group_norm, groups: 2, affine: false, frozen: false}
  - {name: h, kind: layer_norm, affine: true, frozen: true}
  - {name: i, kind: rms_norm, affine: true, frozen: true}
  - {name: j, kind: leaky_relu, slope: 0.2}
  - {name: n, kind: prelu, frozen: true}
  - {name: o, kind: scale, frozen: true}
  - {name: k, kind: depth_drop, rate: 0.1}
  - {name: l, kind: softmax_loss, weight: 0.5}
)";

constexpr const char* kTexts = R"(name: n
input: {tokens: 8, rows: 2}
layers:
  - {name: a, kind: embedding, vocabulary: 50, out: 16, row: 1, frozen: true}
  - {name: b, kind: position, positions: 8, frozen: true}
  - {name: c, kind: linear, pointwise: true, out: 32}
  - {name: q, kind: linear, from: b, pointwise: true, out: 16}
  - {name: k, kind: linear, from: b, pointwise: true, out: 8}
  - {name: v, kind: linear, from: b, pointwise: true, out: 8}
  - {name: r, kind: rope, from: q, heads: 4}
  - {name: d, kind: attention, from: [r, k, v], heads: 4, kv_heads: 2, causal: true, fused: true, dropout: 0.1}
  - {name: e, kind: softmax, over: channels}
  - {name: f, kind: linear, pointwise: true, out: 50, tied: a}
  - {name: l, kind: softmax_loss}
  - {name: t, kind: class_token, from: c, frozen: true}
  - {name: g, kind: linear, first: true, out: 3}
  - {name: m, kind: softmax_loss}
)";

constexpr const char* kMoves = R"(name: n
input: {channels: 8, image: 16}
layers:
  - {name: a, kind: slice, axis: channels, begin: 0, end: 8, step: 1}
  - {name: b, kind: reshape, out: 8, image: 16}
  - {name: c, kind: permute, order: [channels, height, width]}
  - {name: d, kind: roll, shift: 2}
  - {name: e, kind: pad, pad: 1, pad_after: 1}
  - {name: f, kind: crop, image: 16, at: start}
  - {name: g, kind: pixel_unshuffle, scale: 2}
  - {name: h, kind: channel_shuffle, groups: 4}
  - {name: i, kind: pixel_shuffle, scale: 2}
  - {name: w, kind: windows, window: 4}
  - {name: q, kind: linear, pointwise: true, out: 24}
  - {name: s, kind: attention, heads: 2, window: 4, relative: 4, shift: 2, image: 16, frozen: true}
  - {name: m, kind: merge_windows, window: 4, from: [s, i]}
  - {name: t, kind: input, out: 8, image: 1}
  - {name: p, kind: add, from: [m, t]}
  - {name: l, kind: softmax_loss}
)";

constexpr const char* kLosses = R"(name: n
input: {channels: 8, image: 16}
layers:
  - {name: a, kind: max_pool, window: 3, stride: 2, pad: 0, pad_after: 1, ceil: false}
  - {name: b, kind: average_pool, window: 3, stride: 1, pad: 1, pad_after: 1}
  - {name: c, kind: softmax_loss, weight: 0.5, smoothing: 0.1}
  - {name: d, kind: dice_loss, from: b, weight: 0.5, probabilities: sigmoid}
  - {name: e, kind: mse_loss, from: [b, a], weight: 2}
  - {name: f, kind: bce_loss, from: [b, a], weight: 2}
)";

Network ReadNetworkText(const std::string& text) {
  const Document document = ParseDocument(text, "network.yaml");
  Diagnostics diagnostics(document);
  Network network = ReadNetwork(document.root, diagnostics, 2);
  diagnostics.ThrowIfAny();
  return network;
}

TEST_CASE("the keys of networks are those that are read") {
  const auto read = [](const std::string& text) { ReadNetworkText(text); };
  CheckPage(NetworkKeys(), {{&NetworkKeys(), kNetwork, read},
                            {&NetworkKeys(), kImages, read},
                            {&NetworkKeys(), kTexts, read},
                            {&NetworkKeys(), kMoves, read},
                            {&NetworkKeys(), kLosses, read},
                            {&NetworkKeys(),
                             "name: n\ninput: {height: 8, width: 4, depth: 2}\nlayers:\n"
                             "  - {name: l, kind: softmax_loss}\n",
                             read}});
}

TEST_CASE("the keys of plans are those that are read") {
  const TrainingStep step = BuildTrainingStep(ReadNetworkText(kNetwork));
  constexpr const char* kPlan = R"(strategy: mine
network: n
batch: 2
accumulate: 1
machine: unit
capacity: 1 GB
search: by hand
evaluations: 3
runtime: {copy_streams: 1, memory: pool, barrier: op, host_syncs: none, framework_time: 1 us, copy_chunk: 1 MiB,
          pool: addresses, blocking_copies: all, swap_in_waits: backward_layer, collection_time: 1 ms,
          backward_units: break_points, part_waits: host, workspaces: held, host_percent: 40,
          gaps: saved}
gaps:
  - {tensor: a, action: swap, after: "b:forward", before: "b:backward", out_after: "b:forward", in_at: "b:backward", reason: why}
  - {tensor: c, action: recompute, after: "d:forward", before: "d:backward", keep_result: false, keep_passed: false,
     leaves_after: "d:forward"}
  - {tensor: input, action: swap, after: "a:forward", before: "a:backward_filter"}
ops:
  - {op: "a:forward", algorithm: 0, workspace: 1 MiB, again: {algorithm: 0, workspace: 1 MiB}}
  - {op: "a:backward_filter", parts: [{samples: 1, algorithm: 0, workspace: 1 MiB, times: 2}], tiles: {in_channels: 1, out_channels: 1, rows: 2}, streamed: [input], depth: 2, fused: false}
recompute:
  - {before: "d:backward", run: "c:forward", keep: true}
  - {before: "l:backward", run: "c:forward", leaves_after: "l:backward"}
)";
  std::string larger = kNetwork;
  larger.replace(larger.find("image: 16"), 9, "image: 128");
  const TrainingStep large = BuildTrainingStep(ReadNetworkText(larger));
  constexpr const char* kSections = R"(network: n
batch: 2
gaps:
  - {tensor: a, action: swap, after: "b:forward", before: "b:backward", samples: [0, 1]}
)";
  CheckPage(PlanKeys(),
            {{&PlanKeys(), kPlan, [&](const std::string& text) { ParsePlan(text, "plan.yaml", step); }},
             {&PlanKeys(), kSections, [&](const std::string& text) { ParsePlan(text, "plan.yaml", large); }}});
}

constexpr const char* kMachine = R"(name: m
description: d
software: s
notes: [n]
hosts:
  - {name: ram, memory: 100 GB, pinned_limit: 50 GB, source: {assumed: a}}
devices:
  - name: gpu
    figures: {peak: {fp32: 10 TFLOP/s, tf32: 20 TFLOP/s, fp16: 30 TFLOP/s, bf16: 40 TFLOP/s, source: {assumed: a}},
              memory_bandwidth: 500 GB/s, multiprocessors: 80, l2_cache: 1 MiB, source: {published: p}}
    memory: {total: 16 GiB, reserve: 1 GiB, pool_fraction: 0.9, source: {measured: m}}
    host_costs: {kernel_launch: 5 us, copy_submit: 4 us, event_record: 1 us, stream_wait: 2 us, pool_alloc: 300 ns,
                 pool_free: 200 ns, sync: 10 us, source: {assumed: a},
                 launches: {source: {assumed: a}, ops: [{op: relu, pass: forward, time: 1 us}]}}
    laws:
      - {op: relu, pass: forward, window: 3x3, flop_fraction: 0.5, bandwidth_fraction: 0.5, fixed: 1 us, workspace: 1 MiB,
         error: 0.1, copy_slowdown: 1.1, source: {assumed: a}}
    call_floors:
      - {harness: h, op: linear, pass: forward, math: fp32, added: 1 us, floor: 2 us}
    stacks:
      - {name: s, op: linear, pass: forward, math: fp32, arithmetic: 1, memory: 1, special: 1}
    cudnn: '9.5'
    stack_error: 0.1
    models:
      - {form: winograd, op: convolution, pass: forward, algorithm: winograd, math: fp32,
         parameters: {efficiency: 1, prologue: 1, fill: 1, quantisation: 1, bandwidth: 1, fixed: 1, filter_bandwidth: 1},
         shared_error: 0.1, own_error: 0.1,
         copy_slowdown: 1.1, work: {least: 1, most: 2}, source: {assumed: a}}
    measured: {source: {measured: m}, operands: cold, software: {driver: '1', cuda: '2', cudnn: '3'}, ops: []}
links:
  - name: l
    host: ram
    device: gpu
    host_to_device: {points: [[1 KiB, 1 us], [1 MiB, 1 ms]], error: 0.1, source: {assumed: a}}
    device_to_host: {points: [[1 KiB, 1 us], [1 MiB, 1 ms]], error: 0.1, source: {assumed: a}}
    other_memory:
      - kind: pageable
        note: n
        host_to_device: {points: [[1 KiB, 1 us], [1 MiB, 1 ms]], error: 0.1, source: {assumed: a}}
        device_to_host: {points: [[1 KiB, 1 us], [1 MiB, 1 ms]], error: 0.1, source: {assumed: a}}
    duplex: {factor: 0.9, source: {assumed: a}}
    host_error: 0.1
)";

TEST_CASE("the keys of machines are those that are read") {
  const auto read = [](const std::string& text) { ParseMachine(text, "machine.yaml"); };
  const std::string taught = Replaced(kSmall, "  - name: gpu\n", "  - name: gpu\n    models_from: v100-x86-pcie3\n");
  const std::string two_ways = Replaced(kMachine, "factor: 0.9", "host_to_device: 0.5, device_to_host: 0.9");
  CheckPage(MachineKeys(),
            {{&MachineKeys(), kMachine, read}, {&MachineKeys(), taught, read}, {&MachineKeys(), two_ways, read}});
  CheckPage(SecondNameKeys(),
            {{&SecondNameKeys(), "name: m\nsame_as: unit\ndescription: d\nsoftware: s\nnotes: [n]\n", read}});
}

constexpr const char* kScenario = R"(name: everything
network:
  - {zoo: cifar-resnet20, image: 32x32, classes: 10, precision: [tf32, bf16], optimizer: sgd, batch: [2, 4]}
  - {zoo: resnext101-3d-usual, frames: 16, batch: 1}
  - {file: n.yaml, batch: 2}
  - {graph: g.json}
machines: [unit, {name: far, from: unit, host: host0, host_memory: pinned}]
strategies:
  - in-core
  - {strategy: pooch, planned_on: unit}
  - {strategy: pooch, parameters: {rungs: [2, 4], step1_simulations: 10, step2_simulations: 20, keep_passed: true}}
  - {strategy: best, parameters: {swap: [true, false], recompute: true, algorithms: true, parts: true, robust: false, simulations: 9,
                                  plans: 9}}
  - {strategy: ucudnn-wr, parameters: {policy: [0, 2], workspace: 8, aware: true, sure: true}}
  - {strategy: ucudnn-wd, parameters: {policy: 1, workspace: [8, 512], aware: [false, true], sure: false}}
  - {strategy: tflms, parameters: {threshold: [1, 20], ahead: 3, groupby: 0}}
  - {strategy: tvdnn-heuristic, parameters: {section: [16, 64]}}
  - {strategy: tvdnn-ilp, parameters: {section: 64, nodes: 9}}
  - {strategy: accumulate, parameters: {parts: [1, 2], beneath: [in-core, pooch]}}
options: [chainer, torch]
runtime:
  - arena
  - {name: mine, from: arena, copy_streams: 1, memory: pool, barrier: phase, host_syncs: none, framework_time: 1 us,
     copy_chunk: 1 MiB, pool: bytes, blocking_copies: all, swap_in_waits: kernel, collection_time: 0 ns,
     backward_units: layers, part_waits: none, workspaces: held, host_percent: 100, gaps: any}
  - {name: framed, from: pooch, framework: of-options}
memory: [1 GB, 2 GB]
usable_memory: 3 GB
workspace: 8 MiB
LINK
expect:
  - {network: n, machine: unit, strategy: pooch, batch: [2, 4], memory: 1 GB, samples_per_second: 1, step_time: [1 s, 2 s],
     below_in_core: {at_least: 1 %, at_most: 20 %}, keep: {value: 3}, swap: 1, recompute: 1, within: 10 %, source: s, why: w}
  - {ratio: {network: n, machine: unit, strategy: pooch, batch: 2, at_least: 1, at_most: 2}, required: true, source: s}
  - {ratio: {strategy: pooch, memory: 2 GB, value: 1}, feasible: false, source: s, claim: c, counted: false}
  - {mean_saving: 89 %, mean_saving_beside_parameters: [1 %, 2 %], peak: {at_most: 7 GB}, network_wide: 28 GB, host_peak: 64 GB,
     map_share: 80 %, copy_rate: 12.8 GB/s, source: s}
)";

TEST_CASE("the keys of scenarios are those that are read") {
  const TemporaryFolder folder("keys");
  folder.Write("n.yaml", kNetwork);
  folder.Write("g.json", R"({"graph": "g", "source": {"assumed": "none"}, "error": 0,
                             "nodes": [{"id": "a", "op": "a", "ns": 1}]})");
  const auto read = [&](const std::string& text) { ReadScenario(ParseDocument(text, folder.Path("s.yaml"))); };
  CheckPage(
      ScenarioKeys(),
      {{&ScenarioKeys(), Replaced(kScenario, "LINK", "link: [1 GB/s, 2 GB/s]"), read},
       {&ScenarioKeys(), Replaced(kScenario, "LINK", "emulate: [as-is, {compute_slowdown: 2, link_rate: 1 MB/s}]"),
        read},
       {&ScenarioKeys(),
        "name: f\nnetwork: {file: n.yaml, batch: 2}\nmachines: unit\nstrategies: in-core\nframework: [torch, mxnet]\n",
        read}});
}

TEST_CASE("the pages of keys in the repository are those that help prints") {
  for (const std::string& name : HelpPageNames()) {
    CHECK(PageDifference("scenarios/keys/" + name + ".md", HelpPage(name)) == "");
    for (std::size_t at = 0, end = 0; (end = HelpPage(name).find('\n', at)) != std::string::npos; at = end + 1) {
      CHECK(end - at <= 100);
    }
  }
}

}  // namespace
}  // namespace spillway
