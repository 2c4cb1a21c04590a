// Where the matrices of an attention's heads lie in its buffers. Private to calibrate/devices/cpu/.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_HEAD_BUFFERS_H_
#define SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_HEAD_BUFFERS_H_

#include <cstddef>
#include <cstdint>

#include "model/step/heads.h"

namespace spillway::cpu {

// Offsets in elements, from a buffer's beginning to the matrix of one head and one row of positions. The matrix has size x
// positions elements. Its lines are `rows` times as far apart. Scores are dense: queries x keys.
struct HeadBuffers {
  HeadSplit split;

  std::int64_t KvHead(std::int64_t head) const { return head / (split.heads / split.kv_heads); }
  std::int64_t Query(std::int64_t n, std::int64_t head, std::int64_t row = 0) const {
    return ((n * split.Channels() + head * split.size) * split.rows + row) * split.queries;
  }
  std::int64_t Key(std::int64_t n, std::int64_t head, std::int64_t row = 0) const {
    return OfKeys(n, head, split.heads, row);
  }
  std::int64_t Value(std::int64_t n, std::int64_t head, std::int64_t row = 0) const {
    return OfKeys(n, head, split.heads + split.kv_heads, row);
  }
  std::int64_t Result(std::int64_t n, std::int64_t head, std::int64_t row = 0) const {
    return ((n * split.heads + head) * split.size * split.rows + row) * split.queries;
  }
  std::int64_t Scores(std::int64_t n, std::int64_t head, std::int64_t row = 0) const {
    return ((n * split.heads + head) * split.rows + row) * split.queries * split.keys;
  }
  std::int64_t QueryPitch() const { return split.rows * split.queries; }
  std::int64_t KeyPitch() const { return split.rows * split.keys; }
  // True: no head before it writes the gradient of the keys and values that it shares.
  bool BeginsKv(std::int64_t head) const { return head % (split.heads / split.kv_heads) == 0; }

 private:
  // `before`: heads that a packed tensor has in front.
  std::int64_t OfKeys(std::int64_t n, std::int64_t head, std::int64_t before, std::int64_t row) const {
    const std::int64_t channels = split.packed ? split.Channels() : split.kv_heads * split.size;
    const std::int64_t channel = n * channels + ((split.packed ? before : 0) + KvHead(head)) * split.size;
    return (channel * split.rows + row) * split.keys;
  }
};

}  // namespace spillway::cpu

#endif  // SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_HEAD_BUFFERS_H_
