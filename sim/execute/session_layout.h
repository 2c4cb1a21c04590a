// Where the buffers of a session lie, whatever the device: offsets in its arena and in one block of host memory; and
// what a debug session empties.
#ifndef SPILLWAY_SIM_EXECUTE_SESSION_LAYOUT_H_
#define SPILLWAY_SIM_EXECUTE_SESSION_LAYOUT_H_

#include <vector>

#include "sim/execute/device.h"

namespace spillway {

class SessionLayout {
 public:
  struct Range {
    Bytes begin = 0, end = 0;
    bool operator==(const Range&) const = default;
  };

  // `session` must outlive this.
  explicit SessionLayout(const Session& session);

  // The bytes of all host buffers, each from the begin of a page.
  Bytes host_bytes() const { return host_bytes_; }
  // From the beginning of the arena, or of the block of host buffers. Throws DeviceError (kContract) blaming
  // `instruction` if the bytes are not all inside.
  Bytes OffsetOf(const Location& at, std::uint32_t instruction) const;

  // Debug sessions. Of residents' buffers: the one before the step, and the one behind it.
  bool KeepsAtAlloc(BufferId buffer) const { return keep_at_alloc_[buffer]; }
  bool KeepsAtFree(BufferId buffer) const { return keep_at_free_[buffer]; }
  // The ranges that hold no resident's value before a step.
  std::vector<Range> EmptyInArena() const;
  std::vector<Range> EmptyOnHost() const;

 private:
  const Session& session_;
  Bytes host_bytes_ = 0;
  std::vector<Bytes> host_offset_;                  // by buffer
  std::vector<bool> keep_at_alloc_, keep_at_free_;  // by buffer
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_EXECUTE_SESSION_LAYOUT_H_
