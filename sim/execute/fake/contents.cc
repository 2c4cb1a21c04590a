#include "sim/execute/fake/contents.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "model/util/hash.h"

namespace spillway {

Fingerprint Fresh(char what, std::uint64_t a, std::uint64_t b) {
  const Fingerprint value = Hasher().Add(static_cast<std::uint64_t>(what)).Add(a).Add(b).Value();
  return value == kNothing ? 1 : value;
}

void Contents::Set(Bytes begin, Bytes end, Fingerprint value) {
  if (begin >= end) return;
  auto it = runs_.lower_bound(begin);
  if (it != runs_.begin() && std::prev(it)->second.end > begin) --it;
  while (it != runs_.end() && it->first < end) {
    const auto [start, run] = *it;
    it = runs_.erase(it);
    if (start < begin) runs_[start] = {begin, run.value};
    if (run.end > end) runs_[end] = run;
  }
  if (value != kNothing) runs_[begin] = {end, value};
}

// Calls f(first byte, end, value) for all that is held in [begin, end), clipped to it.
template <typename F>
void Contents::ForEach(Bytes begin, Bytes end, F f) const {
  auto it = runs_.lower_bound(begin);
  if (it != runs_.begin() && std::prev(it)->second.end > begin) --it;
  for (; it != runs_.end() && it->first < end; ++it) {
    f(std::max(it->first, begin), std::min(it->second.end, end), it->second.value);
  }
}

void Contents::CopyFrom(const Contents& other, Bytes from, Bytes to, Bytes bytes) {
  Set(to, to + bytes, kNothing);
  other.ForEach(from, from + bytes,
                [&](Bytes b, Bytes e, Fingerprint value) { Set(b - from + to, e - from + to, value); });
}

Fingerprint Contents::Digest(Bytes begin, Bytes end) const {
  std::vector<std::pair<Bytes, Run>> merged;
  ForEach(begin, end, [&](Bytes b, Bytes e, Fingerprint value) {
    if (!merged.empty() && merged.back().second.end == b && merged.back().second.value == value) {
      merged.back().second.end = e;
    } else {
      merged.push_back({b, {e, value}});
    }
  });
  if (merged.empty()) return kNothing;
  Hasher hash;
  for (const auto& [b, run] : merged) {
    hash.Add(static_cast<std::uint64_t>(b - begin)).Add(static_cast<std::uint64_t>(run.end - begin)).Add(run.value);
  }
  return Fresh('d', hash.Value());
}

bool Contents::Complete(Bytes begin, Bytes end) const {
  Bytes held = 0;
  ForEach(begin, end, [&](Bytes b, Bytes e, Fingerprint) { held += e - b; });
  return held == end - begin;
}

Fingerprint DigestOf(Bytes bytes, Fingerprint value) {
  Contents contents;
  contents.Set(0, bytes, value);
  return contents.Digest(0, bytes);
}

}  // namespace spillway
