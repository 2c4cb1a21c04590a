#include "model/unroll/step_writer.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "model/network/precision.h"
#include "model/step/launch.h"
#include "model/unroll/unroll.h"

namespace spillway {
namespace {

void RemoveDuplicates(std::vector<TensorId>& ids) {
  auto end = ids.begin();
  for (const TensorId id : ids) {
    if (std::find(ids.begin(), end, id) == end) *end++ = id;
  }
  ids.erase(end, ids.end());
}

OpShape UsualShape(const Network& network, const Layer& layer) {
  const LayerAttributes& a = layer.attributes;
  OpShape shape{
      .in = network.InputShape(layer, 0),
      .out = layer.shape,
      .window = a.window,
      .stride = a.stride,
      .dilation = a.dilation,
      .pad = {Padding(a.pad[0], a.PadAfter(0)), Padding(a.pad[1], a.PadAfter(1)), Padding(a.pad[2], a.PadAfter(2))},
      .groups = a.groups,
      .operands = static_cast<std::int64_t>(layer.inputs.size())};
  if (a.global) {
    shape.window = shape.stride = {shape.in.d, shape.in.h, shape.in.w};
    shape.pad = {0, 0, 0};
  }
  return shape;
}

}  // namespace

StepWriter::StepWriter(const Network& network, const StepOptions& options) : network_(&network), options_(&options) {}

TrainingStep StepWriter::Build() {
  RefuseUpdatesTooEarly();
  Prepare();
  Forward();
  if (!options_->inference) Backward();
  Classify();
  return std::move(step_);
}

bool StepWriter::TrainsAny() const {
  const bool tied = layer().tied != kNotTied;
  const bool own = !LayerParameters(*network_, layer()).empty() && !attributes().frozen;
  return own || (tied && Trains(0));
}

void StepWriter::Prepare() {
  const std::size_t layers = network_->layers.size();
  step_.network = network_->name;
  step_.batch = network_->input.n;
  step_.inference = options_->inference;
  values_.assign(layers + 1, kNoTensor);
  slots_.assign(layers + 1, kNoTensor);
  readers_.assign(layers + 1, 0);
  gradient_count_.assign(layers + 1, 0);
  gradient_ops_.assign(layers + 1, 0);
  wants_.assign(layers + 1, false);
  parameters_.resize(layers);
  parameter_gradients_.resize(layers);
  states_.resize(layers);
  auxiliaries_.resize(layers);
  inner_.resize(layers);
  parameter_copies_.resize(layers);
  narrow_gradients_.resize(layers);
  const DataType input_type = network_->tokens ? DataType::kInt64 : network_->type;
  values_[0] = NewTensor("input", network_->input, TensorClass::kInput, input_type);
  for (current_ = 0; current_ < layers; ++current_) {
    step_.layer_names.push_back(layer().name);
    bool wants = TrainsAny();
    for (std::size_t k = 0; k < inputs(); ++k) {
      if (k >= layer().kind->data_inputs) continue;
      wants = wants || WantsGradient(k);
      ++readers_[InputValue(k)];
    }
    wants_[current_ + 1] = wants;
  }
}

void StepWriter::Forward() {
  for (current_ = 0; current_ < network_->layers.size(); ++current_) {
    MakeParameters();
    if (NarrowsParameters()) CopyParameters();
    layer().kind->forward(*this);
    assert(Result() != kNoTensor);
  }
  step_.first_backward = step_.first_update = static_cast<OpId>(step_.ops.size());
}

void StepWriter::Backward() {
  const std::size_t layers = network_->layers.size();
  for (current_ = layers; current_-- > 0;) {
    if (!wants_[current_ + 1]) continue;
    layer().kind->backward(*this);
    ClearSlot(current_ + 1);
    WidenGradients();
    if (!options_->update_at_once) continue;
    const std::size_t here = current_;
    EmitUpdates(here, here + 1);
    current_ = here;
  }
  step_.first_update = static_cast<OpId>(step_.ops.size());
  if (options_->update_at_once) return;
  EmitOnGradients();
  EmitUpdates(0, layers);
}

// Tensors ------------------------------------------------------------------------------------------------------------

TensorId StepWriter::NewTensor(std::string name, const Shape& shape, TensorClass use, DataType type) {
  step_.tensors.push_back({.name = std::move(name),
                           .shape = shape,
                           .type = type,
                           .layout = network_->layout,
                           .use = use,
                           .bytes = shape.Elements() * SizeOf(type)});
  sharers_.push_back(0);
  return static_cast<TensorId>(step_.tensors.size() - 1);
}

void StepWriter::MakeParameters() {
  if (layer().tied != kNotTied) {
    parameters_[current_].push_back(parameters_[OwnerOf(0)][0]);
    parameter_gradients_[current_].push_back(kNoTensor);
    states_[current_].emplace_back();
  }
  for (const ParameterShape& p : LayerParameters(*network_, layer())) {
    const std::string name = layer().name + ":" + p.name;
    parameters_[current_].push_back(NewTensor(name, p.shape, TensorClass::kParameter));
    parameter_gradients_[current_].push_back(kNoTensor);
    std::vector<TensorId>& states = states_[current_].emplace_back();
    if (options_->inference || attributes().frozen) continue;
    for (const OptimizerState& state : StatesOf(UsedOptimizer(), network_->type)) {
      states.push_back(NewTensor(name + ":" + state.name, p.shape, TensorClass::kOptimizerState, state.type));
    }
  }
}

TensorId StepWriter::ParameterGradient(std::size_t k) {
  if (!Trains(k)) {
    const Tensor parameter = step_.tensors[static_cast<std::size_t>(parameters_[current_][k])];
    return NewTensor(parameter.name + ":gradient_unused", parameter.shape, TensorClass::kParameterCopy);
  }
  return NarrowsParameters() ? NarrowGradient(k) : OwnGradient(k);
}

TensorId StepWriter::OwnGradient(std::size_t k) {
  TensorId& gradient = parameter_gradients_[OwnerOf(k)][k];
  if (gradient == kNoTensor) {
    const Tensor& parameter = step_.tensors[static_cast<std::size_t>(parameters_[current_][k])];
    gradient = NewTensor(parameter.name + ":gradient", Shape(parameter.shape), TensorClass::kParameterGradient);
  }
  return gradient;
}

TensorId StepWriter::NewResult() {
  return values_[current_ + 1] =
             NewTensor(layer().name, layer().shape, TensorClass::kTransient, TypeOf(*network_, layer()));
}

TensorId StepWriter::NewAuxiliaryResult() {
  return values_[current_ + 1] =
             NewTensor(layer().name, layer().shape, TensorClass::kAuxiliary, TypeOf(*network_, layer()));
}

TensorId StepWriter::NewInput() {
  return values_[current_ + 1] =
             NewTensor(layer().name, layer().shape, TensorClass::kInput, TypeOf(*network_, layer()));
}

TensorId StepWriter::OverwriteInput() { return values_[current_ + 1] = Input(); }

bool StepWriter::MayOverwriteInput() const {
  const LayerId producer = layer().inputs[0];
  if (producer == kNetworkInput || readers_[InputValue(0)] != 1) return false;
  if (step_.tensors[static_cast<std::size_t>(Input())].use == TensorClass::kInput) return false;
  return options_->inference || !network_->layers[static_cast<std::size_t>(producer)].kind->backward_reads_result;
}

DataType StepWriter::Type() const { return TypeOf(*network_, layer()); }

TensorId StepWriter::NewInner(const std::string& name, const Shape& shape, DataType type) {
  inner_[current_].push_back(NewTensor(layer().name + ":" + name, shape, TensorClass::kTransient, type));
  return inner_[current_].back();
}

void StepWriter::NewAuxiliary(const char* name, const Shape& shape, DataType type) {
  auxiliaries_[current_].push_back(NewTensor(layer().name + ":" + name, shape, TensorClass::kAuxiliary, type));
}

// Ops ----------------------------------------------------------------------------------------------------------------

Op StepWriter::NewOp(OpKind kind, Pass pass, std::vector<TensorId> reads, std::vector<TensorId> writes,
                     const std::string& label) const {
  const DataType type = TypeOf(*network_, layer());
  // An op that autocast leaves wide multiplies wide.
  const bool autocasts = network_->precision != nullptr && network_->precision->Autocasts();
  const MathMode math = autocasts && type == network_->type ? MathMode::kFp32 : network_->math;
  return {.name = layer().name + ":" + (label.empty() ? PassName(pass) : label),
          .kind = kind,
          .pass = pass,
          .layer = static_cast<LayerId>(current_),
          .shape = UsualShape(*network_, layer()),
          .type = type,
          .layout = network_->layout,
          .math = math,
          .reads = std::move(reads),
          .writes = std::move(writes),
          .details = {.dropout_rate = attributes().rate},
          .work = {}};
}

// Emit() leaves every tensor once among what is read.
std::vector<OpSlice> StepWriter::InputSlices() const {
  std::vector<TensorId> distinct;
  std::vector<OpSlice> slices;
  for (std::size_t k = 0; k < inputs(); ++k) {
    const auto found = std::find(distinct.begin(), distinct.end(), Input(k));
    slices.push_back({static_cast<std::size_t>(found - distinct.begin()), WholeOf(layer().shape)});
    if (found == distinct.end()) distinct.push_back(Input(k));
  }
  return slices;
}

void StepWriter::Emit(Op op) {
  RemoveDuplicates(op.reads);
  op.work = CountWork(LaunchOf(op));
  step_.ops.push_back(std::move(op));
}

// A further part is added by its own op. (PyTorch makes it apart and adds then, which takes as much memory once more.)
void StepWriter::EmitOwnGradient(std::size_t k, Op op) {
  const bool further = parameter_gradients_[OwnerOf(k)][k] != kNoTensor;
  op.writes.insert(op.writes.begin(), OwnGradient(k));
  if (further) op.reads.push_back(op.writes[0]);
  op.accumulate = further;
  Emit(std::move(op));
}

void StepWriter::EmitParameterGradient(std::size_t k, Op op) {
  if (!Trains(k)) return;
  if (!NarrowsParameters()) return EmitOwnGradient(k, std::move(op));
  op.writes.insert(op.writes.begin(), NarrowGradient(k));
  Emit(std::move(op));
}

// What backward reads of the forward results is what must be kept: this is where that is found out.
void StepWriter::Classify() {
  std::vector<bool> saved(step_.tensors.size(), false);
  for (std::size_t i = static_cast<std::size_t>(step_.first_backward); i < step_.ops.size(); ++i) {
    for (const TensorId id : step_.ops[i].reads) saved[static_cast<std::size_t>(id)] = true;
  }
  for (std::size_t t = 0; t < step_.tensors.size(); ++t) {
    const bool input = step_.tensors[t].use == TensorClass::kInput;
    if (input && saved[t]) step_.maps.push_back(static_cast<TensorId>(t));
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(step_.first_backward); ++i) {
    for (const TensorId id : step_.ops[i].writes) {
      Tensor& tensor = step_.tensors[static_cast<std::size_t>(id)];
      if (tensor.use != TensorClass::kTransient || !saved[static_cast<std::size_t>(id)]) continue;
      tensor.use = TensorClass::kFeatureMap;
      step_.maps.push_back(id);
    }
  }
}

TrainingStep BuildTrainingStep(const Network& network, const StepOptions& options) {
  return StepWriter(network, options).Build();
}

}  // namespace spillway
