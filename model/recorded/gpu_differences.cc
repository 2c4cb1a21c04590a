#include "model/recorded/gpu_differences.h"

#include <algorithm>
#include <string_view>

namespace spillway {

namespace {

bool Has(const RecordedCall& call, std::string_view part) { return call.op.find(part) != std::string::npos; }

bool HasCall(const RecordedStep& recorded, std::string_view part) {
  return std::any_of(recorded.calls.begin(), recorded.calls.end(),
                     [part](const RecordedCall& call) { return Has(call, part); });
}

// The recorder's note (calibrate/torch/foreach.py) where no optimizer takes lists of tensors on a GPU either.
bool IsWithoutForeach(const std::string& note) { return note.starts_with("optimizer without foreach: "); }

Bytes BytesOfUse(const RecordedStep& recorded, RecordedUse use) {
  Bytes bytes = 0;
  for (std::size_t t = 0; t < recorded.uses.size(); ++t) {
    if (recorded.uses[t] == use) bytes += recorded.step.tensors[t].bytes;
  }
  return bytes;
}

// Reads and results of the largest such call.
Bytes LargestOperands(const RecordedStep& recorded, std::string_view part) {
  Bytes largest = 0;
  for (std::size_t op = 0; op < recorded.calls.size(); ++op) {
    if (!Has(recorded.calls[op], part)) continue;
    Bytes bytes = 0;
    for (const TensorId t : recorded.step.ops[op].reads) bytes += recorded.step.tensors[Index(t)].bytes;
    for (const TensorId t : recorded.step.ops[op].writes) bytes += recorded.step.tensors[Index(t)].bytes;
    largest = std::max(largest, bytes);
  }
  return largest;
}

// Of these tensors, those of forward that such a call made.
Bytes MadeBy(const RecordedStep& recorded, const std::vector<TensorId>& tensors, std::string_view part) {
  Bytes bytes = 0;
  for (const TensorId t : tensors) {
    const OpId maker = recorded.makers[Index(t)];
    if (maker == kNoOp || !recorded.step.IsForward(maker)) continue;
    const RecordedCall& call = recorded.calls[Index(maker)];
    if (Has(call, part) && !Has(call, "log_softmax")) bytes += recorded.step.tensors[Index(t)].bytes;
  }
  return bytes;
}

// Of masks at the peak that dropout drew in forward, in place too: bytes beyond one byte an element. Where the file has no
// types, elements are taken to have four bytes.
Bytes MasksBeyondBytes(const RecordedStep& recorded, const std::vector<TensorId>& tensors) {
  constexpr Bytes kNotSaid = 4;
  std::vector<Bytes> width(recorded.step.tensors.size(), 0);
  for (std::size_t op = 0; op < recorded.calls.size(); ++op) {
    const RecordedCall& call = recorded.calls[op];
    if (!Has(call, "bernoulli") || !recorded.step.IsForward(static_cast<OpId>(op))) continue;
    for (const TensorId t : recorded.step.ops[op].writes) {
      width[Index(t)] = call.element_bytes > 0 ? call.element_bytes : kNotSaid;
    }
  }
  Bytes beyond = 0;
  for (const TensorId t : tensors) {
    if (width[Index(t)] == 0) continue;
    const Bytes bytes = recorded.step.tensors[Index(t)].bytes;
    beyond += bytes - bytes / width[Index(t)];
  }
  return beyond;
}

class Differences {
 public:
  explicit Differences(const RecordedStep& recorded)
      : recorded_(recorded), at_peak_(PresentAt(recorded, FootprintOf(recorded).peak).tensors) {}

  std::vector<GpuDifference> All() {
    Products();
    Convolutions();
    Norms();
    Recurrent();
    Optimizer();
    Attention();
    Dropout();
    return std::move(all_);
  }

 private:
  void Products() {
    constexpr Bytes kProductsWorkspace = 32 * kMiB;
    all_.push_back({.what = "workspace of matrix products",
                    .whole_step = kProductsWorkspace,
                    .source = "PyTorch's notes on CUDA semantics: 8.1 MiB, on Hopper 32 MiB for each handle"});
  }

  void Convolutions() {
    if (!HasCall(recorded_, "convolution")) return;
    all_.push_back({.what = "workspace of convolutions: not known, assumed up to the largest one's operands",
                    .maybe = LargestOperands(recorded_, "convolution"),
                    .source = "cuDNN's algorithms take from nothing to more than their operands"});
  }

  void Norms() {
    if (!HasCall(recorded_, "batch_norm")) return;
    all_.push_back(
        {.what = "batch norm: no reserve besides its statistics, which are recorded",
         .source = "cuDNN keeps a reserve for norms fused with their activation, which eager PyTorch does not"});
  }

  void Recurrent() {
    constexpr std::string_view kCall = "rnn_layer";
    if (!HasCall(recorded_, kCall)) return;
    const Bytes reserve = MadeBy(recorded_, at_peak_, kCall);
    all_.push_back({.what = "recurrent layers: cuDNN's reserve in place of oneDNN's, assumed up to twice as large",
                    .maybe = reserve,
                    .source = "torch.nn.LSTM: its saved results are opaque and each library's own"});
  }

  void Optimizer() {
    const bool updates = recorded_.step.first_update < static_cast<OpId>(recorded_.step.ops.size());
    if (!updates || HasCall(recorded_, "_foreach") || HasCall(recorded_, "_fused")) return;
    if (std::ranges::any_of(recorded_.about.notes, IsWithoutForeach)) return;
    all_.push_back({.what = "temporaries of the optimizer, which takes foreach=True on a GPU",
                    .update = BytesOfUse(recorded_, RecordedUse::kWeights),
                    .source = "torch.optim: foreach takes about the size of the parameters more than the loop"});
  }

  void Attention() {
    if (!HasCall(recorded_, "softmax") || !(HasCall(recorded_, "bmm") || HasCall(recorded_, "matmul"))) return;
    all_.push_back({.what = "attention may run fused and save no scores",
                    .less = MadeBy(recorded_, at_peak_, "softmax"),
                    .source = "torch.nn.functional.scaled_dot_product_attention: kernels by device and type"});
  }

  void Dropout() {
    const Bytes less = MasksBeyondBytes(recorded_, at_peak_);
    if (less == 0 || HasCall(recorded_, "native_dropout")) return;
    all_.push_back({.what = "dropout saves masks of one byte an element, a processor those of its input's type",
                    .less = less,
                    .source = "ATen/native/Dropout.cpp: native_dropout on CUDA alone"});
  }

  const RecordedStep& recorded_;
  const std::vector<TensorId> at_peak_;
  std::vector<GpuDifference> all_;
};

}  // namespace

std::vector<GpuDifference> DifferencesOnGpu(const RecordedStep& recorded) {
  if (recorded.about.device_type == "cuda") return {};
  return Differences(recorded).All();
}

GpuPeak PeakOnGpu(const RecordedStep& recorded, const Footprint& footprint) {
  GpuPeak peak{footprint.PeakBytes(), 0};
  Bytes always = 0, update = 0;
  for (const GpuDifference& difference : DifferencesOnGpu(recorded)) {
    always += difference.whole_step + difference.maybe;
    update += difference.update;
    peak.low -= difference.less;
  }
  for (std::size_t op = 0; op < footprint.in_core.size(); ++op) {
    const bool updates = static_cast<OpId>(op) >= recorded.step.first_update;
    peak.high = std::max(peak.high, footprint.in_core[op] + always + (updates ? update : 0));
  }
  return peak;
}

}  // namespace spillway
