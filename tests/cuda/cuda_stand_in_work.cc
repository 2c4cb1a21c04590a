// What the stand-in's streams are given to do: copies, fills, kernels.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "hw/text/document.h"
#include "model/profile/launch_text.h"
#include "tests/cuda/cuda_stand_in_parts.h"

namespace spillway {

namespace {

using What = StandInFault::What;

// The processor's kernels, which have no TF32: what comes out is rounded.
OpCall InFp32(OpCall call) {
  if (call.launch.math == MathMode::kTf32) call.launch.math = MathMode::kFp32;
  return call;
}

// Of a convolution or product.
Bytes ElementsOfResult(const Launch& launch) {
  const OpShape& shape = launch.shape;
  if (launch.pass == Pass::kForward) return shape.out.Elements();
  if (launch.pass == Pass::kBackwardData) return shape.in.Elements();
  if (launch.kind == OpKind::kLinear) return shape.in.Elements() / shape.in.n * shape.out.c;
  return shape.out.c * (shape.in.c / shape.groups) * shape.window[0] * shape.window[1] * shape.window[2];
}

// Classes, batch outermost, of one-hot rows.
std::vector<std::int32_t> ClassesOf(const Shape& shape, const float* one_hot) {
  const std::int64_t positions = shape.Spatial();
  std::vector<std::int32_t> classes(static_cast<std::size_t>(shape.n * positions), -1);
  for (std::int64_t i = 0; i < shape.Elements(); ++i) {
    const std::int64_t n = i / (shape.c * positions), c = i / positions % shape.c;
    if (one_hot[i] != 0)
      classes[static_cast<std::size_t>(n * positions + i % positions)] = static_cast<std::int32_t>(c);
  }
  return classes;
}

}  // namespace

// ---- copies -----------------------------------------------------------------------------------------------------------

double CudaStandIn::CopyTime(Bytes bytes, Direction direction) const {
  if (options_.copy_time) return options_.copy_time(bytes, direction);
  return options_.copy_latency + static_cast<double>(bytes) / options_.copy_rate[static_cast<std::size_t>(direction)];
}

double CudaStandIn::OnDeviceTime(Bytes bytes) {
  return options_.device_rate > 0 ? Noisy(static_cast<double>(bytes) / options_.device_rate) : 0;
}

void CudaStandIn::Copy(void* to, const void* from, Bytes bytes, Direction direction, CudaStream* stream) {
  CopyRows(to, bytes, from, bytes, bytes, 1, direction, stream);
}

void CudaStandIn::CopyRows(void* to, Bytes to_pitch, const void* from, Bytes from_pitch, Bytes row_bytes,
                           std::int64_t rows, Direction direction, CudaStream* stream) {
  Enter(What::kCopyCall, "cudaMemcpyAsync(to, from, bytes, kind, stream)");
  const bool in = direction == Direction::kHostToDevice, corrupts = Hits(What::kCopyCorrupts);
  const bool pinned = Holds(in ? from : to, 1, false);
  const bool carries =
      !options_.sparse ||
      (rows == 1 && row_bytes <= std::min(options_.carried, pinned ? kGiB : kMiB) && IsBetweenSteps(*stream));
  const auto copy = [=, this] {
    const Bytes to_end = to_pitch * (rows - 1) + row_bytes, from_end = from_pitch * (rows - 1) + row_bytes;
    if (!Holds(in ? to : from, in ? to_end : from_end, true)) {
      return Violated("a copy touches device memory that is not there");
    }
    if (options_.sparse) return CarryOverLink(to, from, to_end, direction, carries);
    const auto carried = static_cast<std::size_t>(std::min(row_bytes, options_.carried));
    for (std::int64_t row = 0; row < rows; ++row) {
      std::memcpy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, carried);
    }
    if (corrupts) static_cast<char*>(to)[row_bytes / 2] ^= 1;
  };
  const Bytes bytes = row_bytes * rows;
  Item item{.duration = Shuffled(CopyTime(bytes, direction)), .effect = copy, .reported = true};
  item.done = {.work = Work::kCopy, .to = to, .from = from, .bytes = bytes, .direction = direction};
  if (Hits(What::kCopyFails)) item.fails = "a copy failed on the device";
  Give(stream, std::move(item));
  if (!pinned) Synchronize(stream);
}

void CudaStandIn::CopyOnDevice(void* to, const void* from, Bytes bytes, CudaStream* stream) {
  Enter(What::kNone, "cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream)");
  Item item{.duration = OnDeviceTime(bytes),
            .effect =
                [=, this] {
                  if (!Holds(to, bytes, true) || !Holds(from, bytes, true)) {
                    return Violated("a copy on the device touches memory that is not there");
                  }
                  CarryOnDevice(to, from, bytes);
                },
            .reported = true};
  item.done = {.work = Work::kOnDevice, .to = to, .from = from, .bytes = bytes};
  Give(stream, std::move(item));
}

void CudaStandIn::Fill(void* at, unsigned char value, Bytes bytes, CudaStream* stream) {
  Enter(What::kNone, "cudaMemsetAsync(at, value, bytes, stream)");
  Item item{.duration = OnDeviceTime(bytes),
            .effect =
                [=, this] {
                  if (!Holds(at, bytes, true)) return Violated("a fill touches memory that is not there");
                  if (options_.sparse) return contents_.Fill(at, value, bytes);
                  std::memset(at, value, static_cast<std::size_t>(bytes));
                },
            .reported = true};
  item.done = {.work = Work::kOnDevice, .to = at, .bytes = bytes};
  Give(stream, std::move(item));
}

void CudaStandIn::Spin(double nanoseconds, CudaStream* stream) {
  Enter(What::kNone, "spin<<<1, 1, 0, stream>>>(nanoseconds)");
  Load("spin");
  Item item{.duration = nanoseconds + options_.spin_gap, .reported = true};
  item.done.work = Work::kSpin;
  Give(stream, std::move(item));
}

void CudaStandIn::HoldUntil(volatile int* flag, CudaStream* stream) {
  Enter(What::kNone, "hold<<<1, 1, 0, stream>>>(flag)");
  if (!Holds(const_cast<int*>(flag), sizeof(int), false)) Violated("a stream is held by a flag that is not pinned");
  Item item{.kind = Item::Kind::kHold, .flag = flag, .reported = true};
  item.done.work = Work::kHold;
  Give(stream, std::move(item));
}

// The clock ran since the last mark as it runs now.
void CudaStandIn::Mark(CudaMoment* moments, CudaStream* stream) {
  Enter(What::kNone, "mark<<<blocks, 32, 0, stream>>>(moments)");
  if (!Holds(moments, sizeof(CudaMoment) * kCudaMostMultiprocessors, false)) Violated("a mark goes to unpinned memory");
  Give(stream, {.effect = [this, moments, stream] {
         const double now = stream->free_at + 1;
         const double ghz = options_.clock_ghz ? options_.clock_ghz(now) : 1;
         cycles_ += (now - marked_) * ghz;
         marked_ = now;
         moments[0] = {.cycles = static_cast<std::int64_t>(cycles_), .nanoseconds = static_cast<std::int64_t>(now)};
       }});
}

void CudaStandIn::ReadTicks(std::int64_t* nanoseconds, int count, CudaStream* stream) {
  Enter(What::kNone, "ticks<<<1, 1, 0, stream>>>(nanoseconds, count)");
  Give(stream, {.duration = options_.tick * count, .effect = [this, nanoseconds, count, stream] {
                  for (int k = 0; k < count; ++k) {
                    nanoseconds[k] = static_cast<std::int64_t>(stream->free_at - options_.tick * (count - 1 - k));
                  }
                }});
}

// ---- kernels ----------------------------------------------------------------------------------------------------------

StandInKernel::StandInKernel(CudaStandIn& owner, const OpCall& call, const CpuKernel* kernel)
    : owner_(owner), call_(call), kernel_(kernel), text_(CudaStandIn::Text(call)) {
  if (kernel != nullptr) workspace_ = kernel->workspace();
  if (kernel == nullptr && owner.options_.workspace) workspace_ = owner.options_.workspace(call);
  implementation_ = kernel != nullptr ? kernel->implementation() : "stand-in";
  ++owner_.live_kernels_;
}
StandInKernel::~StandInKernel() { --owner_.live_kernels_; }

void StandInKernel::Run(CudaStream* stream, const CudaArguments& arguments) {
  owner_.RunKernel(*this, stream, arguments);
}

void StandInKernel::Compute(const std::vector<void*>& reads, const std::vector<void*>& writes,
                            const CudaArguments& arguments) const {
  const Shape& shape = call_.launch.shape.in;
  if (kernel_ == nullptr) {
    const bool copies = call_.launch.kind == OpKind::kCopy && !reads.empty() && !writes.empty();
    if (!copies) return owner_.TouchWrites(writes);
    owner_.CarryOnDevice(writes[0], reads[0], shape.Elements() * static_cast<Bytes>(sizeof(float)));
    return;
  }
  const std::vector<std::int32_t> labels = arguments.labels == nullptr
                                               ? std::vector<std::int32_t>{}
                                               : ClassesOf(shape, static_cast<const float*>(arguments.labels));
  CpuArguments cpu{.reads = reads,
                   .writes = writes,
                   .workspace = arguments.workspace,
                   .random_stream = arguments.random_stream,
                   .labels = labels,
                   .learning_rate = arguments.learning_rate,
                   .momentum = arguments.momentum};
  if (arguments.running_statistics != nullptr) {
    cpu.running_statistics = {static_cast<float*>(arguments.running_statistics), static_cast<std::size_t>(2 * shape.c)};
  }
  kernel_->Run(cpu);
  if (call_.launch.math == MathMode::kTf32 && !owner_.options_.without_tf32.contains(call_.launch.algorithm)) {
    RoundAsTf32(writes);
  }
}

// Ten bits are left, of results instead of operands.
void StandInKernel::RoundAsTf32(const std::vector<void*>& writes) const {
  const Bytes elements = ElementsOfResult(call_.launch);
  auto* const result = static_cast<std::uint32_t*>(writes[0]);
  for (Bytes i = 0; i < elements; ++i) result[i] &= ~std::uint32_t{0x1fff};
}

void CudaStandIn::RunKernel(const StandInKernel& kernel, CudaStream* stream, const CudaArguments& arguments) {
  Enter(What::kLaunch, "kernel.Run(stream, arguments)");
  const std::string& text = kernel.text();
  Load(text);
  const std::vector<void*> reads(arguments.reads.begin(), arguments.reads.end());
  const std::vector<void*> writes(arguments.writes.begin(), arguments.writes.end());
  const auto compute = [this, &kernel, reads, writes, arguments] {
    std::vector<const void*> touched(reads.begin(), reads.end());
    touched.insert(touched.end(), writes.begin(), writes.end());
    for (const void* more : {arguments.labels, static_cast<const void*>(arguments.workspace),
                             static_cast<const void*>(arguments.running_statistics)}) {
      if (more != nullptr) touched.push_back(more);
    }
    const bool there = std::all_of(touched.begin(), touched.end(), [&](const void* at) { return Holds(at, 1, true); });
    if (!there) return Violated("a kernel touches memory that is not there: " + kernel.text());
    for (const void* at : touched) allocations_.at(Find(at)->data).on_host = false;
    kernel.Compute(reads, writes, arguments);
  };
  const double own = options_.kernel_time ? options_.kernel_time(kernel.call()) : 1000;
  const double time = own + FaultTime(kernel, reads);
  Item item{.duration = Shuffled(time),
            .never_ends = Hits(What::kKernelHangs),
            .fails = Hits(What::kKernelFails) ? "a kernel failed on the device" : "",
            .effect = compute,
            .reported = true};
  if (options_.issue_time) Pass(options_.issue_time(kernel.call()));
  if (options_.remember) {
    item.done = {.work = Work::kKernel, .kernel = text};
    item.done.reads.assign(reads.begin(), reads.end());
    item.done.writes.assign(writes.begin(), writes.end());
  }
  Give(stream, std::move(item));
}

void CudaStandIn::Load(const std::string& kernel) {
  if (!loaded_.insert(kernel).second) return;
  if (IsHeld()) Violated("first launched while a stream is held: " + kernel);
}

std::vector<CudaAlgorithm> CudaStandIn::Algorithms(const OpCall& call) {
  Enter(What::kNone, "cudnnGetConvolutionForwardAlgorithm_v7(...)");
  if (options_.algorithms) return options_.algorithms(call);
  std::vector<CpuAlgorithm> all = {{1, 0, ""}, {2, kMiB, ""}};
  if (kernels_ != nullptr) all = kernels_->Algorithms(InFp32(call));
  std::vector<CudaAlgorithm> algorithms;
  for (const CpuAlgorithm& known : all) {
    algorithms.push_back({.algorithm = known.algorithm,
                          .workspace = known.workspace,
                          .deterministic = !options_.varying.contains(known.algorithm),
                          .rank = static_cast<int>(algorithms.size())});
  }
  return algorithms;
}

std::unique_ptr<CudaKernel> CudaStandIn::Prepare(const OpCall& call) {
  Enter(What::kPrepare, "cudnnSetConvolution2dDescriptor(...)");
  if (FormatText(call.launch) != "") {
    throw DeviceError(Fault::kRefused, kNoInstruction, Text(call) + ": computes on fp32 NCHW tensors");
  }
  library_bytes_ = options_.library_bytes;
  if (kernels_ == nullptr) return std::make_unique<StandInKernel>(*this, call, nullptr);
  try {
    return std::make_unique<StandInKernel>(*this, call, &kernels_->Prepare(InFp32(call)));
  } catch (const UserError& error) {
    throw DeviceError(Fault::kRefused, kNoInstruction, error.what());
  }
}

}  // namespace spillway
