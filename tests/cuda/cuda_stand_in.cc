#include "tests/cuda/cuda_stand_in.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "model/profile/launch_text.h"
#include "model/util/hash.h"
#include "tests/cuda/cuda_stand_in_parts.h"

namespace spillway {

namespace {

using What = StandInFault::What;

[[noreturn]] void Throw(Fault fault, const std::string& what) { throw DeviceError(fault, kNoInstruction, what); }

}  // namespace

CudaStandIn::CudaStandIn(StandInOptions options) : options_(std::move(options)) {
  if (options_.compute && HasCpuKernels()) kernels_ = std::make_unique<CpuKernels>();
}
CudaStandIn::~CudaStandIn() = default;

// ---- what tests ask ---------------------------------------------------------------------------------------------------

std::string CudaStandIn::Text(const OpCall& call) {
  const Launch& launch = call.launch;
  return fmt::format("{} {} {} to {} algorithm {}{}{}", OpKindName(launch.kind), PassName(launch.pass),
                     ShapeText(launch.shape.in), ShapeText(launch.shape.out), launch.algorithm,
                     launch.accumulate ? " accumulate" : "", FormatText(launch));
}

std::string CudaStandIn::leaks() const {
  std::string text;
  const auto add = [&](const char* what, auto number) {
    if (number != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", number, what);
  };
  add("streams", streams_.size());
  add("events", events_.size());
  add("allocations", allocations_.size());
  add("kernels", live_kernels_);
  add("peer accesses", peer_access_.size());
  return text;
}

// ---- faults -----------------------------------------------------------------------------------------------------------

bool CudaStandIn::Hits(What what) {
  const std::uint32_t nth = counts_[static_cast<std::size_t>(what)]++;
  return options_.fault.what == what && options_.fault.nth == nth;
}

void CudaStandIn::CheckAlive(const char* expression) const {
  if (!lost_.empty()) Throw(Fault::kFailed, fmt::format("{}: {}", expression, lost_));
}

// At the beginning of each call that can fail.
void CudaStandIn::Enter(What what, const char* expression) {
  Advance();
  if (Hits(What::kLost)) lost_ = "the device is lost";
  CheckAlive(expression);
  if (what == What::kNone || !Hits(what)) return;
  const bool memory = what == What::kMalloc || what == What::kMallocHost;
  const Fault fault = memory ? Fault::kNoMemory : what == What::kPrepare ? Fault::kRefused : Fault::kFailed;
  const char* const word = memory ? "out of memory" : what == What::kPrepare ? "not supported" : "the call fails";
  Throw(fault, fmt::format("{}: {}", expression, word));
}

double CudaStandIn::Shuffled(double time) {
  if (options_.shuffle_seed == 0) return Noisy(time);
  return static_cast<double>(Hasher(options_.shuffle_seed).Add(drawn_++).Value() % 20000);
}

// ---- memory -----------------------------------------------------------------------------------------------------------

CudaProperties CudaStandIn::Properties() {
  Enter(What::kNone, "cudaGetDeviceProperties");
  CudaProperties properties = options_.properties;
  if (properties.name.empty()) properties.name = "stand-in";
  properties.total_memory = options_.memory;
  return properties;
}

CudaMemory CudaStandIn::Memory() {
  Enter(What::kNone, "cudaMemGetInfo");
  return {.free = FreeBytes(), .total = options_.memory};
}

Bytes CudaStandIn::FreeBytes() const {
  const auto used = device_bytes_.find(0);
  const Bytes code = options_.code_bytes * static_cast<Bytes>(loaded_.size());
  return options_.memory - options_.context_bytes - library_bytes_ - code -
         (used == device_bytes_.end() ? 0 : used->second);
}

void* CudaStandIn::Malloc(Bytes bytes) {
  Enter(What::kMalloc, "cudaMalloc(&memory, bytes)");
  if (bytes > FreeBytes()) Throw(Fault::kNoMemory, "cudaMalloc(&memory, bytes): out of memory");
  return Allocate(bytes, true);
}

void* CudaStandIn::MallocHost(Bytes bytes) {
  Enter(What::kMallocHost, "cudaMallocHost(&memory, bytes)");
  if (bytes > options_.pinned - pinned_bytes_) Throw(Fault::kNoMemory, "cudaMallocHost(&memory, bytes): out of memory");
  return Allocate(bytes, false);
}

// It is lost, or something that was meant to hangs: nobody can wait for streams then.
bool CudaStandIn::Broken() const {
  const What what = options_.fault.what;
  return !lost_.empty() || ((what == What::kKernelHangs || what == What::kEventNeverFires) &&
                            counts_[static_cast<std::size_t>(what)] > options_.fault.nth);
}

void CudaStandIn::Release(void* memory, bool device, int on) noexcept {
  if (memory == nullptr) return;
  Advance();
  const auto found = allocations_.find(static_cast<std::byte*>(memory));
  if (found == allocations_.end() || found->second.device != device || found->second.on != on)
    return Violated("memory is freed that is not there");
  if (!Broken() && !Idle()) Violated("memory is freed while streams work");
  Erase(found);
}
void CudaStandIn::Free(void* memory) noexcept { Release(memory, true); }
void CudaStandIn::FreeHost(void* memory) noexcept { Release(memory, false); }

const CudaStandIn::Allocation* CudaStandIn::Find(const void* at) const {
  auto next = allocations_.upper_bound(static_cast<const std::byte*>(at));
  if (next == allocations_.begin()) return nullptr;
  const Allocation& allocation = (--next)->second;
  return static_cast<const std::byte*>(at) < allocation.data + allocation.bytes ? &allocation : nullptr;
}

bool CudaStandIn::Holds(const void* at, Bytes bytes, bool device, int on) const {
  const Allocation* const found = Find(at);
  if (found == nullptr || found->device != device || found->on != on) return false;
  return static_cast<const std::byte*>(at) + bytes <= found->data + found->bytes;
}

void* CudaStandIn::MallocAsync(Bytes bytes, CudaStream* stream) {
  Enter(What::kMalloc, "cudaMallocAsync(&memory, bytes, stream)");
  if (bytes > FreeBytes()) Throw(Fault::kNoMemory, "cudaMallocAsync(&memory, bytes, stream): out of memory");
  Give(stream, {});
  return Allocate(bytes, true);
}

void CudaStandIn::FreeAsync(void* memory, CudaStream* stream) {
  Enter(What::kNone, "cudaFreeAsync(memory, stream)");
  Give(stream, {.effect = [this, memory] {
         const auto found = allocations_.find(static_cast<std::byte*>(memory));
         if (found == allocations_.end()) return Violated("memory is freed that is not there");
         Erase(found);
       }});
}

// ---- streams and events -----------------------------------------------------------------------------------------------

CudaStream* CudaStandIn::MakeStream(bool urgent) {
  Enter(What::kMakeStream, "cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)");
  streams_.push_back(std::make_unique<CudaStream>());
  streams_.back()->id = streams_made_++;
  streams_.back()->urgent = urgent;
  return streams_.back().get();
}

void CudaStandIn::Destroy(CudaStream* stream) noexcept {
  const auto found = std::find_if(streams_.begin(), streams_.end(), [&](const auto& s) { return s.get() == stream; });
  if (stream == nullptr || found == streams_.end()) return Violated("a stream is destroyed that is not there");
  Advance();
  if (!Broken() && !stream->queue.empty()) Violated("a stream is destroyed while it works");
  streams_.erase(found);
}

CudaEvent* CudaStandIn::MakeEvent(bool timed) {
  Enter(What::kMakeEvent, "cudaEventCreateWithFlags(&event, flags)");
  if (IsHeld()) Violated("an event is made while a stream is held");
  auto event = std::make_shared<CudaEvent>();
  event->timed = timed;
  CudaEvent* const made = event.get();
  events_[made] = std::move(event);
  return made;
}

void CudaStandIn::Destroy(CudaEvent* event) noexcept {
  if (events_.erase(event) == 0) Violated("an event is destroyed that is not there");
}

std::shared_ptr<CudaEvent> CudaStandIn::Known(CudaEvent* event) {
  const auto found = events_.find(event);
  if (found != events_.end()) return found->second;
  Violated("an event is used that is not there");
  return std::make_shared<CudaEvent>();
}

void CudaStandIn::Record(CudaEvent* event, CudaStream* stream) {
  Enter(What::kRecord, "cudaEventRecord(event, stream)");
  const std::shared_ptr<CudaEvent> known = Known(event);
  ++known->recorded;
  Give(stream, {.kind = Item::Kind::kRecord,
                .duration = options_.record_time,
                .never_ends = Hits(What::kEventNeverFires),
                .event = known});
}

void CudaStandIn::Wait(CudaStream* stream, CudaEvent* event) {
  Enter(What::kWait, "cudaStreamWaitEvent(stream, event, 0)");
  const std::shared_ptr<CudaEvent> known = Known(event);
  Give(stream, {.kind = Item::Kind::kWait, .event = known, .record = known->recorded});
}

bool CudaStandIn::IsDone(CudaEvent* event) {
  Enter(What::kNone, "cudaEventQuery(event)");
  const std::shared_ptr<CudaEvent> known = Known(event);
  Run(now_);
  if (!known->done()) {
    constexpr double kLongest = 1e6;
    double end = now_ + kLongest;
    if (options_.poll_cost == 0) NextToEnd(end);
    if (options_.real_time) end = std::min(end, now_ + kLongest);  // the host may have other things to do
    MoveTo(options_.poll_cost == 0 ? end : now_ + options_.poll_cost);
    Run(now_);
  }
  CheckAlive("cudaEventQuery(event)");
  return known->done();
}

void CudaStandIn::Synchronize(CudaEvent* event) {
  Enter(What::kNone, "cudaEventSynchronize(event)");
  RunUntilDone([&] { return event->done(); });
  CheckAlive("cudaEventSynchronize(event)");
}

void CudaStandIn::Synchronize(CudaStream* stream) {
  Enter(What::kNone, "cudaStreamSynchronize(stream)");
  RunUntilDone([&] { return stream->queue.empty(); });
  CheckAlive("cudaStreamSynchronize(stream)");
}

void CudaStandIn::SynchronizeDevice() {
  Enter(What::kNone, "cudaDeviceSynchronize()");
  RunUntilDone([&] { return Idle(); });
  CheckAlive("cudaDeviceSynchronize()");
}

double CudaStandIn::Elapsed(CudaEvent* from, CudaEvent* to) {
  Enter(What::kNone, "cudaEventElapsedTime(&time, from, to)");
  const auto usable = [](const CudaEvent& event) { return event.timed && event.recorded > 0 && event.done(); };
  if (!usable(*from) || !usable(*to)) Throw(Fault::kFailed, "cudaEventElapsedTime(&time, from, to): not ready");
  return to->times.back() - from->times.back();
}

}  // namespace spillway
