// Where the matrices of an attention's heads lie in its buffers. Private to calibrate/devices/cpu/.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_HEAD_BUFFERS_H_
#define SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_HEAD_BUFFERS_H_

#include <cstddef>
#include <cstdint>

#include "model/step/heads.h"

namespace spillway::cpu {

// Elements from a buffer's beginning to a head's matrix, which is of size x positions; scores of queries x keys.
struct HeadBuffers {
  HeadSplit split;

  std::int64_t KvHead(std::int64_t head) const { return head / (split.heads / split.kv_heads); }
  std::int64_t Query(std::int64_t n, std::int64_t head) const {
    return (n * split.Channels() + head * split.size) * split.queries;
  }
  std::int64_t Key(std::int64_t n, std::int64_t head) const { return OfKeys(n, head, split.heads); }
  std::int64_t Value(std::int64_t n, std::int64_t head) const { return OfKeys(n, head, split.heads + split.kv_heads); }
  std::int64_t Result(std::int64_t n, std::int64_t head) const {
    return (n * split.heads + head) * split.size * split.queries;
  }
  std::int64_t Scores(std::int64_t n, std::int64_t head) const {
    return (n * split.heads + head) * split.queries * split.keys;
  }
  // True: no head before it writes the gradient of the keys and values that it shares.
  bool BeginsKv(std::int64_t head) const { return head % (split.heads / split.kv_heads) == 0; }

 private:
  // `before`: heads that a packed tensor has in front.
  std::int64_t OfKeys(std::int64_t n, std::int64_t head, std::int64_t before) const {
    const std::int64_t channels = split.packed ? split.Channels() : split.kv_heads * split.size;
    return (n * channels + ((split.packed ? before : 0) + KvHead(head)) * split.size) * split.keys;
  }
};

}  // namespace spillway::cpu

#endif  // SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_HEAD_BUFFERS_H_
