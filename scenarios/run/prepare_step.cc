#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "hw/text/file_kind.h"
#include "model/network/precision.h"
#include "model/step/accumulate.h"
#include "model/step/launch.h"
#include "model/step/work_hash.h"
#include "model/unroll/unroll.h"
#include "model/util/hash.h"
#include "model/zoo/zoo.h"
#include "scenarios/run/prepare_internal.h"

namespace spillway {

namespace {

// "": of the zoo.
std::string PathOf(const NetworkSource& source) {
  return source.choice.file.empty() ? source.choice.graph : source.choice.file;
}

bool SameImage(const Shape& a, const Shape& b) { return a.d == b.d && a.h == b.h && a.w == b.w; }

std::string ImageText(const Shape& s) {
  return s.d == 1 ? fmt::format("{}x{}", s.h, s.w) : fmt::format("{}x{}x{}", s.h, s.w, s.d);
}

// The zoo's name and what differs from the network's usual form.
std::string ZooLabel(const NetworkChoice& choice) {
  std::string label = choice.zoo;
  const Network network = BuildZooNetwork(choice.zoo, ZooOptionsOf(choice, 1));
  const Network usual = BuildZooNetwork(choice.zoo, {.batch = 1});
  if (!SameImage(usual.input, network.input)) label += "+" + ImageText(network.input);
  if (choice.classes != 0 && CountParameters(usual) != CountParameters(network)) {
    label += fmt::format("+classes={}", choice.classes);
  }
  return label;
}

Network BuildNetwork(const NetworkSource& source, std::int64_t batch) {
  Network network;
  if (source.document == nullptr) {
    network = BuildZooNetwork(source.choice.zoo, ZooOptionsOf(source.choice, batch));
  } else {
    Diagnostics diagnostics(*source.document);
    network = ReadNetwork(source.document->root, diagnostics, batch);
    diagnostics.ThrowIfAny();
  }
  if (!source.choice.optimizer.empty()) network.optimizer = &OptimizerByName(source.choice.optimizer);
  if (!source.choice.precision.empty()) ApplyPrecision(network, PrecisionByName(source.choice.precision));
  return network;
}

std::string PrecisionNameOf(const Network& network) {
  if (network.precision != nullptr) return network.precision->name;
  const bool one_type = network.type != DataType::kFp32 || network.math == MathMode::kFp32;
  return one_type ? DataTypeName(network.type) : MathModeName(network.math);
}

// Of points that differ in nothing else.
std::string TrainingSuffix(const NetworkChoice& choice) {
  std::string suffix;
  for (const std::string& named : {choice.precision, choice.optimizer}) {
    if (!named.empty()) suffix += "+" + named;
  }
  return suffix;
}

void Build(PreparedStep& prepared) {
  if (prepared.source->recorded != nullptr) {
    prepared.step = prepared.source->recorded->step;
    return;
  }
  prepared.net = BuildNetwork(*prepared.source, prepared.batch);
  prepared.step = BuildTrainingStep(prepared.net, StepOptionsByName(prepared.options));
}

void AddNumber(std::int64_t value, Hasher& hash) { hash.Add(static_cast<std::uint64_t>(value)); }

// Steps that may cost or need something else have another one.
std::uint64_t DigestOf(const TrainingStep& step) {
  Hasher hash;
  hash.Add(step.network);
  AddNumber(step.batch, hash);
  for (const Tensor& tensor : step.tensors) {
    hash.Add(tensor.name);
    AddNumber(static_cast<std::int64_t>(tensor.use), hash);
    AddNumber(tensor.bytes, hash);
  }
  for (const Op& op : step.ops) {
    hash.Add(op.name).Add(HashOfWork(LaunchOf(op)));
    for (const auto* tensors : {&op.reads, &op.writes}) {
      AddNumber(static_cast<std::int64_t>(tensors->size()), hash);
      for (const TensorId tensor : *tensors) AddNumber(tensor, hash);
    }
  }
  return hash.Value();
}

}  // namespace

std::string NetworkSource::OwnName() const {
  if (!choice.zoo.empty()) return choice.zoo;
  if (recorded != nullptr) return recorded->step.network;
  const Node* name = document->root.Find("name");
  return name == nullptr ? "" : name->scalar;
}

std::vector<std::shared_ptr<NetworkSource>> SourcesOf(const std::vector<NetworkChoice>& choices) {
  std::vector<std::shared_ptr<NetworkSource>> sources;
  for (const NetworkChoice& choice : choices) sources.push_back(SourceOf(choice));
  // By the file's name where that tells them apart, else by its path.
  for (const auto& source : sources) {
    const std::string path = PathOf(*source);
    if (path.empty()) continue;
    const std::string short_name = std::filesystem::path(path).filename().string();
    bool same_name = false, same_file_name = false;
    for (const auto& other : sources) {
      const std::string of_other = PathOf(*other);
      if (of_other == path || other->OwnName() != source->OwnName()) continue;
      same_name = true;
      same_file_name = same_file_name || std::filesystem::path(of_other).filename() == short_name;
    }
    if (same_name) source->file = fmt::format(" ({})", same_file_name ? path : short_name);
  }
  return sources;
}

std::shared_ptr<NetworkSource> SourceOf(const NetworkChoice& choice) {
  auto source = std::make_shared<NetworkSource>();
  source->choice = choice;
  source->choice.batch.clear();
  if (!choice.file.empty()) {
    source->document = std::make_shared<const Document>(LoadDocument(choice.file));
    MustBeOfKind(FileKind::kNetwork, *source->document);
  }
  source->choice.recorded.reset();
  source->recorded = choice.recorded;
  if (!choice.graph.empty() && source->recorded == nullptr) source->recorded = LoadRecordedStep(choice.graph);
  if (!choice.zoo.empty()) source->label = ZooLabel(choice);
  return source;
}

std::unique_ptr<PreparedStep> PrepareStep(const std::shared_ptr<const NetworkSource>& source,
                                          const std::string& options, std::int64_t batch, bool keep) {
  auto prepared = std::make_unique<PreparedStep>();
  prepared->batch = batch;
  prepared->source = source;
  prepared->options = options;
  const bool recorded = source->recorded != nullptr;
  if (options != kRecordedOptions) {
    prepared->framework_time = StepOptionsByName(options).framework_time;
    prepared->waits_for_calls = StepOptionsByName(options).waits_for_calls;
  }
  Build(*prepared);
  Network& network = prepared->net;
  if (recorded) network.name = prepared->step.network;
  prepared->network_base = (source->choice.zoo.empty() ? network.name : source->choice.zoo) + source->file;
  prepared->own_name = prepared->step.network;
  prepared->network = source->choice.zoo.empty() ? network.name + source->file : source->label;
  prepared->network += TrainingSuffix(source->choice);
  prepared->precision = PrecisionNameOf(network);
  prepared->sample_elements = network.input.Elements() / std::max<std::int64_t>(1, network.input.n);
  prepared->digest = recorded ? source->recorded->digest : DigestOf(prepared->step);
  if (!keep) {
    prepared->net = {};
    prepared->step = {};
  }
  return prepared;
}

TrainingStep StepAtBatch(const PreparedStep& step, std::int64_t batch) {
  return BuildTrainingStep(BuildNetwork(*step.source, batch), StepOptionsByName(step.options));
}

TrainingStep StepOfPlan(const PreparedStep& step, std::int64_t accumulate) {
  if (accumulate == 1) return step.step;
  StepsInParts steps(step.batch, [&step](std::int64_t batch) { return StepAtBatch(step, batch); });
  return steps.In(accumulate).all.step;
}

std::shared_ptr<const PreparedStep> StepOf(const PreparedRun& run, std::size_t index) {
  const PreparedStep& known = *run.steps[index];
  if (run.keep_steps) return {std::shared_ptr<const void>(), &known};  // the run's own
  auto built = std::make_shared<PreparedStep>(known);
  Build(*built);
  return built;
}

}  // namespace spillway
