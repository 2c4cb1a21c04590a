// The memory of one session of the CPU device: the arena, the host buffers, and what the library needs beside them.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CPU_SESSION_MEMORY_H_
#define SPILLWAY_CALIBRATE_DEVICES_CPU_SESSION_MEMORY_H_

#include <atomic>
#include <span>

#include "calibrate/host/host_memory.h"
#include "sim/execute/device.h"
#include "sim/execute/session_layout.h"

namespace spillway {

class SessionMemory {
 public:
  // Throws DeviceError (kNoMemory) with the sizes if `available`, or the system, has not that much. `available` -1:
  // ask the system.
  SessionMemory(const Session& session, Bytes available);

  // Throws DeviceError (kContract) blaming `instruction` if the bytes are not all inside.
  std::span<std::byte> At(const Location& at, std::uint32_t instruction) const;
  Bytes host_bytes() const { return host_.bytes(); }

  // The library's: scratch of kernels that plans grant none. Throws like the constructor. Not to be called while
  // kernels run.
  void ReserveLibrary(Bytes bytes);
  std::span<std::byte> library() const { return {library_.data(), static_cast<std::size_t>(library_.bytes())}; }

  // ---- debug sessions -----------------------------------------------------------------------------------------------

  // Everything but the places where residents have their values becomes canary.
  void StartStep();
  // The stream that calls has the bytes to itself.
  void CheckEmpty(const Location& at, std::uint32_t instruction) const;  // throws kContents
  void Empty(const Location& at, std::uint32_t instruction);
  // Whether there is any of what was never written, or freed, among the first `bytes`.
  bool Unwritten(const Location& at, Bytes bytes, std::uint32_t instruction) const;
  // Throws kContents if something was written behind the arena.
  void CheckEnd() const;
  Bytes HighWater();

  const SessionLayout& layout() const { return layout_; }

 private:
  void NeedRoom(Bytes library) const;
  void NoteHighest(Bytes end);
  void EmptyArena(Bytes begin, Bytes end);

  const Session& session_;
  const SessionLayout layout_;
  Bytes available_;
  MappedMemory arena_, host_, library_;
  std::atomic<Bytes> highest_{0};
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CPU_SESSION_MEMORY_H_
