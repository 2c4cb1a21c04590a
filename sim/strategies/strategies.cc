#include "sim/strategies/strategies.h"

#include "hw/text/lists.h"

namespace spillway {

#define STRATEGY(NAME, DESCRIPTION, PAPER, PLAN, ...) Planned PLAN(const Problem& problem);
#include "sim/strategies/table.inc"
#undef STRATEGY

namespace {

constexpr const char* kPoochPaper = "Ito et al., Profiling based Out-of-core Hybrid Method, arXiv 1907.05013";
constexpr const char* kSuperneuronsPaper = "Wang et al., SuperNeurons, PPoPP 2018, arXiv 1801.04380";
constexpr const char* kDtrPaper = "Kirisame et al., Dynamic Tensor Rematerialization, arXiv 2006.09616";
constexpr const char* kTflmsPaper = "IBM/tensorflow-large-model-support, branch tflmsv2";
constexpr const char* kVdnnPaper = "Rhu et al., vDNN, MICRO 2016, arXiv 1602.08124";
constexpr const char* kVdnnPlusPaper = "Shriram, Garg and Kulkarni, IPDPS 2019 (vDNN++)";
constexpr const char* kChenPaper = "Chen et al., Training Deep Nets with Sublinear Memory Cost, arXiv 1604.06174";
constexpr Scope kAnyAlgorithm{.algorithms = AlgorithmScope::kAny, .workspace = kMostWorkspace, .copy_streams = 1};
constexpr const char* kUcudnnPaper = "Oyama et al., micro-cuDNN, CLUSTER 2018, arXiv 1804.04806";
constexpr const char* kOocCudnnPaper = "Ito et al., ooc_cuDNN, IEEE Big Data 2017; github.com/yukiito2/ooc_cuDNN";
constexpr const char* kTvdnnPaper = "Park et al., tvDNN, PPoPP 2018 (poster)";
constexpr const char* kSectionMeaning = "largest section in MiB, as far as the batch can be divided";
constexpr const char* kUcudnnPolicies = "part sizes to try: 0 the whole batch, 1 powers of two, 2 all";
constexpr const char* kUcudnnAware = "the search counts each part's launch, and the host's wait after the part";
constexpr const char* kUcudnnSure =
    "a convolution is divided only if that is faster in 90 % of random draws of the cost model's errors";
constexpr Scope kSectionsScope{.copy_streams = 1, .copy_chunk = kLeastCopyChunk};
constexpr Scope kStreamedScope{.copy_streams = 1, .parts = PartScope::kStreamed};
}  // namespace

std::string AccumulateMistake(const StrategyParameters& parameters, std::int64_t batch);  // accumulate.cc

namespace {

// Those that plan a part of a step that accumulates.
std::vector<std::string> StrategiesBeneath() {
  std::vector<std::string> names;
#define STRATEGY(NAME, ...) names.emplace_back(NAME);
#include "sim/strategies/table.inc"
#undef STRATEGY
  std::erase(names, "accumulate");
  return names;
}

constexpr Scope kUcudnnScope{
    .algorithms = AlgorithmScope::kAny, .workspace = 64 * kMiB, .copy_streams = 1, .parts = PartScope::kBatch};

std::vector<Strategy> MakeStrategies() {
#define STRATEGY(NAME, DESCRIPTION, PAPER, PLAN, ...) \
  {.name = NAME, .description = DESCRIPTION, .paper = PAPER, .plan = PLAN, __VA_ARGS__},
  return {
#include "sim/strategies/table.inc"
  };
#undef STRATEGY
}

}  // namespace

const std::vector<Strategy>& Strategies() {
  static const std::vector<Strategy> table = MakeStrategies();
  return table;
}

const Strategy* FindStrategy(const std::string& name) { return FindByName(Strategies(), name); }

const Strategy& StrategyByName(const std::string& name) { return ByName(Strategies(), name, "no strategy"); }

}  // namespace spillway
