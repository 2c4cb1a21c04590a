#include "sim/placement.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace spillway {

namespace {

struct Placed {
  Bytes begin, end;
  std::uint32_t first, last;
};

// Buffers that have their place, in order of address. The lowest `base` bytes are nobody's.
class Arena {
 public:
  Arena(std::size_t expected, Bytes base) : base_(base), peak_(base) { placed_.reserve(expected); }

  // Calls visit(begin, end) for each gap that is free throughout [first, last), in order of address, the last one
  // open-ended, until it returns true.
  template <typename Visit>
  void ForEachGap(std::uint32_t first, std::uint32_t last, Bytes bytes, Visit visit) const {
    Bytes at = base_;
    for (const Placed& other : placed_) {
      if (other.last <= first || last <= other.first) continue;
      if (other.begin - at >= bytes && visit(at, other.begin)) return;
      at = std::max(at, other.end);
    }
    visit(at, INT64_MAX);
  }

  Bytes Lowest(const Lifetime& life) const {
    Bytes lowest = 0;
    ForEachGap(life.first, life.last, life.bytes, [&lowest](Bytes begin, Bytes) {
      lowest = begin;
      return true;
    });
    return lowest;
  }

  void Put(const Lifetime& life, Bytes at) {
    const Placed entry{at, at + life.bytes, life.first, life.last};
    const auto position = std::upper_bound(placed_.begin(), placed_.end(), entry,
                                           [](const Placed& a, const Placed& b) { return a.begin < b.begin; });
    placed_.insert(position, entry);
    peak_ = std::max(peak_, entry.end);
  }
  void Take(const Lifetime& life, Bytes at) {
    auto position = std::lower_bound(placed_.begin(), placed_.end(), at,
                                     [](const Placed& a, Bytes address) { return a.begin < address; });
    while (position->first != life.first || position->last != life.last) ++position;
    placed_.erase(position);
  }
  Bytes peak() const { return peak_; }

 private:
  Bytes base_;
  Bytes peak_;
  std::vector<Placed> placed_;
};

using Order = std::vector<std::uint32_t>;  // indices into the lifetimes

// What is there (almost) throughout, parameters above all, lies side by side at the bottom and need not be looked at
// again: a third of the buffers of a training step.
class Bottom {
 public:
  explicit Bottom(const std::vector<Lifetime>& lifetimes) {
    std::uint32_t end = 0;
    for (const Lifetime& life : lifetimes) end = std::max(end, life.last);
    longest_ = end - end / 10 * 3;
    for (const Lifetime& life : lifetimes) base_ += Holds(life) ? life.bytes : 0;
  }
  bool Holds(const Lifetime& life) const { return life.last - life.first > longest_; }
  Bytes base() const { return base_; }

 private:
  std::uint32_t longest_;
  Bytes base_ = 0;
};

template <typename Before>
Order SortedBy(const std::vector<Lifetime>& lifetimes, const Bottom& bottom, Before before) {
  Order order;
  for (std::uint32_t k = 0; k < lifetimes.size(); ++k) {
    if (!bottom.Holds(lifetimes[k])) order.push_back(k);
  }
  std::stable_sort(order.begin(), order.end(), before);
  return order;
}

Offsets AtTheBottom(const std::vector<Lifetime>& lifetimes, const Bottom& bottom) {
  Offsets offsets(lifetimes.size(), -1);
  Bytes at = 0;
  for (std::size_t k = 0; k < lifetimes.size(); ++k) {
    if (!bottom.Holds(lifetimes[k])) continue;
    offsets[k] = at;
    at += lifetimes[k].bytes;
  }
  return offsets;
}

Bytes PlaceLowest(const std::vector<Lifetime>& lifetimes, const Order& order, Arena& arena, Offsets& offsets) {
  for (const std::uint32_t k : order) {
    offsets[k] = arena.Lowest(lifetimes[k]);
    arena.Put(lifetimes[k], offsets[k]);
  }
  return arena.peak();
}

// The largest buffer that ends above `capacity`.
std::uint32_t LargestAbove(Bytes capacity, const std::vector<Lifetime>& lifetimes, const Offsets& offsets) {
  std::uint32_t largest = 0;
  Bytes bytes = -1;
  for (std::uint32_t k = 0; k < lifetimes.size(); ++k) {
    if (offsets[k] + lifetimes[k].bytes <= capacity || lifetimes[k].bytes <= bytes) continue;
    largest = k;
    bytes = lifetimes[k].bytes;
  }
  return largest;
}

// Rounds of PlaceCompactly by order. Each costs about buffers^2 / 2 steps, which shall not exceed some ten million.
int Rounds(std::size_t buffers) {
  constexpr std::size_t kSteps = 12'000'000;
  return static_cast<int>(std::clamp<std::size_t>(kSteps / (buffers * buffers / 2 + 1), 1, 16));
}

double Area(const Lifetime& life) { return static_cast<double>(life.bytes) * (life.last - life.first); }

// Finds, in the gaps of an arena, the place whose most recent user left earliest.
class Oldest {
 public:
  Oldest(const LastFrees& frees, const Lifetime& life, Bytes capacity)
      : frees_(frees), life_(life), capacity_(capacity) {}

  bool Try(Bytes begin, Bytes end) {
    end = std::min(end, capacity_);
    if (end - begin < life_.bytes) return false;
    TryAt(begin, end);
    frees_.ForEach(begin, end - life_.bytes, [&](const LastFrees::Stretch& stretch) {
      if (best_age_ > 0 && stretch.end + life_.bytes <= end) TryAt(stretch.end, end);
    });
    return best_age_ == 0;
  }
  Bytes at() const { return at_; }

 private:
  // Age 0: no wait at all. Otherwise the list position of the latest free among the earlier users.
  void TryAt(Bytes begin, Bytes) {
    std::uint32_t age = 0;
    frees_.ForEach(begin, begin + life_.bytes, [&](const LastFrees::Stretch& stretch) {
      const bool waits = stretch.freed_by != LastFrees::kNobody && stretch.stream != life_.alloc_stream;
      if (waits) age = std::max(age, stretch.freed_by + 1);
    });
    if (at_ >= 0 && age >= best_age_) return;
    best_age_ = age;
    at_ = begin;
  }

  const LastFrees& frees_;
  const Lifetime& life_;
  Bytes capacity_;
  Bytes at_ = -1;
  std::uint32_t best_age_ = 0xffffffffu;
};

struct Change {  // of what is live, in list order
  std::uint32_t item;
  std::uint32_t lifetime;
  bool is_alloc;
};

std::vector<Change> Changes(const std::vector<Lifetime>& lifetimes) {
  std::vector<Change> changes;
  changes.reserve(2 * lifetimes.size());
  for (std::uint32_t k = 0; k < lifetimes.size(); ++k) {
    changes.push_back({lifetimes[k].first, k, true});
    changes.push_back({lifetimes[k].last, k, false});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.item < b.item; });
  return changes;
}

}  // namespace

std::size_t LastFrees::Find(Bytes address) const {
  const auto at = std::upper_bound(stretches_.begin(), stretches_.end(), address,
                                   [](Bytes a, const Stretch& s) { return a < s.end; });
  return static_cast<std::size_t>(at - stretches_.begin());
}

void LastFrees::Split(Bytes address) {
  const std::size_t at = Find(address);
  if (address == 0 || at == stretches_.size() || (at > 0 && stretches_[at - 1].end == address)) return;
  Stretch left = stretches_[at];
  left.end = address;
  stretches_.insert(stretches_.begin() + static_cast<std::ptrdiff_t>(at), left);
}

void LastFrees::Set(Bytes begin, Bytes end, std::uint32_t item, StreamId stream) {
  Split(begin);
  Split(end);
  const std::size_t first = Find(begin);
  std::size_t last = first;
  while (stretches_[last].end < end) ++last;
  stretches_.erase(stretches_.begin() + static_cast<std::ptrdiff_t>(first),
                   stretches_.begin() + static_cast<std::ptrdiff_t>(last));
  stretches_[first].freed_by = item;
  stretches_[first].stream = stream;
}

Bytes PlaceCompactly(const std::vector<Lifetime>& lifetimes, Bytes capacity, Offsets& offsets) {
  const auto by_size = [&](std::uint32_t a, std::uint32_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; };
  const auto by_area = [&](std::uint32_t a, std::uint32_t b) { return Area(lifetimes[a]) > Area(lifetimes[b]); };
  const Bottom bottom(lifetimes);
  const int rounds = capacity > 0 ? Rounds(lifetimes.size()) : 1;
  Bytes best = INT64_MAX;
  for (Order order : {SortedBy(lifetimes, bottom, by_size), SortedBy(lifetimes, bottom, by_area)}) {
    for (int round = 0; round < rounds && best > capacity; ++round) {
      Arena arena(order.size(), bottom.base());
      Offsets tried = AtTheBottom(lifetimes, bottom);
      const Bytes peak = PlaceLowest(lifetimes, order, arena, tried);
      const auto bump = std::find(order.begin(), order.end(), LargestAbove(capacity, lifetimes, tried));
      if (bump != order.end()) std::rotate(order.begin(), bump, bump + 1);
      if (peak < best) offsets = std::move(tried);
      best = std::min(best, peak);
    }
  }
  return best;
}

void SpreadByAge(const std::vector<Lifetime>& lifetimes, Bytes capacity, Offsets& offsets) {
  const Bottom bottom(lifetimes);
  Arena arena(lifetimes.size(), bottom.base());
  for (std::size_t k = 0; k < lifetimes.size(); ++k) {
    if (!bottom.Holds(lifetimes[k])) arena.Put(lifetimes[k], offsets[k]);
  }
  LastFrees frees(capacity);
  for (const Change& change : Changes(lifetimes)) {
    const Lifetime& life = lifetimes[change.lifetime];
    Bytes& offset = offsets[change.lifetime];
    if (!change.is_alloc) {
      frees.Set(offset, offset + life.bytes, change.item, life.free_stream);
      continue;
    }
    Oldest oldest(frees, life, capacity);
    if (oldest.Try(offset, offset + life.bytes)) continue;
    arena.Take(life, offset);
    arena.ForEachGap(life.first, life.last, life.bytes,
                     [&oldest](Bytes begin, Bytes end) { return oldest.Try(begin, end); });
    offset = oldest.at();
    arena.Put(life, offset);
  }
}

}  // namespace spillway
