// Memory that holds fingerprints instead of numbers.
//
// A fingerprint stands for what a kernel would compute; Contents says which bytes hold which one.
#ifndef SPILLWAY_SIM_EXECUTE_FAKE_CONTENTS_H_
#define SPILLWAY_SIM_EXECUTE_FAKE_CONTENTS_H_

#include <cstdint>
#include <map>

#include "hw/text/units.h"

namespace spillway {

using Fingerprint = std::uint64_t;
constexpr Fingerprint kNothing = 0;
// Different letters for what comes from different places, so that no two fingerprints agree by accident.
Fingerprint Fresh(char what, std::uint64_t a, std::uint64_t b = 0);

// Bytes of one address space and what they hold.
class Contents {
 public:
  void Set(Bytes begin, Bytes end, Fingerprint value);  // kNothing: as after being filled with NaN
  // Bytes [from, from + bytes) of `other` to `to`.
  void CopyFrom(const Contents& other, Bytes from, Bytes to, Bytes bytes);
  // What [begin, end) holds, wherever it lies and in however many pieces it came; kNothing if nothing is there.
  Fingerprint Digest(Bytes begin, Bytes end) const;
  bool Complete(Bytes begin, Bytes end) const;  // every byte holds something

 private:
  struct Run {
    Bytes end;
    Fingerprint value;
  };
  template <typename F>
  void ForEach(Bytes begin, Bytes end, F f) const;
  std::map<Bytes, Run> runs_;  // by first byte, disjoint, without kNothing
};
constexpr Fingerprint kZeroes = 2;  // what a tile is padded with
// Of `bytes` bytes that hold one value.
Fingerprint DigestOf(Bytes bytes, Fingerprint value);

}  // namespace spillway

#endif  // SPILLWAY_SIM_EXECUTE_FAKE_CONTENTS_H_
