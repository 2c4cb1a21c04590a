#include "sim/execute/fake/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "hw/text/lists.h"
#include "model/util/hash.h"

namespace spillway {

namespace {

std::size_t IndexOf(Opcode opcode) { return static_cast<std::size_t>(opcode); }

[[noreturn]] void Broken(std::uint32_t instruction, const std::string& what) {
  throw DeviceError(Fault::kContract, instruction, what);
}

// Of numbers from outside. Parameters are megabytes, mostly of zeros in tests: equal bytes are told by the first one.
Fingerprint FingerprintOf(TensorId tensor, std::span<const std::byte> bytes) {
  Hasher hash;
  hash.Add(static_cast<std::uint64_t>(tensor)).Add(bytes.size());
  if (bytes.size() > 1 && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0) bytes = bytes.first(1);
  while (!bytes.empty()) {
    std::uint64_t word = 0;
    const std::size_t count = std::min(bytes.size(), sizeof(word));
    std::memcpy(&word, bytes.data(), count);
    hash.Add(word);
    bytes = bytes.subspan(count);
  }
  return hash.Value();
}

// Whether an operand is the tensor `t`, with such an access at least.
bool Has(const KernelCall& call, TensorId t, Access access) {
  return std::any_of(call.operands.begin(), call.operands.end(), [&](const OperandCall& operand) {
    const bool as = operand.access == access || operand.access == Access::kReadWrite;
    return operand.at.kind == BufferKind::kTensor && operand.at.tensor == t && as;
  });
}

// Which of its op's tensors a kernel has no operand for. A recomputation may leave out results: those not needed again,
// and state that must not be updated twice.
TensorId Lacks(const KernelCall& call) {
  const std::vector<TensorId>& writes = call.op->writes;
  const bool again = call.kernel->recomputation;
  for (const TensorId t : call.op->reads) {
    const bool state = again && Contains(writes, t);
    if (!state && !Has(call, t, Access::kRead)) return t;
  }
  for (const TensorId t : writes) {
    if (!again && !Has(call, t, Access::kWrite)) return t;
  }
  return kNoTensor;
}

// Which streams may run it.
bool RunsOn(StreamKind kind, const CopyCall& call) {
  if (kind == StreamKind::kCopy) return true;
  const bool in = call.copy->direction == Direction::kHostToDevice;
  return kind == (in ? StreamKind::kHostToDevice : StreamKind::kDeviceToHost);
}

}  // namespace

// ---- a session ------------------------------------------------------------------------------------------------------

void FakeDevice::Begin(const Session& session) {
  assert(!open() && "Begin without End");
  session_ = session;
  RefuseSome();
  memory_.emplace(session_);
  const Program& program = *session.program;
  kernels_ = copies_ = records_ = 0;
  elapsed_ = host_ = now_ = 0;
  keep_at_alloc_.assign(program.buffers.size(), false);
  keep_at_free_.assign(program.buffers.size(), false);
  if (session.step != nullptr) parts_ = PartsOfOps(program, *session.step);
  for (const Resident& resident : session.residents) {
    keep_at_alloc_[resident.first.buffer] = true;
    keep_at_free_[resident.last.buffer] = true;
  }
  if (session.step != nullptr) start_.assign(session.step->tensors.size(), kNothing);
  if (session.step == nullptr) expected_ = ValuesOfList(program);
}

void FakeDevice::RefuseSome() {
  std::uint32_t host = 0, kernel = 0;
  if (Injected(Injection::What::kNoArena, 0)) {
    throw DeviceError(Fault::kNoMemory, kNoInstruction,
                      fmt::format("no arena of {} bytes to be had", session_.arena_bytes));
  }
  for (const Buffer& buffer : session_.program->buffers) {
    if (buffer.kind != BufferKind::kHost || !Injected(Injection::What::kNoHostMemory, host++)) continue;
    throw DeviceError(Fault::kNoMemory, kNoInstruction,
                      fmt::format("no host buffer of {} bytes to be had", buffer.bytes));
  }
  for (const KernelCall& call : session_.kernels) {
    if (!Injected(Injection::What::kKernelRefused, kernel++)) continue;
    throw DeviceError(Fault::kRefused, call.issue.instruction, "the library refuses this kernel");
  }
}

bool FakeDevice::Injected(Injection::What what, std::uint32_t count) const {
  return std::any_of(options_.injections.begin(), options_.injections.end(),
                     [&](const Injection& injection) { return injection.what == what && injection.nth == count; });
}

void FakeDevice::End() noexcept {
  memory_.reset();
  lanes_.clear();
}

void FakeDevice::Write(const Location& at, std::span<const std::byte> bytes) {
  assert(open() && static_cast<Bytes>(bytes.size()) == at.bytes);
  const Fingerprint value = FingerprintOf(at.tensor, bytes);
  memory_->Set(at, value);
  if (at.tensor != kNoTensor && !start_.empty()) start_[Index(at.tensor)] = value;
}

void FakeDevice::Read(const Location& at, std::span<std::byte> bytes) {
  assert(open() && static_cast<Bytes>(bytes.size()) == at.bytes);
  const Fingerprint digest = memory_->Digest(at, at.bytes);
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  std::memcpy(bytes.data(), &digest, std::min(bytes.size(), sizeof(digest)));
}

// ---- calls ----------------------------------------------------------------------------------------------------------

void FakeDevice::BeginStep() {
  const Program& program = *session_.program;
  lanes_.assign(program.streams.size(), {});
  events_.assign(program.events, {});
  spans_.clear();
  calls_.clear();
  elapsed_ += host_;
  host_ = now_ = 0;
  memory_->StartStep();
  if (session_.step == nullptr) return;
  runs_.assign(session_.step->ops.size(), 0);
  if (session_.debug) expected_ = ValuesOfStep(program, *session_.step, start_);
}

void FakeDevice::Push(Opcode opcode, Issue issue, std::uint32_t event, std::vector<OperandCall> accesses) {
  if (issue.stream >= lanes_.size()) Broken(issue.instruction, fmt::format("there is no stream {}", issue.stream));
  calls_.push_back({opcode, issue});
  host_ += options_.host_cost[IndexOf(opcode)];
  lanes_[issue.stream].queue.push_back({.opcode = opcode,
                                        .instruction = issue.instruction,
                                        .issued = host_,
                                        .event = event,
                                        .accesses = std::move(accesses)});
}

void FakeDevice::Enqueue(const KernelCall& call) {
  if (session_.program->streams[call.issue.stream].kind != StreamKind::kCompute) {
    Broken(call.issue.instruction, "a kernel on a copy stream");
  }
  const TensorId lacking = call.op == nullptr ? kNoTensor : Lacks(call);
  if (lacking != kNoTensor) {
    Broken(call.issue.instruction,
           fmt::format("it has no operand for {}", session_.step->tensors[Index(lacking)].name));
  }
  Push(Opcode::kKernel, call.issue, 0, {call.operands.begin(), call.operands.end()});
}

void FakeDevice::Enqueue(const CopyCall& call) {
  if (!RunsOn(session_.program->streams[call.issue.stream].kind, call)) {
    Broken(call.issue.instruction, "the stream does not copy in this direction");
  }
  Push(Opcode::kCopy, call.issue, 0, {{call.from, Access::kRead}, {call.to, Access::kWrite}});
  Queued& copy = lanes_[call.issue.stream].queue.back();
  copy.runs = call.runs;
  copy.fill = call.copy->fill;
}

void FakeDevice::NeedEvent(Issue issue, EventId event, bool recorded) {
  if (event >= events_.size()) Broken(issue.instruction, fmt::format("there is no event {}", event));
  if (events_[event].recorded == recorded) return;
  Broken(issue.instruction,
         fmt::format("event {} {}", event, recorded ? "is not recorded before" : "is recorded a second time"));
}

void FakeDevice::Record(Issue issue, EventId event) {
  NeedEvent(issue, event, false);
  events_[event].recorded = true;
  Push(Opcode::kRecord, issue, event, {});
}

void FakeDevice::Wait(Issue issue, EventId event) {
  NeedEvent(issue, event, true);
  Push(Opcode::kWait, issue, event, {});
}

void FakeDevice::HostSync(Issue issue, EventId event) {
  NeedEvent(issue, event, true);
  calls_.push_back({Opcode::kHostSync, issue});
  RunUntil(&events_[event], issue.instruction);
  host_ = std::max(host_, events_[event].time) + options_.host_cost[IndexOf(Opcode::kHostSync)];
}

void FakeDevice::Alloc(Issue issue, const Location& buffer) {
  assert(session_.debug);
  Push(Opcode::kAlloc, issue, 0, {{buffer, Access::kWrite}});
}

void FakeDevice::Free(Issue issue, const Location& buffer) {
  assert(session_.debug);
  Push(Opcode::kFree, issue, 0, {{buffer, Access::kWrite}});
}

void FakeDevice::EndStep() {
  RunUntil(nullptr, kNoInstruction);
  host_ = std::max(host_, now_);
  for (std::size_t e = 0; e < events_.size(); ++e) {
    if (!events_[e].recorded) Broken(kNoInstruction, fmt::format("event {} is never recorded", e));
  }
  if (session_.debug) CheckStep();
}

}  // namespace spillway
