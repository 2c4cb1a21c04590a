#include "scenarios/file/bench_networks.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "scenarios/file/scenario.h"
#include "sim/strategies/strategies.h"

namespace spillway {
namespace {

void AddChoice(const NetworkChoice& choice, const std::string& options, BenchNetworks* networks) {
  if (!choice.graph.empty()) {
    throw UserError(fmt::format("{}: a recorded step: its ops cannot be run, nor timed; give a network", choice.graph));
  }
  for (const std::int64_t batch : choice.batch) {
    Network network = choice.file.empty() ? BuildZooNetwork(choice.zoo, ZooOptionsOf(choice, batch))
                                          : LoadNetwork(choice.file, batch);
    std::string name = choice.file.empty() ? choice.zoo : network.name;
    networks->push_back(MakeBenchNetwork(std::move(name), std::move(network), StepOptionsByName(options)));
  }
}

bool RunsParts(const StrategyChoice& choice) {
  const Strategy* strategy = FindStrategy(choice.name);
  return strategy != nullptr && strategy->scope.parts != PartScope::kNone;
}

// What a part of an op launches the whole op of a smaller batch does, but for sums to which later parts add: powers of two
// below the batch.
NetworkChoice InParts(NetworkChoice choice) {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t batch : choice.batch) {
    for (std::int64_t size = 1; size < batch; size *= 2) sizes.push_back(size);
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  for (const std::int64_t batch : choice.batch) std::erase(sizes, batch);
  choice.batch = {sizes.rbegin(), sizes.rend()};
  return choice;
}

void AddScenario(const std::string& file, BenchNetworks* networks) {
  const Scenario scenario = LoadScenario(file);
  const bool parts = std::any_of(scenario.strategies.begin(), scenario.strategies.end(), RunsParts);
  for (const NetworkChoice& choice : scenario.networks) {
    for (const std::string& options : scenario.options) {
      AddChoice(choice, options, networks);
      if (parts) AddChoice(InParts(choice), options, networks);
    }
  }
}

// "NAME", "NAME:BATCH", "network.yaml:BATCH" or "scenario.yaml".
void AddNamed(const std::string& word, BenchNetworks* networks) {
  constexpr std::int64_t kUsualBatch = 64;
  const std::size_t colon = word.rfind(':');
  NetworkChoice choice;
  choice.batch = {kUsualBatch};
  if (colon != std::string::npos) {
    const auto batch = ParseInteger(word.substr(colon + 1));
    if (!batch || *batch < 1 || *batch > kMostBatch) {
      throw UserError(fmt::format("--networks: expected NAME:BATCH, found '{}'", word));
    }
    choice.batch = {*batch};
  }
  const std::string name = word.substr(0, colon);
  const bool is_file = name.ends_with(".yaml");
  if (is_file && LoadDocument(name).root.Find("layers") == nullptr) return AddScenario(name, networks);
  (is_file ? choice.file : choice.zoo) = name;
  AddChoice(choice, StepOptions{}.name, networks);
}

}  // namespace

BenchNetworks BenchNetworksOf(const std::vector<std::string>& words) {
  BenchNetworks networks;
  std::vector<std::string> mistakes;
  for (const std::string& word : words) {
    try {
      AddNamed(word, &networks);
    } catch (const UserError& error) {
      mistakes.insert(mistakes.end(), error.messages().begin(), error.messages().end());
    }
  }
  if (!mistakes.empty()) throw UserError(std::move(mistakes));
  return networks;
}

}  // namespace spillway
