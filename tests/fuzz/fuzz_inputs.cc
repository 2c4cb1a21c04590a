// Damaged input files of every kind, given to the verbs that read them: none ends as an internal error, none is refused
// without a word. The first line of an input says of what kind the rest is.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "model/util/hash.h"
#include "tests/fuzz/command.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace spillway;
using Words = std::vector<std::string>;

constexpr const char* kScenario =
    "name: small\nnetwork: {zoo: cifar-alexnet, batch: [2, 4]}\nmachines: unit\nstrategies: [in-core, swap-all]\n";

std::string ScenarioWith(const std::string& key, const std::string& file) {
  return "name: small\nnetwork: {" + key + ": " + file + (key == "graph" ? "" : ", batch: 2") +
         "}\nmachines: unit\nstrategies: [in-core, swap-all]\n";
}

std::string Scenario() { return fuzz::Folder().Write("small.yaml", kScenario); }

std::string File(const std::string& path) {
  std::ifstream file(std::string(SPILLWAY_SOURCE_DIR) + "/" + path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Words PlaceOf(const std::string& verb) { return {verb, Scenario(), "--batch", "2", "--strategy", "swap-all"}; }

Words With(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// ---- How each kind is read. `text` is the file's.

void ReadAsScenario(const std::string& text) {
  fuzz::Command({"run", fuzz::Folder().Write("in.yaml", text), "--jobs", "1", "--format", "csv"});
}

void ReadAsNetwork(const std::string& text) {
  const std::string file = fuzz::Folder().Write("in.yaml", text);
  fuzz::Command({"show", "network", file, "--batch", "2"});
  fuzz::Command({"run", fuzz::Folder().Write("of.yaml", ScenarioWith("file", file)), "--jobs", "1"});
}

void ReadAsGraph(const std::string& text) {
  const std::string file = fuzz::Folder().Write("in.json", text);
  fuzz::Command({"run", fuzz::Folder().Write("of.yaml", ScenarioWith("graph", file)), "--jobs", "1"});
}

void ReadAsMachine(const std::string& text) {
  const std::string file = fuzz::Folder().Write("in.yaml", text);
  fuzz::Command({"show", "machine", file});
  fuzz::Command(With(PlaceOf("run"), {"--machine", file, "--jobs", "1"}));
}

void ReadAsPlan(const std::string& text) {
  fuzz::Command({"run", Scenario(), "--batch", "2", "--plan", fuzz::Folder().Write("in.yaml", text), "--jobs", "1"});
}

void ReadAsCertificate(const std::string& text) {
  const std::string plan = fuzz::Folder().Path("sound.yaml");
  fuzz::Command(With(PlaceOf("plan"), {"-o", plan}));
  fuzz::Folder().Write("sound.yaml.certificate", text);
  fuzz::Command({"certify", Scenario(), "--batch", "2", "--plan", plan});
}

void ReadAsSamples(const std::string& text) {
  const std::string file = fuzz::Folder().Write("in.csv", text);
  fuzz::Command({"fit", file, "--base", "unit", "-o", fuzz::Folder().Path("fitted.yaml")});
  fuzz::Command(With(PlaceOf("run"), {"--costs", file, "--jobs", "1"}));
}

void ReadAsOps(const std::string& text) {
  fuzz::Command({"estimate", "--machine", "v100-x86-pcie3", fuzz::Folder().Write("in.csv", text)});
}

void ReadAsTrace(const std::string& text) {
  const std::string file = fuzz::Folder().Write("in.trace.json", text);
  fuzz::Command({"explain", file, "--map", "conv1"});
  fuzz::Command({"explain", file, "--op", "conv1:forward"});
}

void ReadAsResults(const std::string& text) {
  std::filesystem::create_directories(fuzz::Folder().Path("results"));
  fuzz::Folder().Write("results/results.json", text);
  fuzz::Command({"report", fuzz::Folder().Path("results")});
}

struct Kind {
  const char* name;
  void (*read)(const std::string& text);
};
constexpr Kind kKinds[] = {{"scenario", ReadAsScenario}, {"network", ReadAsNetwork}, {"graph", ReadAsGraph},
                           {"machine", ReadAsMachine},   {"plan", ReadAsPlan},       {"certificate", ReadAsCertificate},
                           {"samples", ReadAsSamples},   {"ops", ReadAsOps},         {"trace", ReadAsTrace},
                           {"results", ReadAsResults}};

// What the program itself writes, of the small scenario.
void AddWritten(std::vector<std::string>& seeds) {
  const std::string plan = fuzz::Folder().Path("sound.yaml"), out = fuzz::Folder().Path("results");
  if (fuzz::Command(With(PlaceOf("plan"), {"-o", plan})).status != 0) fuzz::Fail("no plan of the small scenario");
  seeds.push_back("plan\n" + fuzz::Folder().Read("sound.yaml"));
  seeds.push_back("certificate\n" + fuzz::Folder().Read("sound.yaml.certificate"));
  if (fuzz::Command({"run", Scenario(), "--out", out}).status != 0) fuzz::Fail("no results of the small scenario");
  seeds.push_back("results\n" + fuzz::Folder().Read("results/results.json"));
  for (const auto& entry : std::filesystem::directory_iterator(out + "/timelines")) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with("_swap-all.trace.json")) {
      seeds.push_back("trace\n" + fuzz::Folder().Read("results/timelines/" + name));
      break;
    }
  }
}

}  // namespace

std::vector<std::string> spillway::fuzz::Seeds() {
  std::vector<std::string> seeds{
      std::string("scenario\n") + kScenario,
      "scenario\nname: all\nnetwork: [{zoo: cifar-alexnet, image: [32, 40], batch: 2}]\nmachines:\n  - {name: own, "
      "from: "
      "v100-x86-pcie3, host_memory: pageable}\nstrategies:\n  - {strategy: pooch, parameters: {rungs: 4}}\n  - "
      "{strategy: "
      "swap-all, planned_on: unit}\noptions: torch\nruntime: {name: slow, from: paging, barrier: op, framework_time: 3 "
      "us}\nmemory: 40 MB\nlink: 4 GB/s\nworkspace: 1 MB\nemulate: {compute_slowdown: 2}\nexpect:\n  - {strategy: "
      "swap-all, "
      "batch: 2, samples_per_second: 10, within: 10 %, source: none, why: none}\n",
      "network\n" + File("model/networks/residual.yaml"),
      "network\n" + File("model/networks/cifar-vgg-narrow.yaml"),
      "graph\n" + File("model/recorded/example.json"),
      "machine\n" + File("hw/unit.yaml"),
      "samples\n" + File("calibrate/example-samples.csv"),
      "ops\n" + File("calibrate/example-ops.csv")};
  AddWritten(seeds);
  return seeds;
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::Text(data, size);
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string name = text.substr(0, end), rest = text.substr(std::min(end + 1, text.size()));
  const auto* kind =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&name](const Kind& k) { return name == k.name; });
  // A first line that was damaged itself: any kind.
  if (kind == std::end(kKinds)) kind = &kKinds[Hasher().Add(text).Value() % std::size(kKinds)];
  kind->read(rest);
  return 0;
}
