#include "calibrate/devices/cuda/device.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

#include "calibrate/devices/cuda/session.h"
#include "sim/execute/device.h"

namespace spillway {

CudaDevice::CudaDevice(CudaDeviceOptions options, CudaCalls& calls, const Clock& clock)
    : options_(std::move(options)),
      calls_(calls),
      clock_(clock),
      pool_(calls),
      kept_(calls),
      kernels_(std::make_unique<CudaKernelCache>(calls)) {
  const CudaEmulation& emulate = options_.emulate;
  if (!(emulate.link_rate >= 0) || std::isinf(emulate.link_rate)) throw UserError("a link's rate cannot be negative");
  if (!(emulate.compute_slowdown >= 1) || std::isinf(emulate.compute_slowdown)) {
    throw UserError("kernels can be made slower, not faster: a slowdown is at least 1");
  }
  NoteMemory();
  memory_.before = memory_.highest;
}

CudaDevice::~CudaDevice() { End(); }

void CudaDevice::NoteMemory() {
  const CudaMemory memory = calls_.Memory();
  memory_.total = memory.total;
  const Bytes used = memory.total - memory.free - kept_.bytes();
  memory_.highest = std::max(memory_.highest, used);
  if (session_ == nullptr) return;
  memory_.beside =
      std::max(memory_.beside, used - session_->memory().arena_bytes() - session_->memory().library_bytes());
}

void CudaDevice::Begin(const Session& session) {
  assert(session_ == nullptr && "Begin without End");
  losses_.clear();
  clocks_.clear();
  loss_pending_ = false;
  statistics_.clear();
  memory_.highest = memory_.beside = -1;
  if (options_.emulate.link_rate > 0 && !pieces_) pieces_ = MeasurePieces(calls_);
  if (options_.emulate.compute_slowdown > 1 && !spin_gap_) spin_gap_ = MeasureSpinGap(calls_);
  if (session.debug || kept_.Crowd(session.arena_bytes)) kept_.Release();
  Open(session);
  host_bytes_ = session_->memory().host_bytes();
  library_bytes_ = session_->memory().library_bytes();
  NoteMemory();
}

// What is kept is for nobody's sake but speed's: no session is refused for it.
void CudaDevice::Open(const Session& session) {
  try {
    session_ = std::make_unique<CudaSession>(*this, session);
  } catch (const DeviceError& error) {
    if (error.fault() != Fault::kNoMemory || kept_.bytes() == 0) throw;
    kept_.Release();
    session_ = std::make_unique<CudaSession>(*this, session);
  }
}

// Nothing that goes wrong here has anybody to be told to: losses and statistics are missing then.
void CudaDevice::End() noexcept {
  if (session_ == nullptr) return;
  try {
    NoteMemory();
    if (!session_->failed()) {
      Settle();
      statistics_ = session_->TakeStatistics();
    }
  } catch (const std::exception&) {  // they are missing then
  }
  loss_pending_ = false;
  const bool failed = session_->failed();
  session_ = nullptr;
  if (failed) kept_.Release();  // a copy that was to be made may not have been
}

void CudaDevice::Forget() noexcept {
  assert(session_ == nullptr && "between sessions only");
  pool_.Release();
  kept_.Release();
  kernels_ = std::make_unique<CudaKernelCache>(calls_);
}

CudaSession& CudaDevice::Open() {
  assert(session_ != nullptr && "after Begin only");
  return *session_;
}

// Loss and clock of the last step are read when somebody wants it, so that no step is longer for it.
void CudaDevice::Settle() {
  if (!loss_pending_) return;
  loss_pending_ = false;
  losses_.back() = Open().ReadLoss();
  clocks_.back() = Open().ReadClock();
}

const std::vector<double>& CudaDevice::losses() {
  Settle();
  return losses_;
}

const std::vector<double>& CudaDevice::clocks() {
  Settle();
  return clocks_;
}

void CudaDevice::Write(const Location& at, std::span<const std::byte> bytes) { Open().Write(at, bytes); }
void CudaDevice::Read(const Location& at, std::span<std::byte> bytes) { Open().Read(at, bytes); }

bool CudaDevice::WriteKept(const Location& at, std::uint64_t identity) { return Open().WriteKept(at, identity); }
void CudaDevice::Keep(const Location& at, std::uint64_t identity) { Open().Keep(at, identity); }

void CudaDevice::BeginStep() {
  Settle();
  losses_.push_back(std::numeric_limits<double>::quiet_NaN());
  clocks_.push_back(0);
  Open().BeginStep();
}

void CudaDevice::Enqueue(const KernelCall& call) { Open().Enqueue(call); }
void CudaDevice::Enqueue(const CopyCall& call) { Open().Enqueue(call); }
void CudaDevice::Record(Issue issue, EventId event) { Open().Record(issue, event); }
void CudaDevice::Wait(Issue issue, EventId event) { Open().Wait(issue, event); }
void CudaDevice::HostSync(Issue issue, EventId event) { Open().HostSync(issue, event); }
void CudaDevice::Alloc(Issue issue, const Location& buffer) { Open().Alloc(issue, buffer); }
void CudaDevice::Free(Issue issue, const Location& buffer) { Open().Free(issue, buffer); }

void CudaDevice::EndStep() {
  Open().EndStep();
  loss_pending_ = true;
}

std::vector<Span> CudaDevice::ReadSpans() { return Open().ReadSpans(); }
Bytes CudaDevice::HighWater() { return Open().HighWater(); }

SessionReport CudaDevice::LastSession() const {
  assert(session_ == nullptr && "between sessions only");
  return {.losses = losses_,
          .host_bytes = host_bytes_,
          .placement = options_.placement,
          .device_bytes = memory_.highest,
          .device_reserve = memory_.beside,
          .step_clocks = clocks_};
}

const std::byte* CudaKeptValues::Find(std::uint64_t identity, Bytes bytes) const {
  const auto found = copies_.find({identity, bytes});
  return found == copies_.end() ? nullptr : found->second.get();
}

std::byte* CudaKeptValues::Make(std::uint64_t identity, Bytes bytes) {
  if (bytes == 0 || calls_.Memory().free - bytes < kSpare) return nullptr;
  try {
    OwnedDeviceMemory& copy = copies_.insert_or_assign({identity, bytes}, NewDeviceMemory(calls_, bytes)).first->second;
    bytes_ += bytes;
    return copy.get();
  } catch (const DeviceError& error) {
    if (error.fault() != Fault::kNoMemory) throw;
    return nullptr;  // free, but not in one piece
  }
}

bool CudaKeptValues::Crowd(Bytes arena_bytes) const {
  return !copies_.empty() && calls_.Memory().free - arena_bytes < kSpare;
}

void CudaKeptValues::Release() noexcept {
  copies_.clear();
  bytes_ = 0;
}

}  // namespace spillway
