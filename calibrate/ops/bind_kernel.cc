#include "calibrate/ops/bind_kernel.h"

#include <fmt/format.h>

#include <algorithm>

namespace spillway {

namespace {

[[noreturn]] void Broken(const KernelCall& call, const std::string& what) {
  const std::string name = call.op == nullptr ? "" : call.op->name + ": ";
  throw DeviceError(Fault::kContract, call.issue.instruction, name + what);
}

bool Allows(Access operand, Access wanted) { return operand == wanted || operand == Access::kReadWrite; }

const OperandCall* FindWorkspace(const KernelCall& call) {
  const auto found = std::find_if(call.operands.begin(), call.operands.end(),
                                  [](const OperandCall& operand) { return operand.at.kind == BufferKind::kWorkspace; });
  return found == call.operands.end() ? nullptr : &*found;
}

const OperandCall* OperandFor(const KernelCall& call, const Tensor& known, TensorId tensor, Access access) {
  for (const OperandCall& operand : call.operands) {
    const bool wanted = operand.at.kind == BufferKind::kTensor && operand.at.tensor == tensor;
    if (!wanted || !Allows(operand.access, access)) continue;
    if (!operand.boxed && operand.at.bytes < known.bytes) {
      Broken(call, fmt::format("buffer {} has {} bytes, {} needs {}", operand.at.buffer, operand.at.bytes, known.name,
                               known.bytes));
    }
    return &operand;
  }
  return nullptr;
}

// Where the operand of the kernel's `index`-th read, or write, lies; nullptr: there is none.
void* Place(const KernelCall& call, const OperandCall* operand, const AddressOf& address, bool write, std::size_t index,
            KernelBinding& binding) {
  if (operand == nullptr) return nullptr;
  void* const there = address(operand->at, call.issue.instruction);
  if (operand->runs == nullptr) return there;
  auto known = std::find_if(binding.gathered.begin(), binding.gathered.end(),
                            [operand](const Gathered& gathered) { return gathered.buffer == operand->at.buffer; });
  if (known == binding.gathered.end()) {
    known = binding.gathered.insert(known, {.buffer = operand->at.buffer,
                                            .access = operand->access,
                                            .runs = *operand->runs,
                                            .there = static_cast<std::byte*>(there)});
  }
  (write ? known->writes : known->reads).push_back(index);
  return there;
}

// A recomputation may find a result of its op in place, such as a dropout mask, and must not write it again, or may have
// no buffer for it: such results go to the library's memory.
void BindOp(const Session& session, const KernelCall& call, const AddressOf& address, KernelBinding& binding) {
  for (const TensorId t : call.op->reads) {
    const Tensor& tensor = session.step->tensors[Index(t)];
    const OperandCall* const operand = OperandFor(call, tensor, t, Access::kRead);
    binding.reads.push_back(Place(call, operand, address, false, binding.reads.size(), binding));
    if (binding.reads.back() == nullptr) Broken(call, "it has no operand to read " + tensor.name + " from");
  }
  for (const TensorId t : call.op->writes) {
    const Tensor& tensor = session.step->tensors[Index(t)];
    const OperandCall* const operand = OperandFor(call, tensor, t, Access::kWrite);
    void* const there = Place(call, operand, address, true, binding.writes.size(), binding);
    if (there == nullptr && !call.kernel->recomputation) {
      Broken(call, "it has no operand to write " + tensor.name + " to");
    }
    binding.writes.push_back(there);
    binding.sinks.push_back(there == nullptr ? tensor.bytes : 0);
  }
}

void BindOperands(const KernelCall& call, const AddressOf& address, KernelBinding& binding) {
  for (const OperandCall& operand : call.operands) {
    if (operand.at.kind == BufferKind::kWorkspace) continue;
    void* const there = address(operand.at, call.issue.instruction);
    if (Allows(operand.access, Access::kRead)) binding.reads.push_back(there);
    if (Allows(operand.access, Access::kWrite)) binding.writes.push_back(there);
  }
}

}  // namespace

KernelBinding BindKernel(const Session& session, const KernelCall& call, const AddressOf& address) {
  for (const OperandCall& operand : call.operands) address(operand.at, call.issue.instruction);
  KernelBinding binding;
  if (call.op != nullptr) {
    BindOp(session, call, address, binding);
  } else {
    BindOperands(call, address, binding);
  }
  return binding;
}

void BindWorkspace(const KernelCall& call, Bytes wanted, Bytes alignment, const AddressOf& address,
                   KernelBinding& binding) {
  const OperandCall* const workspace = FindWorkspace(call);
  if (workspace == nullptr || workspace->at.bytes < wanted) {
    binding.scratch = wanted;
    return;
  }
  if (workspace->at.offset % alignment != 0) {
    Broken(call, fmt::format("its workspace, buffer {}, is not at a multiple of {}", workspace->at.buffer, alignment));
  }
  binding.workspace = address(workspace->at, call.issue.instruction);
}

OpCall CallToPrepare(const KernelCall& call) {
  OpCall wanted = call.op != nullptr ? CallOf(*call.op) : CallOf(*call.launch);
  wanted.launch = *call.launch;
  if (!HasAlgorithms(wanted.launch.kind)) return wanted;
  const OperandCall* const workspace = FindWorkspace(call);
  const Bytes there = workspace == nullptr ? 0 : workspace->at.bytes, granted = wanted.launch.workspace;
  wanted.launch.workspace = granted == kUsualWorkspace ? there : std::min(granted, there);
  return wanted;
}

Bytes LibraryBytes(std::span<const KernelBinding> bindings, Bytes alignment) {
  Bytes most = 0;
  for (const KernelBinding& binding : bindings) {
    Bytes sum = RoundUp(binding.scratch, alignment);
    for (const Bytes sink : binding.sinks) sum += RoundUp(sink, alignment);
    for (const Gathered& gathered : binding.gathered) sum += RoundUp(gathered.runs.Total(), alignment);
    most = std::max(most, sum);
  }
  return most;
}

void PlaceInLibrary(std::byte* base, Bytes alignment, std::span<KernelBinding> bindings) {
  for (KernelBinding& binding : bindings) {
    std::byte* next = base;
    if (binding.scratch > 0) binding.workspace = next;
    next += RoundUp(binding.scratch, alignment);
    for (std::size_t k = 0; k < binding.sinks.size(); ++k) {
      if (binding.sinks[k] > 0) binding.writes[k] = next;
      next += RoundUp(binding.sinks[k], alignment);
    }
    for (Gathered& gathered : binding.gathered) {
      gathered.here = next;
      for (const std::size_t read : gathered.reads) binding.reads[read] = next;
      for (const std::size_t write : gathered.writes) binding.writes[write] = next;
      next += RoundUp(gathered.runs.Total(), alignment);
    }
  }
}

// Random numbers for each sample: fused attention draws one for each score, as the dropout that it stands for.
static std::int64_t NumbersDrawn(const Op& op) {
  const HeadSplit& split = op.details.heads;
  const Shape& in = op.shape.in;
  return op.kind == OpKind::kAttention ? split.heads * split.queries * split.keys : in.c * in.Spatial();
}

TrainingRole RoleOf(const KernelCall& call) {
  const Launch& launch = *call.launch;
  const bool forward = launch.pass == Pass::kForward, again = call.kernel->recomputation;
  TrainingRole role;
  role.layer = call.op != nullptr ? call.op->layer : static_cast<LayerId>(call.issue.instruction);
  role.labels = TraitsOf(launch.kind).labels;
  role.loss = TraitsOf(launch.kind).loss && forward && !again;
  role.kind = launch.kind;
  if (call.op != nullptr) {
    const Shape& in = call.op->shape.in;
    const std::int64_t all = std::max(call.op->details.mean_over, in.n);
    role.share = call.op->details.loss_weight * static_cast<double>(in.n) / static_cast<double>(all);
    role.rule = call.op->details.loss;
    role.first_label = call.op->first_sample * in.Spatial();
    role.first_element = call.op->first_sample * NumbersDrawn(*call.op);
  }
  const bool given = launch.shape.operands == 0;  // inference
  role.statistics = launch.kind == OpKind::kBatchNorm && forward && (given || !again);
  return role;
}

}  // namespace spillway
