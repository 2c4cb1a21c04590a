// Recordings with a mistake put into them: a message with its place, or a step that is still whole. None is read otherwise.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <functional>
#include <optional>
#include <regex>
#include <sstream>

#include "hw/text/document.h"
#include "model/recorded/footprint.h"
#include "tests/deep.h"
#include "tests/text.h"

namespace spillway {
namespace {

// Every key of the format, each node in a line of its own.
std::string Whole() {
  return R"({"format": "spillway-step", "version": 2, "graph": "whole", "samples": 4, "source": {"measured": "test"},
"error": 0.1, "shared_error": 0.05, "fixed_bytes": 700, "allocator_peak_bytes": 90000,
"made": {"how": "run", "times": "measured", "steps": 3, "torch": "2.15.0", "python": "3.11", "date": "d", "notes": ["n"]},
"device": {"type": "cuda", "name": "Tesla V100-SXM2-16GB", "driver": "535", "precision": "fp32"},
"machine": {"memory_bytes": 17000000000, "memory_free_bytes": 16000000000, "host_memory_bytes": 200000000000, "call_ns": 5000, "carried_call_ns": 21000,
"copy_in_bytes_per_s": 12000000000, "copy_out_bytes_per_s": 12000000000, "both_in_bytes_per_s": 9000000000, "both_out_bytes_per_s": 9000000000},
"unseen": ["s"], "varies": [{"node": "u", "argument": 1, "values": [1, 2]}],
"values": [{"id": "x", "bytes": 4096, "where": "host", "class": "batch"},
{"id": "w", "bytes": 2048, "class": "weight", "name": "fc.weight"}],
"nodes": [
{"id": "a", "op": "aten.mm.default", "module": "fc", "deps": ["x", "w"], "ways": [{"ns": 9, "workspace": 64, "algorithm": "g"}, {"ns": 20}], "inputs": [{"shape": [4, 8], "stride": [8, 1], "type": "float32"}, {"shape": [8, 4]}], "scalars": [1, null], "outputs": [{"shape": [4, 4]}], "results": [{"id": "y", "bytes": 4096, "held_until": "c", "class": "saved"}, {"id": "v", "alias": "x"}]},
{"id": "b", "op": "aten.dropout.default", "layer": "l", "ns": 7, "workspace": 32, "random": true, "replay": true, "deps": ["y", "v"], "results": [{"id": "z", "bytes": 4096}, {"id": "s", "bytes": 512}]},
{"id": "c", "op": "aten.relu_.default", "ns": 3, "recompute": true, "deps": ["z"], "results": [{"id": "z2", "in_place": "z"}]},
{"id": "d", "op": "aten.mm.default", "pass": "backward", "ns": 18, "deps": ["z2", "y", "s", "w"], "also": ["v"], "results": [{"id": "g", "bytes": 2048, "held_until": "end", "class": "gradient"}]},
{"id": "u", "op": "aten.add_.Tensor", "pass": "update", "ns": 2, "deps": ["g"], "results": [{"id": "w2", "in_place": "w"}]}]}
)";
}

// What came of it: nullptr where the text was refused. Every refusal names the file and has a line to look at.
std::shared_ptr<const RecordedStep> ReadOrRefuse(const std::string& text) {
  try {
    return ReadRecordedStep(ParseDocument(text, "step.json"));
  } catch (const UserError& error) {
    for (const std::string& message : error.messages()) CHECK(Contains(message, "step.json"));
    CHECK_FALSE(error.messages().empty());
    return nullptr;
  }
}

void MustBeWhole(const RecordedStep& recorded) {
  const TrainingStep& step = recorded.step;
  REQUIRE(recorded.ways.size() == step.ops.size());
  REQUIRE(recorded.calls.size() == step.ops.size());
  REQUIRE(recorded.uses.size() == step.tensors.size());
  REQUIRE(recorded.makers.size() == step.tensors.size());
  std::vector<bool> made(step.tensors.size(), false);
  for (std::size_t t = 0; t < step.tensors.size(); ++t) {
    made[t] = step.tensors[t].Traits().resident || step.tensors[t].Traits().on_host;
  }
  for (const Op& op : step.ops) {
    for (const TensorId t : op.reads) REQUIRE((t >= 0 && Index(t) < made.size() && made[Index(t)]));
    for (const TensorId t : op.writes) made[Index(t)] = true;
  }
  const Footprint footprint = FootprintOf(recorded);
  CHECK(footprint.LeastBytes() <= footprint.PeakBytes());
}

std::vector<std::pair<std::size_t, std::size_t>> Matches(const std::string& text, const char* pattern) {
  std::vector<std::pair<std::size_t, std::size_t>> found;
  const std::regex regex(pattern);
  for (auto it = std::sregex_iterator(text.begin(), text.end(), regex); it != std::sregex_iterator(); ++it) {
    found.emplace_back(it->position(0), it->length(0));
  }
  return found;
}

// One match of the pattern, drawn, with what `change` makes of it.
std::string Changed(const std::string& text, const char* pattern, Random& random,
                    const std::function<std::string(const std::string&)>& change) {
  const auto found = Matches(text, pattern);
  const auto [at, length] = found[random.Below(static_cast<std::uint32_t>(found.size()))];
  return text.substr(0, at) + change(text.substr(at, length)) + text.substr(at + length);
}

struct Mutation {
  const char* what;
  bool refused;  // whatever is drawn
  std::function<std::string(const std::string&, Random&)> of;
};

std::string AnotherLetter(const std::string& word, Random& random) {
  std::string changed = word;
  char& letter = changed[1 + random.Below(static_cast<std::uint32_t>(word.find('"', 1) - 1))];
  letter = letter == 'q' ? 'k' : 'q';
  return changed;
}

const std::vector<Mutation>& Mutations() {
  static const std::vector<Mutation> kAll = {
      {"a key misspelt", true,
       [](const std::string& text, Random& random) {
         return Changed(text, "\"[a-z_]+\":", random,
                        [&](const std::string& key) { return AnotherLetter(key, random); });
       }},
      {"a number that is none", true,
       [](const std::string& text, Random& random) {
         return Changed(
             text,
             R"re("(samples|error|ns|bytes|workspace|steps|call_ns|carried_call_ns|argument|version)": [0-9.]+)re",
             random, [&](const std::string& pair) {
               const char* bad[] = {"-3", "1e99", "[1]", "\"many\"", "{}"};
               return pair.substr(0, pair.find(':') + 2) + bad[random.Below(5)];
             });
       }},
      {"a list or map that is none", true,
       [](const std::string& text, Random& random) {
         return Changed(
             text,
             R"re("(deps|results|inputs|outputs|scalars|shape|stride|unseen|varies|ways|made|device|machine)": [\[{])re",
             random,
             [](const std::string& key) { return key.substr(0, key.size() - 1) + "7, \"kept\": " + key.back(); });
       }},
      {"an unknown choice", true,
       [](const std::string& text, Random& random) {
         return Changed(text, R"re("(how|times|precision|pass|where|class)": "[^"]+")re", random,
                        [](const std::string& pair) { return pair.substr(0, pair.size() - 1) + "x\""; });
       }},
      {"an id of a dep that nobody makes", true,
       [](const std::string& text, Random& random) {
         return Changed(text, R"re("(deps|unseen)": \["[a-z]+)re", random,
                        [](const std::string& deps) { return deps + "_"; });
       }},
      {"a node twice", true,
       [](const std::string& text, Random& random) {
         return Changed(text, "\n\\{\"id\": \"[a-z]\", \"op\".*,\n", random,
                        [](const std::string& line) { return line + line.substr(1); });
       }},
      {"the end missing", true,
       [](const std::string& text, Random& random) {
         return text.substr(0, 1 + random.Below(static_cast<std::uint32_t>(text.rfind(']') - 1)));
       }},
      {"a node missing", false,
       [](const std::string& text, Random& random) {
         return Changed(text, "\n\\{\"id\": \"[a-z]\", \"op\".*,\n", random, [](const std::string&) { return "\n"; });
       }},
      {"another number", false,
       [](const std::string& text, Random& random) {
         return Changed(text, ": [0-9]+", random,
                        [&](const std::string&) { return fmt::format(": {}", random.Below(9000)); });
       }},
      {"another byte", false, [](const std::string& text, Random& random) {
         std::string changed = text;
         changed[random.Below(static_cast<std::uint32_t>(text.size()))] = static_cast<char>(random.Below(256));
         return changed;
       }}};
  return kAll;
}

}  // namespace

TEST_CASE("recordings with a mistake are refused, or are steps that are whole") {
  const std::string whole = Whole();
  REQUIRE(ReadOrRefuse(whole) != nullptr);
  int refused = 0;
  for (int seed = 0; seed < Cases(50, 500); ++seed) {
    Random random(static_cast<std::uint64_t>(seed) + 1);
    const Mutation& mutation = Mutations()[static_cast<std::size_t>(seed) % Mutations().size()];
    const std::string text = mutation.of(whole, random);
    INFO(mutation.what << ", seed " << seed << "\n" << text);
    const auto recorded = ReadOrRefuse(text);
    refused += recorded == nullptr ? 1 : 0;
    if (mutation.refused) CHECK(recorded == nullptr);
    if (recorded != nullptr) MustBeWhole(*recorded);
  }
  CHECK(refused >= Cases(35, 350));
}

}  // namespace spillway
