// The memory of the fake device: the addresses of live buffers, the accesses in progress, and the contents of every
// byte.
//
// A broken clause of sim/program/program.h throws DeviceError (kContract). If two instructions conflict, the error
// names the later one.
//
// Instead of bytes, a range of addresses stores a fingerprint of 64 bits of the value written there. So steps of any
// size can be checked. Equal digests mean equal contents, except by chance.
#ifndef SPILLWAY_SIM_EXECUTE_FAKE_MEMORY_H_
#define SPILLWAY_SIM_EXECUTE_FAKE_MEMORY_H_

#include <map>
#include <span>
#include <vector>

#include "sim/execute/device.h"
#include "sim/execute/fake/contents.h"
#include "sim/execute/fake/values.h"

namespace spillway {

class FakeMemory {
 public:
  explicit FakeMemory(const Session& session);

  // The kAlloc and the kFree of buffer `at`. They erase its contents, unless `keep`.
  void Alloc(std::uint32_t instruction, const Location& at, bool keep);
  void Free(std::uint32_t instruction, const Location& at, bool keep);
  // An instruction accesses its operands from Start to Finish. Meanwhile a conflicting access, kAlloc or kFree throws.
  void Start(std::uint32_t instruction, std::span<const OperandCall> accesses);
  void Finish(std::uint32_t instruction);
  // Throws unless every device buffer was allocated and freed in this step.
  void CheckAllFreed() const;
  // Begins a step: no device buffer is allocated. Host buffers lose their contents, except those of residents. In a
  // session without a TrainingStep, host buffers that the Program only reads get their initial values.
  void StartStep();

  // Writes `value` to the bytes of `at`.
  void Set(const Location& at, Fingerprint value);
  // Copies the contents of `from` to `to`; with `runs` only those of a box, and the locations are whole buffers.
  // `fill`: first sets `to` to zeros.
  void Copy(const Location& from, const Location& to, const BoxRuns* runs, bool fill);
  // True if every byte of the box was written.
  bool Complete(const Location& from, const BoxRuns& runs) const;
  // The digest of the first `bytes` bytes of `at`, which does not depend on the pieces that wrote them; kNothing if no
  // byte was written.
  Fingerprint Digest(const Location& at, Bytes bytes) const;
  bool Complete(const Location& at, Bytes bytes) const;  // true if all of these bytes were written
  // One past the highest byte of the arena that an instruction wrote.
  Bytes high_water() const { return high_water_; }

 private:
  enum class Life { kUnborn, kLive, kDead };
  struct Work {
    std::uint32_t instruction;
    OperandCall access;
  };
  Contents& ContentsOf(const Location& at) { return at.kind == BufferKind::kHost ? host_[at.buffer] : arena_; }
  const Contents& ContentsOf(const Location& at) const {
    return at.kind == BufferKind::kHost ? host_[at.buffer] : arena_;
  }
  void CheckInside(std::uint32_t instruction, const Location& at) const;
  void CheckQuiet(std::uint32_t instruction, const Location& at, Access access, const char* what) const;

  const Session& session_;
  const Program& program_;
  Contents arena_;
  std::vector<Contents> host_;      // by buffer
  std::vector<Life> life_;          // by buffer
  std::map<Bytes, Location> live_;  // live device buffers by address; no empty ones, no overlap
  std::vector<Work> work_;          // accesses in progress, of at most one instruction per stream
  Bytes high_water_ = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_EXECUTE_FAKE_MEMORY_H_
