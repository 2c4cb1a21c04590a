// Memory of the fake device: who lives where, who is at work on what, and what every byte holds.
//
// Whatever breaks a clause of sim/program/program.h is thrown as DeviceError, with the instruction that came second.
//
// Bytes are not stored: a range holds a fingerprint of what was written there, 64 bits, so that steps of any size can be
// checked. Ranges with equal digests hold the same, up to chance.
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

  // Events in the life of a buffer; `keep` leaves its contents as they are.
  void Alloc(std::uint32_t instruction, const Location& at, bool keep);
  void Free(std::uint32_t instruction, const Location& at, bool keep);
  // An instruction at work: between the two nobody may disturb it.
  void Start(std::uint32_t instruction, std::span<const OperandCall> accesses);
  void Finish(std::uint32_t instruction);
  // After a step: every buffer of the device is allocated once and freed.
  void CheckAllFreed() const;
  // Buffers are yet to be allocated. What the last step left on the host is forgotten, except what lasts.
  void StartStep();

  void Set(const Location& at, Fingerprint value);
  // `runs`: of a box, the locations being whole buffers; `fill`: what else `to` holds becomes zeros.
  void Copy(const Location& from, const Location& to, const BoxRuns* runs, bool fill);
  bool Complete(const Location& from, const BoxRuns& runs) const;
  // What [at, at + bytes) holds, in however many pieces it came, kNothing if nothing; whether every byte of it holds
  // something.
  Fingerprint Digest(const Location& at, Bytes bytes) const;
  bool Complete(const Location& at, Bytes bytes) const;
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
  std::map<Bytes, Location> live_;  // by address; none empty, none overlap
  std::vector<Work> work_;          // under way: one instruction a stream at most
  Bytes high_water_ = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_EXECUTE_FAKE_MEMORY_H_
