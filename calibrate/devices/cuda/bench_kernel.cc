#include "calibrate/devices/cuda/bench_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "hw/text/document.h"
#include "model/stats/quantile.h"

namespace spillway {
namespace {

constexpr Bytes kAlignment = 512;
constexpr int kMostSets = 256;  // of tiny ops
// Calls that one run may come to, so that held streams never fill their queues: kernels of one library call, their two
// pairs of events and the spin between, the copies that make operands fresh.
constexpr int kKernelsOfCall = 6, kCallsAround = 5;

const BenchOperand* FindOperand(const std::vector<BenchOperand>& operands, TensorId tensor) {
  const auto found = std::find_if(operands.begin(), operands.end(),
                                  [tensor](const BenchOperand& operand) { return operand.tensor == tensor; });
  return found == operands.end() ? nullptr : &*found;
}

}  // namespace

OpCall BenchCallOf(const BenchNetwork& network, OpId op, const Launch& launch) {
  OpCall call = CallOf(network.step.ops[Index(op)]);
  call.launch.algorithm = launch.algorithm;
  call.launch.workspace = launch.workspace;
  call.launch.math = launch.math;
  return call;
}

CudaKernelSubject::CudaKernelSubject(const BenchNetwork& network, OpId op, const Launch& launch, BenchProtocol protocol,
                                     CudaCalls& calls, CudaBenchMemory& memory, CudaTimer& timer)
    : network_(network),
      op_(op),
      node_(network.step.ops[static_cast<std::size_t>(op)]),
      protocol_(protocol),
      calls_(calls),
      memory_(memory),
      timer_(timer),
      kernel_(calls.Prepare(BenchCallOf(network, op, launch))) {
  LayOut();
  MakeLabels();
  FillSets();
  KeepFreshOnes();
  if (protocol_ != BenchProtocol::kWarm) memory_.Evict(timer_.stream());
  calls_.Synchronize(timer_.stream());
}

CudaKernelSubject::~CudaKernelSubject() { timer_.Drain(); }

void CudaKernelSubject::LayOut() {
  operands_ = BenchOperands(network_.step, op_, memory_.l2_cache() / 2);
  for (const TensorId tensor : node_.reads) reads_.push_back(FindOperand(operands_, tensor)->offset);
  for (const TensorId tensor : node_.writes) writes_.push_back(FindOperand(operands_, tensor)->offset);
  read_.resize(reads_.size());
  written_.resize(writes_.size());
  for (const BenchOperand& operand : operands_) set_bytes_ = operand.offset + RoundUp(operand.bytes, kAlignment);
  if (protocol_ != BenchProtocol::kWarm) {
    sets_ = static_cast<int>(std::clamp<Bytes>(memory_.RingBytes() / std::max<Bytes>(set_bytes_, 1), 1, kMostSets));
  }
  const int calls_of_run = kKernelsOfCall + kCallsAround + static_cast<int>(operands_.size());
  most_runs_ = CudaTimer::kMostHeld / calls_of_run;
  if (protocol_ == BenchProtocol::kStep) most_runs_ = std::min(most_runs_, sets_);
  if (kernel_->workspace() > 0) workspace_ = memory_.Block("workspace").AtLeast(kernel_->workspace());
  if (node_.kind == OpKind::kBatchNorm) {
    const Bytes bytes = 2 * node_.shape.in.c * static_cast<Bytes>(sizeof(float));
    statistics_ = memory_.Block("statistics").AtLeast(bytes);
    calls_.Fill(statistics_, 0, bytes, timer_.stream());
  }
  ring_ = memory_.Block("ring").AtLeast(set_bytes_ * sets_);
}

// One-hot rows, another class each.
void CudaKernelSubject::MakeLabels() {
  if (!TraitsOf(node_.kind).labels) return;
  const Shape& shape = node_.shape.in;
  std::vector<float> rows(static_cast<std::size_t>(shape.Elements()));
  const std::int64_t positions = shape.Spatial();
  for (std::int64_t n = 0; n < shape.n; ++n) {
    for (std::int64_t p = 0; p < positions; ++p) {
      const std::int64_t label = (n * positions + p) % shape.c;
      rows[static_cast<std::size_t>((n * shape.c + label) * positions + p)] = 1;
    }
  }
  const auto bytes = static_cast<Bytes>(rows.size() * sizeof(float));
  std::byte* const host = memory_.Block("labels on the host", CudaPlace::kPinned).AtLeast(bytes);
  std::memcpy(host, rows.data(), static_cast<std::size_t>(bytes));
  labels_ = memory_.Block("labels").AtLeast(bytes);
  calls_.Copy(labels_, host, bytes, Direction::kHostToDevice, timer_.stream());
  calls_.Synchronize(timer_.stream());
}

void CudaKernelSubject::FillSets() {
  for (int k = 0; k < sets_; ++k) {
    for (const BenchOperand& operand : operands_) {
      memory_.Fill(SetAt(k) + operand.offset, operand.bytes, operand.sparse, timer_.stream());
    }
    if (NeedsForward(node_)) MakeSaved(SetAt(k), k);
  }
}

// Runs the forward op: what it shares with this one in the set, the rest beside.
void CudaKernelSubject::MakeSaved(std::byte* set, int number) {
  const OpId forward = ForwardOf(network_.step, node_);
  if (forward == kNoOp) return;
  const Op& op = network_.step.ops[static_cast<std::size_t>(forward)];
  const std::unique_ptr<CudaKernel> kernel = calls_.Prepare(CallOf(network_.step.ops[Index(forward)]));
  const std::vector<BenchOperand> operands = BenchOperands(network_.step, forward, 0);
  Bytes needed = RoundUp(kernel->workspace(), kAlignment);
  for (const BenchOperand& operand : operands) needed += RoundUp(operand.bytes, kAlignment);
  std::byte* const beside = memory_.Block("forward").AtLeast(needed);
  const auto place = [&](TensorId tensor) -> void* {
    if (const BenchOperand* mine = FindOperand(operands_, tensor)) return set + mine->offset;
    const BenchOperand& other = *FindOperand(operands, tensor);
    std::byte* const at = beside + RoundUp(kernel->workspace(), kAlignment) + other.offset;
    memory_.Fill(at, other.bytes, other.sparse, timer_.stream());
    return at;
  };
  std::vector<void*> reads, writes;
  for (const TensorId tensor : op.reads) reads.push_back(place(tensor));
  for (const TensorId tensor : op.writes) writes.push_back(place(tensor));
  kernel->Run(timer_.stream(), {.reads = reads,
                                .writes = writes,
                                .workspace = beside,
                                .random_stream = static_cast<std::uint64_t>(number),
                                .labels = labels_,
                                .running_statistics = statistics_});
  calls_.Synchronize(timer_.stream());  // the kernel goes
}

void CudaKernelSubject::KeepFreshOnes() {
  fresh_.assign(operands_.size(), -1);
  if (protocol_ != BenchProtocol::kStep) return;
  Bytes bytes = 0;
  for (std::size_t k = 0; k < operands_.size(); ++k) {
    if (!operands_[k].fresh) continue;
    fresh_[k] = bytes;
    bytes += RoundUp(operands_[k].bytes, kAlignment);
  }
  if (bytes == 0) return;
  kept_ = memory_.Block("kept").AtLeast(bytes);
  for (std::size_t k = 0; k < operands_.size(); ++k) {
    if (fresh_[k] < 0) continue;
    calls_.CopyOnDevice(kept_ + fresh_[k], SetAt(0) + operands_[k].offset, operands_[k].bytes, timer_.stream());
  }
}

void CudaKernelSubject::Freshen(std::byte* set) {
  // The op before wrote last what is freshest.
  std::vector<std::size_t> order;
  for (std::size_t k = 0; k < operands_.size(); ++k) {
    if (fresh_[k] >= 0) order.push_back(k);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return operands_[a].since > operands_[b].since; });
  for (const std::size_t k : order) {
    calls_.CopyOnDevice(set + operands_[k].offset, kept_ + fresh_[k], operands_[k].bytes, timer_.stream());
  }
}

void CudaKernelSubject::Prepare(int runs) {
  if (protocol_ == BenchProtocol::kWarm || next_ + runs <= sets_) return;
  // Sets that fill the ring have left the cache by themselves.
  if (set_bytes_ * sets_ < memory_.l2_cache()) memory_.Evict(timer_.stream());
  next_ = 0;
}

// Adds to `issues` what the call costs the host; nullptr: it is not timed.
void CudaKernelSubject::RunOn(std::byte* set, std::vector<double>* issues) {
  for (std::size_t k = 0; k < reads_.size(); ++k) read_[k] = set + reads_[k];
  for (std::size_t k = 0; k < writes_.size(); ++k) written_[k] = set + writes_[k];
  const Nanos begin = issues == nullptr ? 0 : host_clock_->Now();
  kernel_->Run(timer_.stream(), {.reads = read_,
                                 .writes = written_,
                                 .workspace = workspace_,
                                 .random_stream = stream_number_++,
                                 .labels = labels_,
                                 .running_statistics = statistics_});
  if (issues != nullptr) issues->push_back(static_cast<double>(host_clock_->Now() - begin));
}

double CudaKernelSubject::issue_time() const { return issues_.empty() ? 0 : Median(issues_); }

// What a pair of events takes with nothing between them, beside each run with kStep, else before and behind all of them.
void CudaKernelSubject::TimeNothing() {
  timer_.Start();
  timer_.Stop();
}

void CudaKernelSubject::IssueRuns(int runs, bool each, std::vector<double>* issues) {
  if (!each) {
    TimeNothing();
    timer_.Start();
  }
  for (int k = 0; k < runs; ++k) {
    std::byte* const set = SetAt((next_ + k) % sets_);
    if (each) {
      Freshen(set);
      calls_.Spin(1, timer_.stream());  // what it costs to go from copies to kernels is not this one's
      TimeNothing();
      timer_.Start();
    }
    RunOn(set, issues != nullptr && k < kTimedIssues ? issues : nullptr);
    if (each) timer_.Stop();
  }
  if (each) return;
  timer_.Stop();
  TimeNothing();
}

// With kStep each run is timed by itself, between those that make the next set fresh; otherwise all together. What a pair
// of events takes with nothing between them, at the same moment, is taken off.
double CudaKernelSubject::TryRun(int runs, bool hold) {
  const ReleaseAtEnd release(timer_);
  const bool each = protocol_ == BenchProtocol::kStep;
  if (hold) timer_.Hold(each ? 2 * runs : 3);
  if (beside_ != nullptr) beside_->Begin(timer_.stream());
  std::vector<double> issues;
  timer_.MarkBegin();
  IssueRuns(runs, each, hold && host_clock_ != nullptr ? &issues : nullptr);
  timer_.MarkEnd();
  timer_.Finish();
  if (!timer_.ran_out()) issues_.insert(issues_.end(), issues.begin(), issues.end());
  clock_.cycles += timer_.between_marks().cycles;
  clock_.nanoseconds += timer_.between_marks().nanoseconds;
  // Pairs with nothing between them have even places.
  std::vector<double> nothing;
  for (std::size_t k = 0; k < timer_.times().size(); k += 2) nothing.push_back(timer_.times()[k]);
  const double taken_off = Median(std::move(nothing));
  double time = 0;
  for (std::size_t k = 1; k < timer_.times().size(); k += 2) time += std::max(0.0, timer_.times()[k] - taken_off);
  return time;
}

// The first time a kernel's code may have to be loaded, which waits for the device: nothing may hold it then. Where a
// hold runs out (a library's call may be a hundred kernels, and fill the queue), fewer runs follow the next one; in the
// end there is none.
void CudaKernelSubject::Run(int runs) {
  constexpr int kFewer = 4;
  double time = 0;
  for (int left = runs; left > 0;) {
    const bool hold = loaded_ && at_once_ > 0;
    const int now = hold ? std::min(left, at_once_) : left;
    const double taken = TryRun(now, hold);
    const bool covered = beside_ == nullptr || beside_->EndAndTell() || !loaded_;
    if (timer_.ran_out()) {
      at_once_ = now / kFewer;
      continue;
    }
    if (!covered) {
      if (!beside_->CanGrow()) throw UserError(node_.name + ": no number of copies beside it lasts as long as it does");
      continue;
    }
    loaded_ = true;
    time += taken;
    left -= now;
    next_ = (next_ + now) % sets_;
  }
  timer_.Add(time);
}

}  // namespace spillway
