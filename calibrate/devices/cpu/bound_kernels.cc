#include "calibrate/devices/cpu/bound_kernels.h"

#include <cstring>

namespace spillway {

namespace {

constexpr Bytes kAlignment = 64;

void Gather(const KernelBinding& binding) {
  for (const Gathered& gathered : binding.gathered) {
    if (gathered.access == Access::kWrite) continue;
    ForEachRun(gathered.runs, [&](Bytes from, Bytes to, Bytes run) {
      std::memcpy(gathered.here + to, gathered.there + from, static_cast<std::size_t>(run));
    });
  }
}

void Scatter(const KernelBinding& binding) {
  for (const Gathered& gathered : binding.gathered) {
    if (gathered.access == Access::kRead) continue;
    ForEachRun(gathered.runs, [&](Bytes from, Bytes to, Bytes run) {
      std::memcpy(gathered.there + from, gathered.here + to, static_cast<std::size_t>(run));
    });
  }
}

}  // namespace

BoundKernels::BoundKernels(const Session& session, CpuKernels& kernels, SessionMemory& memory, TrainingState& training)
    : session_(session),
      kernels_(kernels),
      memory_(memory),
      training_(training),
      row_(session.program->code.size(), kNone) {
  bound_.reserve(session.kernels.size());
  bindings_.reserve(session.kernels.size());
  for (const KernelCall& call : session.kernels) Bind(call);
  PlaceScratch();
}

void BoundKernels::Bind(const KernelCall& call) {
  row_[call.issue.instruction] = static_cast<std::uint32_t>(bound_.size());
  Bound& bound = bound_.emplace_back();
  KernelBinding& binding = bindings_.emplace_back();
  if (call.op == nullptr && call.operands.empty()) return;  // a launch of nothing
  const AddressOf address = [this](const Location& at, std::uint32_t instruction) -> void* {
    return memory_.At(at, instruction).data();
  };
  for (const OperandCall& operand : call.operands) memory_.At(operand.at, call.issue.instruction);
  bound.kernel = Prepare(call);
  binding = BindKernel(session_, call, address);
  BindWorkspace(call, bound.kernel->workspace(), kAlignment, address, binding);
  BindTraining(call, bound);
}

const CpuKernel* BoundKernels::Prepare(const KernelCall& call) {
  try {
    return &kernels_.Prepare(CallToPrepare(call));
  } catch (const UserError& error) {
    const std::string name = call.op == nullptr ? "" : call.op->name + ": ";
    throw DeviceError(Fault::kRefused, call.issue.instruction, name + error.what());
  }
}

void BoundKernels::BindTraining(const KernelCall& call, Bound& bound) {
  const Shape& shape = call.launch->shape.in;
  bound.role = RoleOf(call);
  bound.shape = LossShape(call.launch->kind, shape);
  bound.arguments.learning_rate = training_.options().learning_rate;
  bound.arguments.momentum = training_.options().momentum;
  if (bound.role.labels)
    bound.arguments.labels = training_.Labels(bound.role.first_label, shape.n * shape.Spatial(), shape.c);
  if (bound.role.statistics) bound.arguments.running_statistics = training_.Statistics(bound.role.layer, shape.c);
}

void BoundKernels::PlaceScratch() {
  memory_.ReserveLibrary(LibraryBytes(bindings_, kAlignment));
  PlaceInLibrary(memory_.library().data(), kAlignment, bindings_);
  for (std::size_t k = 0; k < bound_.size(); ++k) {
    bound_[k].arguments.reads = bindings_[k].reads;
    bound_[k].arguments.writes = bindings_[k].writes;
    bound_[k].arguments.workspace = bindings_[k].workspace;
  }
}

void BoundKernels::Run(std::uint32_t instruction) {
  const Bound& bound = bound_[row_[instruction]];
  if (bound.kernel == nullptr) return;
  CpuArguments arguments = bound.arguments;
  arguments.random_stream =
      RandomStream(training_.options().seed, training_.iteration(), bound.role.layer, bound.role.first_element);
  arguments.iteration = training_.iteration();
  Gather(bindings_[row_[instruction]]);
  bound.kernel->Run(arguments);
  Scatter(bindings_[row_[instruction]]);
  if (!bound.role.loss) return;
  const std::span<const float> probabilities(static_cast<const float*>(arguments.writes[0]),
                                             static_cast<std::size_t>(bound.shape.Elements()));
  const TrainingRole& role = bound.role;
  training_.NoteLoss(LossOf(role.kind, role.rule, bound.shape, probabilities, arguments.labels), role.share);
}

}  // namespace spillway
