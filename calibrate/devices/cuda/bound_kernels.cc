#include "calibrate/devices/cuda/bound_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "calibrate/devices/cuda/emulation.h"
#include "model/profile/launch_text.h"
#include "model/step/launch.h"
#include "model/step/work_hash.h"

namespace spillway {

namespace {

constexpr Bytes kAlignment = 256;  // of everything in the library's memory, as cudaMalloc's
std::string Name(const KernelCall& call) { return call.op == nullptr ? "" : call.op->name + ": "; }

bool Trains(const Launch& launch) { return launch.type == DataType::kFp32 && launch.layout == Layout::kNchw; }

Bytes FloatBytes(std::int64_t count) { return count * static_cast<Bytes>(sizeof(float)); }

}  // namespace

CudaKernelCache::Entry& CudaKernelCache::Prepare(const OpCall& call) {
  return *entries_.Ref(call, [&] { return std::make_unique<Entry>(Entry{.kernel = calls_.Prepare(call)}); });
}

// ---- binding ----------------------------------------------------------------------------------------------------------

CudaBoundKernels::CudaBoundKernels(const Session& session, CudaCalls& calls, CudaKernelCache& cache,
                                   CudaSessionMemory& memory, TrainingState& training)
    : session_(session),
      calls_(calls),
      cache_(cache),
      memory_(memory),
      training_(training),
      row_(session.program->code.size(), kNone) {
  bound_.reserve(session.kernels.size());
  bindings_.reserve(session.kernels.size());
  for (const KernelCall& call : session.kernels) Bind(call);
  PlaceLibrary();
}

void CudaBoundKernels::Bind(const KernelCall& call) {
  row_[call.issue.instruction] = static_cast<std::uint32_t>(bound_.size());
  Bound& bound = bound_.emplace_back();
  KernelBinding& binding = bindings_.emplace_back();
  if (call.op == nullptr && call.operands.empty()) return;
  const AddressOf address = [this](const Location& at, std::uint32_t instruction) -> void* {
    if (at.kind != BufferKind::kHost) return memory_.At(at, instruction);
    throw DeviceError(Fault::kContract, instruction,
                      fmt::format("buffer {} is on the host, where kernels do not reach", at.buffer));
  };
  for (const OperandCall& operand : call.operands) address(operand.at, call.issue.instruction);
  Prepare(call, bound);
  binding = BindKernel(session_, call, address);
  BindWorkspace(call, bound.entry->kernel->workspace(), kAlignment, address, binding);
  bound.role = RoleOf(call);
  bound.shape = call.launch->shape.in;
  bound.arguments.learning_rate = training_.options().learning_rate;
  bound.arguments.momentum = training_.options().momentum;
  PlaceTraining(bound);
}

void CudaBoundKernels::Prepare(const KernelCall& call, Bound& bound) {
  const auto refuse = [&](const std::string& what) {
    throw DeviceError(Fault::kRefused, call.issue.instruction, Name(call) + what);
  };
  try {
    const OpCall wanted = CallToPrepare(call);
    if (!Trains(wanted.launch)) {
      refuse(fmt::format("the CUDA device trains in fp32 NCHW, not{}", FormatText(wanted.launch)));
    }
    bound.entry = &cache_.Prepare(wanted);
    const Bytes needed = bound.entry->kernel->workspace();
    if (!HasAlgorithms(wanted.launch.kind) || needed <= wanted.launch.workspace) return;
    refuse(fmt::format("it needs {} bytes of workspace, {} are granted", needed, wanted.launch.workspace));
  } catch (const UserError& error) {
    refuse(error.what());
  } catch (const DeviceError& error) {
    if (error.fault() != Fault::kRefused || error.instruction() != kNoInstruction) throw;
    refuse(error.what());
  }
}

Bytes CudaBoundKernels::Take(Bytes bytes) {
  const Bytes offset = library_bytes_;
  library_bytes_ += RoundUp(bytes, kAlignment);
  staging_bytes_ = std::max(staging_bytes_, bytes);
  return offset;
}

const CudaBoundKernels::Labels& CudaBoundKernels::LabelsOf(const Bound& bound) {
  const Shape& shape = bound.shape;
  const std::int64_t first = bound.role.first_label;
  const auto found = std::find_if(labels_.begin(), labels_.end(),
                                  [&](const Labels& l) { return l.shape == shape && l.first == first; });
  if (found != labels_.end()) return *found;
  labels_.push_back({.shape = shape,
                     .first = first,
                     .offset = Take(FloatBytes(shape.Elements())),
                     .classes = training_.Labels(first, shape.n * shape.Spatial(), shape.c)});
  return labels_.back();
}

// Offsets for now: the memory is reserved when all of them are known.
void CudaBoundKernels::PlaceTraining(Bound& bound) {
  if (bound.role.labels) LabelsOf(bound);
  if (bound.role.loss) bound.kept = Take(FloatBytes(bound.shape.Elements()));
  if (!bound.role.statistics || statistics_.count(bound.role.layer) != 0) return;
  const std::span<float> values = training_.Statistics(bound.role.layer, bound.shape.c);
  statistics_[bound.role.layer] = {Take(static_cast<Bytes>(values.size_bytes())), values};
}

void CudaBoundKernels::PlaceLibrary() {
  const Bytes scratch = LibraryBytes(bindings_, kAlignment);
  if (scratch > 0) NeedOneStream();
  memory_.ReserveLibrary(library_bytes_ + scratch);
  std::byte* const base = memory_.library();
  PlaceInLibrary(base + library_bytes_, kAlignment, bindings_);
  for (std::size_t k = 0; k < bound_.size(); ++k) {
    Bound& bound = bound_[k];
    bound.arguments.reads = bindings_[k].reads;
    bound.arguments.writes = bindings_[k].writes;
    bound.arguments.workspace = bindings_[k].workspace;
    if (bound.role.labels) bound.arguments.labels = base + LabelsOf(bound).offset;
    if (bound.role.statistics) bound.arguments.running_statistics = base + statistics_.at(bound.role.layer).offset;
  }
}

// The library's memory is shared by kernels that run one at a time.
void CudaBoundKernels::NeedOneStream() const {
  for (const KernelCall& call : session_.kernels) {
    if (call.issue.stream == session_.kernels[0].issue.stream) continue;
    throw DeviceError(Fault::kContract, call.issue.instruction,
                      "kernels that need memory beside their operands run on one stream only");
  }
}

// ---- running ----------------------------------------------------------------------------------------------------------

void CudaBoundKernels::RunBound(const Bound& bound, CudaStream* stream) const {
  CudaArguments arguments = bound.arguments;
  arguments.random_stream =
      RandomStream(training_.options().seed, training_.iteration(), bound.role.layer, bound.role.first_element);
  bound.entry->kernel->Run(stream, arguments);
}

void CudaBoundKernels::Run(std::uint32_t instruction, CudaStream* stream) {
  const Bound& bound = bound_[row_[instruction]];
  if (bound.entry == nullptr) return calls_.Spin(0, stream);  // a launch all the same
  RunBound(bound, stream);
  if (bound.role.loss) {
    calls_.CopyOnDevice(memory_.library() + bound.kept, bound.arguments.writes[0], FloatBytes(bound.shape.Elements()),
                        stream);
    losses_.push_back(&bound);
  }
  if (bound.spin > 0) calls_.Spin(bound.spin, stream);
}

bool CudaBoundKernels::Rehearsed() const {
  return std::all_of(bound_.begin(), bound_.end(),
                     [](const Bound& bound) { return bound.entry == nullptr || bound.entry->time >= 0; });
}

void CudaBoundKernels::Slow(double slowdown, double gap) {
  std::vector<Bound*> kernels;
  for (Bound& bound : bound_) {
    if (bound.entry != nullptr) kernels.push_back(&bound);
  }
  if (!Rehearsed()) {
    const std::vector<double> times = RehearseKernels(
        calls_, kernels.size(), [&](std::size_t k, CudaStream* stream) { RunBound(*kernels[k], stream); });
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      if (kernels[k]->entry->time < 0) kernels[k]->entry->time = times[k];
    }
  }
  for (Bound* bound : kernels) bound->spin = std::max(0.0, (slowdown - 1) * bound->entry->time - gap);
}

// ---- training ---------------------------------------------------------------------------------------------------------

void CudaBoundKernels::UploadStatistics(CudaStaging& staging) {
  for (const auto& [layer, statistics] : statistics_) {
    staging.Upload(memory_.library() + statistics.offset, std::as_bytes(statistics.values));
  }
}

void CudaBoundKernels::DownloadStatistics(CudaStaging& staging) {
  for (const auto& [layer, statistics] : statistics_) {
    staging.Download(std::as_writable_bytes(statistics.values), memory_.library() + statistics.offset);
  }
}

void CudaBoundKernels::UploadLabels(CudaStaging& staging) {
  losses_.clear();
  for (const Labels& labels : labels_) {
    const std::vector<float> rows = OneHot(labels.shape, labels.classes);
    staging.Upload(memory_.library() + labels.offset, std::as_bytes(std::span(rows)));
  }
}

double CudaBoundKernels::ReadLoss(CudaStaging& staging) {
  if (losses_.empty()) return std::numeric_limits<double>::quiet_NaN();
  double loss = 0;
  for (const Bound* part : losses_) {
    std::vector<float> probabilities(static_cast<std::size_t>(part->shape.Elements()));
    staging.Download(std::as_writable_bytes(std::span(probabilities)), memory_.library() + part->kept);
    const TrainingRole& role = part->role;
    loss += role.share * LossOf(role.kind, role.rule, part->shape, probabilities, LabelsOf(*part).classes);
  }
  return loss;
}

}  // namespace spillway
