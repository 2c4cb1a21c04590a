#include "calibrate/devices/cpu/device.h"

#include <cassert>
#include <limits>
#include <new>

#include "calibrate/devices/cpu/kernels.h"
#include "calibrate/devices/cpu/session.h"

namespace spillway {

CpuDevice::CpuDevice(CpuDeviceOptions options, const Clock& clock)
    : options_(std::move(options)), clock_(clock), kernels_(std::make_shared<CpuKernels>(options_.threads)) {
  if (!(options_.link_rate >= 0)) throw UserError("a link's rate cannot be negative");
}

CpuDevice::~CpuDevice() { End(); }

void CpuDevice::Begin(const Session& session) {
  assert(session_ == nullptr && "Begin without End");
  losses_.clear();
  statistics_.clear();
  try {
    if (kernels_ == nullptr) kernels_ = std::make_shared<CpuKernels>(options_.threads);
    session_ = std::make_shared<CpuSession>(options_, clock_, kernels_, session);
  } catch (const std::bad_alloc&) {
    throw DeviceError(Fault::kNoMemory, kNoInstruction, "no memory for the session");
  }
  host_bytes_ = session_->memory().host_bytes();
  library_bytes_ = static_cast<Bytes>(session_->memory().library().size());
  pinning_ = session_->Pinning();
}

void CpuDevice::End() noexcept {
  if (session_ == nullptr) return;
  if (session_->Stop()) {
    statistics_ = session_->training().TakeStatistics();
  } else {
    session_->Abandon(session_);
    kernels_ = nullptr;  // one of them may be running, and runs one at a time
  }
  session_ = nullptr;
}

CpuSession& CpuDevice::Open() {
  assert(session_ != nullptr && "after Begin only");
  return *session_;
}

void CpuDevice::Write(const Location& at, std::span<const std::byte> bytes) { Open().Write(at, bytes); }
void CpuDevice::Read(const Location& at, std::span<std::byte> bytes) { Open().Read(at, bytes); }

void CpuDevice::BeginStep() {
  losses_.push_back(std::numeric_limits<double>::quiet_NaN());
  Open().BeginStep();
}

void CpuDevice::Enqueue(const KernelCall& call) { Open().Enqueue(call); }
void CpuDevice::Enqueue(const CopyCall& call) { Open().Enqueue(call); }
void CpuDevice::Record(Issue issue, EventId event) { Open().Record(issue, event); }
void CpuDevice::Wait(Issue issue, EventId event) { Open().Wait(issue, event); }
void CpuDevice::HostSync(Issue issue, EventId event) { Open().HostSync(issue, event); }
void CpuDevice::Alloc(Issue issue, const Location& buffer) { Open().AllocOrFree(Opcode::kAlloc, issue, buffer); }
void CpuDevice::Free(Issue issue, const Location& buffer) { Open().AllocOrFree(Opcode::kFree, issue, buffer); }

void CpuDevice::EndStep() {
  Open().EndStep();
  losses_.back() = session_->training().loss();
}

std::vector<Span> CpuDevice::ReadSpans() { return Open().ReadSpans(); }
Bytes CpuDevice::HighWater() { return Open().HighWater(); }

}  // namespace spillway
