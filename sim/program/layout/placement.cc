#include "sim/program/layout/placement.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/program/layout/live_curve.h"
#include "sim/program/layout/repair.h"

namespace spillway {

namespace {

// Limits of all rounds of one order: buffers that were looked past when one was placed; rounds, for each buffer.
constexpr std::int64_t kMostSteps = 1'000'000;
constexpr std::size_t kMostRounds = 2;
// Of moves, where each buffer looked at costs more. With 500,000 `best` takes three times as long to plan ResNet-50.
constexpr std::int64_t kMostRepairSteps = 150'000;
constexpr Bytes kUnlimited = std::numeric_limits<Bytes>::max();

double Size(const Lifetime& life) { return static_cast<double>(life.bytes); }  // exact up to 2^53
double Area(const Lifetime& life) { return Size(life) * (life.last - life.first); }

std::int32_t LastOf(const std::vector<Lifetime>& lifetimes) {
  std::int32_t end = 0;
  for (const Lifetime& life : lifetimes) end = std::max(end, life.last);
  return end;
}

}  // namespace

ResidentRegion::ResidentRegion(const std::vector<Lifetime>& lifetimes) {
  for (const Lifetime& life : lifetimes) {
    first_free_ = std::min(first_free_, life.last);
    last_alloc_ = std::max(last_alloc_, life.first);
  }
  for (const Lifetime& life : lifetimes) size_ += Holds(life) ? life.bytes : 0;
}

Placement::Placement(const std::vector<Lifetime>& lifetimes, Bytes capacity)
    : lifetimes_(lifetimes),
      capacity_(capacity),
      most_steps_(capacity > 0 ? kMostSteps : 1),
      end_(LastOf(lifetimes)),
      residents_(lifetimes),
      resident_offsets_(ResidentOffsets()),
      peak_(kUnlimited) {
  for (std::uint32_t k = 0; k < lifetimes.size(); ++k) {
    const std::uint32_t frame = lifetimes[k].frame;
    if (frame == kNoFrame) continue;
    frames_.resize(std::max<std::size_t>(frames_.size(), frame + std::size_t{1}));
    frames_[frame].push_back(k);
  }
}

// The buffers of k's frame; k alone, if it is of none. Valid while `k` is.
std::span<const std::uint32_t> Placement::Members(const std::uint32_t& k) const {
  if (lifetimes_[k].frame == kNoFrame) return {&k, 1};
  return frames_[lifetimes_[k].frame];
}

std::vector<Bytes> Placement::ResidentOffsets() const {
  std::vector<Bytes> offsets(lifetimes_.size(), -1);
  Bytes at = 0;
  for (std::size_t k = 0; k < lifetimes_.size(); ++k) {
    if (!residents_.Holds(lifetimes_[k])) continue;
    offsets[k] = at;
    at += lifetimes_[k].bytes;
  }
  return offsets;
}

// By descending `first`, then by descending key, then by index; of a frame, the most and the sum of its buffers.
template <typename First, typename Key>
Placement::Order Placement::LargestFirst(First first, Key key) const {
  struct Keyed {
    double first, key;
    std::uint32_t k;
    bool operator<(const Keyed& other) const {
      if (first != other.first) return first > other.first;
      return key > other.key || (key == other.key && k < other.k);
    }
  };
  std::vector<Keyed> keyed;
  keyed.reserve(lifetimes_.size());
  for (std::uint32_t k = 0; k < lifetimes_.size(); ++k) {
    if (residents_.Holds(lifetimes_[k]) || Members(k).front() != k) continue;
    Keyed next{0, 0, k};
    for (const std::uint32_t member : Members(k)) {
      next.first = std::max(next.first, first(lifetimes_[member]));
      next.key += key(lifetimes_[member]);
    }
    keyed.push_back(next);
  }
  std::sort(keyed.begin(), keyed.end());
  Order order;
  order.reserve(keyed.size());
  for (const Keyed& next : keyed) order.push_back(next.k);
  return order;
}

template <typename Key>
Placement::Order Placement::LargestFirst(Key key) const {
  return LargestFirst([](const Lifetime&) { return 0.0; }, key);
}

// By the most bytes live while the buffer is: those at the list's peak fill it first, others what that leaves.
Placement::Order Placement::FullestFirst() const {
  const LiveCurve live(lifetimes_);
  return LargestFirst([&live](const Lifetime& life) { return static_cast<double>(live.MostDuring(life)); }, Size);
}

// Buffers of one order, placed one after the other.
struct Placement::Round {
  Order order;
  Arena arena;
  Offsets offsets;
  std::size_t next = 0;    // into `order`
  std::int64_t steps = 0;  // buffers that were looked past
};

Placement::Round Placement::Begin(Order order) const {
  return {std::move(order), Arena(lifetimes_.size(), end_, residents_.size()), resident_offsets_};
}

// Goes on until a buffer ends above `beyond`. Returns whether none does.
bool Placement::GoOn(Round& round, Bytes beyond) const {
  while (round.next < round.order.size()) {
    const std::size_t i = round.next++;
    const std::uint32_t k = round.order[i];
    round.steps += static_cast<std::int64_t>(i) * PlaceNext(k, round.arena, round.offsets);
    if (EndOf(k, round.offsets) > beyond) return false;
  }
  return true;
}

Bytes Placement::PlaceCompactly() {
  Order by_size = LargestFirst(Size);
  const std::size_t buffers = by_size.size();
  // A single round of many buffers takes all the steps that there are.
  if (static_cast<std::int64_t>(buffers * (buffers - 1) / 2) >= most_steps_) {
    PlaceInOneRound(std::move(by_size));
  } else {
    TryRounds(std::move(by_size));
    if (peak_ > capacity_) TryRounds(LargestFirst(Area));
    if (peak_ > capacity_) TryRounds(FullestFirst());
  }
  if (peak_ > capacity_ && capacity_ > 0 && frames_.empty()) TryMoves();
  return peak_;
}

// Gives what TryRounds of both orders would, without the rest: the largest-first round stops where it goes beyond the
// capacity, and again where it goes beyond the peak of the other round.
void Placement::PlaceInOneRound(Order by_size) {
  Round sizes = Begin(std::move(by_size));
  if (GoOn(sizes, capacity_)) return Keep(std::move(sizes));
  Round areas = Begin(LargestFirst(Area));
  GoOn(areas, kUnlimited);
  const Bytes peak = areas.arena.peak();
  const bool smaller = peak > capacity_ && sizes.arena.peak() <= peak && GoOn(sizes, peak);
  Keep(std::move(smaller ? sizes : areas));
  if (peak_ <= capacity_) return;
  Round fullest = Begin(FullestFirst());
  if (GoOn(fullest, peak_ - 1)) Keep(std::move(fullest));
}

// The first round is carried to its end, for its peak; others end with the first buffer that goes beyond the capacity.
void Placement::TryRounds(Order order) {
  const std::size_t rounds = kMostRounds * order.size();
  std::int64_t steps = 0;
  for (std::size_t k = 0; k == 0 || (peak_ > capacity_ && steps < most_steps_ && k < rounds); ++k) {
    Round round = Begin(order);
    const bool complete = GoOn(round, k == 0 ? kUnlimited : capacity_);
    steps += round.steps;
    const std::uint32_t beyond = k == 0 ? LargestAboveCapacity(round.offsets) : round.order[round.next - 1];
    const auto bump = std::find(order.begin(), order.end(), beyond);
    if (bump != order.end()) std::rotate(order.begin(), bump, bump + 1);
    if (complete && round.arena.peak() < peak_) Keep(std::move(round));
  }
}

void Placement::TryMoves() {
  Repair repair(lifetimes_, residents_.size(), capacity_, offsets_);
  repair.Run(kMostRepairSteps);
  if (repair.peak() >= peak_) return;
  Round moved = Begin({});
  for (std::size_t k = 0; k < lifetimes_.size(); ++k) {
    moved.offsets[k] = repair.best()[k];
    if (!residents_.Holds(lifetimes_[k])) moved.arena.Put(lifetimes_[k], moved.offsets[k]);
  }
  Keep(std::move(moved));
}

// Returns how often the arena was asked.
int Placement::PlaceNext(std::uint32_t k, Arena& arena, Offsets& offsets) const {
  if (lifetimes_[k].frame != kNoFrame) return PlaceFrame(Members(k), arena, offsets);
  offsets[k] = arena.Lowest(lifetimes_[k]);
  arena.Put(lifetimes_[k], offsets[k]);
  return 1;
}

// From the lowest address on, the frame moves up to where the member that is furthest off finds its place, until all do.
int Placement::PlaceFrame(std::span<const std::uint32_t> members, Arena& arena, Offsets& offsets) const {
  Bytes at = arena.base();
  int asked = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (const std::uint32_t member : members) {
      const Lifetime& life = lifetimes_[member];
      const Bytes lowest = arena.Lowest(life, at + life.distance) - life.distance;
      moved = moved || lowest > at;
      at = lowest;
    }
    asked += static_cast<int>(members.size());
  }
  for (const std::uint32_t member : members) {
    offsets[member] = at + lifetimes_[member].distance;
    arena.Put(lifetimes_[member], offsets[member]);
  }
  return asked;
}

Bytes Placement::EndOf(std::uint32_t k, const Offsets& offsets) const {
  Bytes end = 0;
  for (const std::uint32_t member : Members(k)) end = std::max(end, offsets[member] + lifetimes_[member].bytes);
  return end;
}

void Placement::Keep(Round round) {
  peak_ = round.arena.peak();
  arena_ = std::move(round.arena);
  offsets_ = std::move(round.offsets);
}

std::uint32_t Placement::LargestAboveCapacity(const Offsets& offsets) const {
  std::uint32_t largest = 0;
  Bytes bytes = -1;
  for (std::uint32_t k = 0; k < lifetimes_.size(); ++k) {
    if (offsets[k] + lifetimes_[k].bytes <= capacity_ || lifetimes_[k].bytes <= bytes) continue;
    largest = k;
    bytes = lifetimes_[k].bytes;
  }
  return Members(largest).front();
}

}  // namespace spillway
