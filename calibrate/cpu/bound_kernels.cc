#include "calibrate/cpu/bound_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "calibrate/cpu/values.h"

namespace spillway {

namespace {

constexpr Bytes kAlignment = 64;
Bytes Aligned(Bytes bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
std::size_t At(std::int32_t id) { return static_cast<std::size_t>(id); }

std::string Name(const KernelCall& call) { return call.op == nullptr ? "" : call.op->name + ": "; }

[[noreturn]] void Broken(const KernelCall& call, const std::string& what) {
  throw DeviceError(Fault::kContract, call.issue.instruction, Name(call) + what);
}

bool Allows(Access operand, Access wanted) { return operand == wanted || operand == Access::kReadWrite; }

const OperandCall* FindWorkspace(const KernelCall& call) {
  const auto found = std::find_if(call.operands.begin(), call.operands.end(),
                                  [](const OperandCall& operand) { return operand.at.kind == BufferKind::kWorkspace; });
  return found == call.operands.end() ? nullptr : &*found;
}

}  // namespace

// ---- training -------------------------------------------------------------------------------------------------------

void TrainingState::StartIteration(std::uint64_t iteration) {
  iteration_ = iteration;
  loss_ = std::numeric_limits<double>::quiet_NaN();
  for (auto& [key, labels] : labels_) {
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = LabelOf(options_.seed, iteration, i, key.second);
  }
}

std::span<const std::int32_t> TrainingState::Labels(std::int64_t count, std::int64_t classes) {
  std::vector<std::int32_t>& labels = labels_[{count, classes}];
  labels.resize(static_cast<std::size_t>(count));
  return labels;
}

std::span<float> TrainingState::Statistics(LayerId layer, std::int64_t channels) {
  std::vector<float>& values = statistics_[layer];
  if (!values.empty()) return values;
  values.resize(static_cast<std::size_t>(2 * channels), 0.0f);
  std::fill(values.begin() + static_cast<std::ptrdiff_t>(channels), values.end(), 1.0f);
  return values;
}

// ---- binding --------------------------------------------------------------------------------------------------------

BoundKernels::BoundKernels(const Network& network, const Session& session, CpuKernels& kernels, SessionMemory& memory,
                           TrainingState& training)
    : network_(network),
      session_(session),
      kernels_(kernels),
      memory_(memory),
      training_(training),
      row_(session.program->code.size(), kNone) {
  bound_.reserve(session.kernels.size());
  for (const KernelCall& call : session.kernels) Bind(call);
  PlaceInLibrary();
}

void BoundKernels::Bind(const KernelCall& call) {
  row_[call.issue.instruction] = static_cast<std::uint32_t>(bound_.size());
  Bound& bound = bound_.emplace_back();
  for (const OperandCall& operand : call.operands) memory_.At(operand.at, call.issue.instruction);
  if (call.op == nullptr && call.operands.empty()) return;  // a launch of nothing
  Prepare(call, bound);
  if (call.op != nullptr) {
    BindOp(call, *call.op, bound);
  } else {
    BindOperands(call, bound);
  }
  bound.arguments = {.reads = bound.reads,
                     .writes = bound.writes,
                     .workspace = WorkspaceOf(call, bound),
                     .learning_rate = training_.options().learning_rate,
                     .momentum = training_.options().momentum};
  BindTraining(call, bound);
}

void BoundKernels::Prepare(const KernelCall& call, Bound& bound) {
  try {
    CpuCall wanted = call.op != nullptr ? CallOf(network_, *session_.step, call.kernel->op) : CallOf(*call.launch);
    wanted.launch = *call.launch;
    if (wanted.launch.kind == OpKind::kConvolution) {
      const OperandCall* workspace = FindWorkspace(call);
      const Bytes there = workspace == nullptr ? 0 : workspace->at.bytes;
      const Bytes granted = wanted.launch.workspace;
      wanted.launch.workspace = granted == kUsualWorkspace ? there : std::min(granted, there);
    }
    bound.kernel = &kernels_.Prepare(wanted);
  } catch (const UserError& error) {
    throw DeviceError(Fault::kRefused, call.issue.instruction, Name(call) + error.what());
  }
}

// A recomputation may find a result of its op in place, such as a dropout mask, and must not write it again, or may have
// no buffer for it: such results go to the library's memory.
void BoundKernels::BindOp(const KernelCall& call, const Op& op, Bound& bound) {
  const bool again = call.kernel->recomputation;
  for (const TensorId t : op.reads) {
    void* const address = AddressOf(call, t, Access::kRead);
    if (address == nullptr) Broken(call, "it has no operand to read " + session_.step->tensors[At(t)].name + " from");
    bound.reads.push_back(address);
  }
  for (const TensorId t : op.writes) {
    const Tensor& tensor = session_.step->tensors[At(t)];
    void* const address = AddressOf(call, t, Access::kWrite);
    if (address == nullptr && !again) Broken(call, "it has no operand to write " + tensor.name + " to");
    bound.writes.push_back(address);
    bound.sinks.push_back(address == nullptr ? Aligned(tensor.bytes) : 0);
  }
}

void* BoundKernels::AddressOf(const KernelCall& call, TensorId tensor, Access access) const {
  for (const OperandCall& operand : call.operands) {
    const bool wanted = operand.at.kind == BufferKind::kTensor && operand.at.tensor == tensor;
    if (!wanted || !Allows(operand.access, access)) continue;
    const Tensor& known = session_.step->tensors[At(tensor)];
    if (operand.at.bytes < known.bytes) {
      Broken(call, fmt::format("buffer {} has {} bytes, {} needs {}", operand.at.buffer, operand.at.bytes, known.name,
                               known.bytes));
    }
    return memory_.At(operand.at, call.issue.instruction).data();
  }
  return nullptr;
}

void BoundKernels::BindOperands(const KernelCall& call, Bound& bound) {
  for (const OperandCall& operand : call.operands) {
    if (operand.at.kind == BufferKind::kWorkspace) continue;
    void* const address = memory_.At(operand.at, call.issue.instruction).data();
    if (Allows(operand.access, Access::kRead)) bound.reads.push_back(address);
    if (Allows(operand.access, Access::kWrite)) bound.writes.push_back(address);
  }
}

void BoundKernels::BindTraining(const KernelCall& call, Bound& bound) {
  const Launch& launch = *call.launch;
  const Shape& shape = launch.shape.in;
  const bool forward = launch.pass == Pass::kForward;
  bound.layer = call.op != nullptr ? call.op->layer : static_cast<LayerId>(call.issue.instruction);
  if (launch.kind == OpKind::kSoftmaxLoss) {
    bound.arguments.labels = training_.Labels(shape.n * shape.Spatial(), shape.c);
    bound.loss = forward && !call.kernel->recomputation;
    bound.shape = shape;
  }
  const bool given_statistics = launch.shape.operands == 0;
  if (launch.kind == OpKind::kBatchNorm && forward && (given_statistics || !call.kernel->recomputation)) {
    bound.arguments.running_statistics = training_.Statistics(bound.layer, shape.c);
  }
}

// nullptr: none is needed, or the library's, which PlaceInLibrary() adds.
void* BoundKernels::WorkspaceOf(const KernelCall& call, const Bound& bound) const {
  const OperandCall* workspace = FindWorkspace(call);
  if (workspace == nullptr || workspace->at.bytes < bound.kernel->workspace()) return nullptr;
  if (workspace->at.offset % kAlignment == 0) return memory_.At(workspace->at, call.issue.instruction).data();
  Broken(call, fmt::format("its workspace, buffer {}, is not at a multiple of {}", workspace->at.buffer, kAlignment));
}

void BoundKernels::PlaceInLibrary() {
  const auto scratch = [](const Bound& bound) {
    const bool own = bound.kernel == nullptr || bound.arguments.workspace != nullptr;
    return own ? 0 : Aligned(bound.kernel->workspace());
  };
  Bytes most = 0;
  for (const Bound& bound : bound_) {
    Bytes sum = scratch(bound);
    for (const Bytes sink : bound.sinks) sum += sink;
    most = std::max(most, sum);
  }
  memory_.ReserveLibrary(most);
  for (Bound& bound : bound_) {
    std::byte* next = memory_.library().data();
    const Bytes own = scratch(bound);
    if (own > 0) bound.arguments.workspace = next;
    next += own;
    for (std::size_t k = 0; k < bound.sinks.size(); ++k) {
      if (bound.sinks[k] > 0) bound.writes[k] = next;
      next += bound.sinks[k];
    }
  }
}

// ---- running --------------------------------------------------------------------------------------------------------

void BoundKernels::Run(std::uint32_t instruction) {
  const Bound& bound = bound_[row_[instruction]];
  if (bound.kernel == nullptr) return;
  CpuArguments arguments = bound.arguments;
  arguments.random_stream = RandomStream(training_.options().seed, training_.iteration(), bound.layer);
  bound.kernel->Run(arguments);
  if (!bound.loss) return;
  const std::span<const float> probabilities(static_cast<const float*>(bound.writes[0]),
                                             static_cast<std::size_t>(bound.shape.Elements()));
  training_.NoteLoss(CrossEntropy(bound.shape, probabilities, arguments.labels));
}

}  // namespace spillway
