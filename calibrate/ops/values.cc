#include "calibrate/ops/values.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "model/util/hash.h"

namespace spillway {

namespace {

// A sequence of its own for each pair.
std::uint64_t Sequence(std::uint64_t a, std::uint64_t b) { return Hasher().Add(a).Add(b).Value(); }
std::uint64_t DrawAt(std::uint64_t sequence, std::uint64_t index) { return Hasher(sequence).Add(index).Value(); }

// Uniform in [-1, 1), in steps of 2^-23.
float Uniform(std::uint64_t sequence, std::uint64_t index) {
  return static_cast<float>(DrawAt(sequence, index) >> 40) * 0x1p-23f - 1.0f;
}

// Kinds of what is drawn, beside parameters and labels (1, training_state.cc).
constexpr std::uint64_t kImages = 2, kClasses = 3, kTexts = 4;

}  // namespace

TrainingValues::TrainingValues(const TrainingStep& step, std::uint64_t seed, Purpose purpose, Bytes most_kept)
    : step_(step), seed_(seed), purpose_(purpose), most_kept_(most_kept), results_(step.tensors.size()) {
  for (const Op& op : step.ops) {
    if (TraitsOf(op.kind).labels) classes_ = op.shape.in.c;
    if (op.kind == OpKind::kPairLoss && op.details.loss.function == PairFunction::kBinaryCrossEntropy) {
      shares_.push_back(step.tensors[static_cast<std::size_t>(op.reads[1])].name);
    }
    if (op.kind != OpKind::kEmbedding) continue;
    const std::int64_t vocabulary = op.shape.in.c;
    vocabularies_.resize(static_cast<std::size_t>(op.details.whole.c), vocabulary);
    std::int64_t& least = vocabularies_[static_cast<std::size_t>(op.details.row)];
    least = std::min(least, vocabulary);
  }
}

void TrainingValues::Fill(int iteration, TensorId tensor, std::span<std::byte> bytes) {
  const Tensor& wanted = step_.tensors[static_cast<std::size_t>(tensor)];
  const bool drawn = wanted.use == TensorClass::kInput || wanted.use == TensorClass::kParameter;
  if (!drawn) {
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
    return;
  }
  const std::pair<int, TensorId> key{wanted.use == TensorClass::kInput ? iteration : 0, tensor};
  const auto known = kept_.find(key);
  if (known != kept_.end() && known->second.size() == bytes.size()) {
    std::copy(known->second.begin(), known->second.end(), bytes.begin());
    return;
  }
  Draw(iteration, wanted, bytes);
  const auto size = static_cast<Bytes>(bytes.size());
  if (purpose_ != Purpose::kTimes || known != kept_.end() || size > most_kept_ - kept_bytes_) return;
  kept_.emplace(key, std::vector<std::byte>(bytes.begin(), bytes.end()));
  kept_bytes_ += size;
}

// Of all that the numbers are drawn from: seed, tensor, and of the input iteration and number of classes.
std::uint64_t TrainingValues::Identity(int iteration, TensorId tensor) const {
  const Tensor& wanted = step_.tensors[static_cast<std::size_t>(tensor)];
  Hasher hash(seed_);
  hash.Add(wanted.name).Add(static_cast<std::uint64_t>(wanted.use));
  const Shape& shape = wanted.shape;
  for (const std::int64_t size : {shape.n, shape.c, shape.Spatial(), wanted.bytes}) {
    hash.Add(static_cast<std::uint64_t>(size));
  }
  if (wanted.use == TensorClass::kInput) {
    hash.Add(static_cast<std::uint64_t>(iteration)).Add(static_cast<std::uint64_t>(classes_));
    hash.Add(static_cast<std::uint64_t>(wanted.first_sample)).Add(static_cast<std::uint64_t>(IsShare(wanted)));
  }
  return hash.Value() | 1;
}

void TrainingValues::Draw(int iteration, const Tensor& tensor, std::span<std::byte> bytes) const {
  if (tensor.type == DataType::kInt64) return DrawTokens(iteration, tensor, bytes);
  std::vector<float> values(bytes.size() / sizeof(float), 0.0f);
  if (tensor.use == TensorClass::kInput) FillInput(iteration, tensor, values);
  if (tensor.use == TensorClass::kParameter) FillParameter(tensor, values);
  const std::size_t filled = values.size() * sizeof(float);
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), filled);
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(filled), bytes.end(), std::byte{0});
}

bool TrainingValues::IsShare(const Tensor& tensor) const {
  return std::find(shares_.begin(), shares_.end(), tensor.name) != shares_.end();
}

void TrainingValues::FillInput(int iteration, const Tensor& tensor, std::span<float> values) const {
  // Further inputs of the network are drawn from sequences of their own.
  const std::string whose = tensor.name.substr(0, tensor.name.find(':'));  // whichever part of the batch
  const std::uint64_t seed = whose == "input" ? seed_ : Hasher(seed_).Add(whose).Value();
  const std::uint64_t images = Sequence(Sequence(seed, kImages), static_cast<std::uint64_t>(iteration));
  const std::uint64_t classes = Sequence(seed, kClasses);
  const bool share = IsShare(tensor);
  const auto size = static_cast<std::size_t>(tensor.shape.Elements() / tensor.shape.n);
  const auto first = static_cast<std::size_t>(tensor.first_sample);
  for (std::size_t begin = 0; begin < values.size(); begin += size) {  // a sample
    const std::int32_t label = LabelOf(seed_, static_cast<std::uint64_t>(iteration), first + begin / size, classes_);
    const std::uint64_t picture = Sequence(classes, static_cast<std::uint64_t>(label));
    const std::size_t end = std::min(values.size(), begin + size);
    for (std::size_t i = begin; i < end; ++i) {
      values[i] = 0.5f * Uniform(images, first * size + i) + 0.5f * Uniform(picture, i - begin);
      if (share) values[i] = 0.5f + 0.5f * values[i];
    }
  }
}

// Below the vocabulary of the row: those of the batch, whatever its parts.
void TrainingValues::DrawTokens(int iteration, const Tensor& tensor, std::span<std::byte> bytes) const {
  const std::uint64_t texts = Sequence(Sequence(seed_, kTexts), static_cast<std::uint64_t>(iteration));
  const auto rows = static_cast<std::size_t>(tensor.shape.c), size = static_cast<std::size_t>(tensor.shape.Spatial());
  const std::size_t first = static_cast<std::size_t>(tensor.first_sample) * rows * size;
  std::vector<std::int64_t> tokens(bytes.size() / sizeof(std::int64_t));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::size_t row = i / size % rows;
    const std::int64_t vocabulary = row < vocabularies_.size() ? vocabularies_[row] : 1;
    tokens[i] = static_cast<std::int64_t>(DrawAt(texts, first + i) % static_cast<std::uint64_t>(vocabulary));
  }
  if (!tokens.empty()) std::memcpy(bytes.data(), tokens.data(), tokens.size() * sizeof(std::int64_t));
}

void TrainingValues::FillParameter(const Tensor& tensor, std::span<float> values) const {
  if (tensor.name.ends_with(":scale")) std::fill(values.begin(), values.end(), 1.0f);
  if (tensor.name.ends_with(":slope")) std::fill(values.begin(), values.end(), 0.25f);
  if (!tensor.name.ends_with(":weight")) return;
  const std::uint64_t sequence = Hasher(seed_).Add(tensor.name).Value();
  const double fan_in = static_cast<double>(tensor.shape.Elements() / tensor.shape.n);
  const auto bound = static_cast<float>(std::sqrt(6 / fan_in));  // uniform of variance 2 / fan-in
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = bound * Uniform(sequence, i);
}

void TrainingValues::Take(TensorId tensor, std::span<const std::byte> bytes) {
  results_[static_cast<std::size_t>(tensor)].assign(bytes.begin(), bytes.end());
}

}  // namespace spillway
