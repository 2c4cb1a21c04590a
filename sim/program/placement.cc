#include "sim/program/placement.h"

#include <limits>
#include <utility>

namespace spillway {

namespace {

// Of all rounds of one order: buffers that were looked past when one was placed; and rounds, for each buffer.
constexpr std::int64_t kMostSteps = 1'000'000;
constexpr std::size_t kMostRounds = 2;
constexpr std::uint32_t kNobody = 0xffffffffu;

double Size(const Lifetime& life) { return static_cast<double>(life.bytes); }  // exact up to 2^53
double Area(const Lifetime& life) { return Size(life) * (life.last - life.first); }

// Finds, in the gaps of an arena, the place whose most recent user left earliest.
class Oldest {
 public:
  Oldest(const LastFrees& frees, const Lifetime& life, Bytes capacity)
      : frees_(frees), life_(life), capacity_(capacity) {}

  // Every place in the gap that can be better than those seen: at its start and behind each earlier user. Returns
  // whether the best possible one has been found.
  bool Try(Bytes begin, Bytes end) {
    end = std::min(end, capacity_);
    if (end - begin < life_.bytes) return false;
    TryAt(begin);
    frees_.ForEach(begin, end - life_.bytes, [&](const LastFrees::Stretch& stretch) {
      if (age_ == 0 || stretch.end + life_.bytes > end) return false;
      TryAt(stretch.end);
      return true;
    });
    return age_ == 0;
  }
  bool TryAt(Bytes begin) {
    std::uint32_t age = 0;
    frees_.ForEach(begin, begin + life_.bytes, [&](const LastFrees::Stretch& stretch) {
      if (stretch.Delays(life_.stream)) age = std::max(age, stretch.freed_by + 1);
      return age < age_;
    });
    if (age < age_) at_ = begin;
    age_ = std::min(age_, age);
    return age_ == 0;
  }
  Bytes at() const { return at_; }
  bool waits() const { return age_ > 0; }

 private:
  const LastFrees& frees_;
  const Lifetime& life_;
  Bytes capacity_;
  Bytes at_ = -1;
  // Of the place `at_`: 0, no wait at all; otherwise the list position of the latest free among the earlier users.
  std::uint32_t age_ = LastFrees::kNobody;
};

}  // namespace

Bottom::Bottom(const std::vector<Lifetime>& lifetimes) {
  std::int32_t end = 0;
  for (const Lifetime& life : lifetimes) end = std::max(end, life.last);
  longest_ = end - end / 10 * 3;
  for (const Lifetime& life : lifetimes) base_ += Holds(life) ? life.bytes : 0;
}

Placement::Placement(const std::vector<Lifetime>& lifetimes, Bytes capacity)
    : lifetimes_(lifetimes),
      capacity_(capacity),
      bottom_(lifetimes),
      bottom_offsets_(AtTheBottom()),
      peak_(std::numeric_limits<Bytes>::max()) {
  for (std::uint32_t k = 0; k < lifetimes.size(); ++k) {
    const std::uint32_t frame = lifetimes[k].frame;
    if (frame == kNoFrame) continue;
    frames_.resize(std::max<std::size_t>(frames_.size(), frame + std::size_t{1}));
    frames_[frame].push_back(k);
  }
}

// Who stands for the frame that the buffer is of.
std::uint32_t Placement::LeaderOf(std::uint32_t k) const {
  return lifetimes_[k].frame == kNoFrame ? k : frames_[lifetimes_[k].frame].front();
}

std::vector<Bytes> Placement::AtTheBottom() const {
  std::vector<Bytes> offsets(lifetimes_.size(), -1);
  Bytes at = 0;
  for (std::size_t k = 0; k < lifetimes_.size(); ++k) {
    if (!bottom_.Holds(lifetimes_[k])) continue;
    offsets[k] = at;
    at += lifetimes_[k].bytes;
  }
  return offsets;
}

// Sorted with the key beside the index, ties by index.
template <typename Key>
Placement::Order Placement::LargestFirst(Key key) const {
  struct Keyed {
    double key;
    std::uint32_t k;
    bool operator<(const Keyed& other) const { return key > other.key || (key == other.key && k < other.k); }
  };
  std::vector<Keyed> keyed;
  keyed.reserve(lifetimes_.size());
  for (std::uint32_t k = 0; k < lifetimes_.size(); ++k) {
    if (bottom_.Holds(lifetimes_[k]) || LeaderOf(k) != k) continue;
    double sum = lifetimes_[k].frame == kNoFrame ? key(lifetimes_[k]) : 0;
    if (lifetimes_[k].frame != kNoFrame) {
      for (const std::uint32_t member : frames_[lifetimes_[k].frame]) sum += key(lifetimes_[member]);
    }
    keyed.push_back({sum, k});
  }
  std::sort(keyed.begin(), keyed.end());
  Order order;
  order.reserve(keyed.size());
  for (const Keyed& next : keyed) order.push_back(next.k);
  return order;
}

// Buffers of one order put down one after the other.
struct Placement::Round {
  Order order;
  BlockedArena arena;
  Offsets offsets;
  std::size_t next = 0;
};

Placement::Round Placement::Begin(Order order) const {
  return {std::move(order), BlockedArena(lifetimes_, bottom_.base()), bottom_offsets_};
}

// Goes on until a buffer ends above `beyond`; whether none does.
bool Placement::GoOn(Round& round, Bytes beyond) const {
  while (round.next < round.order.size()) {
    const std::uint32_t k = round.order[round.next++];
    PlaceNext(k, round.arena, round.offsets);
    if (EndOf(k, round.offsets) > beyond) return false;
  }
  return true;
}

Bytes Placement::PlaceCompactly() {
  Order by_size = LargestFirst(Size);
  if (AreTooManyForRounds(by_size.size())) {
    PlaceInOneRound(std::move(by_size));
  } else {
    TryRounds(std::move(by_size));
    if (peak_ > capacity_) TryRounds(LargestFirst(Area));
  }
  return peak_;
}

std::int64_t Placement::MostSteps() const { return capacity_ > 0 ? kMostSteps : 1; }

// A single round alone takes all the steps that there are.
bool Placement::AreTooManyForRounds(std::size_t buffers) const {
  return static_cast<std::int64_t>(buffers * (buffers - 1) / 2) >= MostSteps();
}

// The same as TryRounds of both orders, without what no longer matters: the largest-first round stops where it goes beyond the
// capacity, and again where it goes beyond the peak of the other one.
void Placement::PlaceInOneRound(Order by_size) {
  Round sizes = Begin(std::move(by_size));
  if (GoOn(sizes, capacity_)) return Keep(std::move(sizes.arena), std::move(sizes.offsets));
  Round areas = Begin(LargestFirst(Area));
  GoOn(areas, std::numeric_limits<Bytes>::max());
  const Bytes peak = areas.arena.peak();
  const bool smaller = peak > capacity_ && sizes.arena.peak() <= peak && GoOn(sizes, peak);
  Round& best = smaller ? sizes : areas;
  Keep(std::move(best.arena), std::move(best.offsets));
}

// The first round is carried to its end, for its peak; others end with the first buffer that goes beyond the capacity.
void Placement::TryRounds(Order order) {
  const std::int64_t most = MostSteps();
  const std::size_t rounds = kMostRounds * order.size();
  std::int64_t steps = 0;
  for (std::size_t round = 0; round == 0 || (peak_ > capacity_ && steps < most && round < rounds); ++round) {
    const bool first = round == 0;
    BlockedArena arena(lifetimes_, bottom_.base());
    Offsets offsets = bottom_offsets_;
    std::uint32_t beyond = kNobody;
    for (std::size_t i = 0; i < order.size() && (first || beyond == kNobody); ++i) {
      steps += static_cast<std::int64_t>(i) * PlaceNext(order[i], arena, offsets);
      if (EndOf(order[i], offsets) > capacity_) beyond = order[i];
    }
    if (first) beyond = LeaderOf(LargestAboveCapacity(offsets));
    const auto bump = std::find(order.begin(), order.end(), beyond);
    if (bump != order.end()) std::rotate(order.begin(), bump, bump + 1);
    if ((first || beyond == kNobody) && arena.peak() < peak_) Keep(std::move(arena), std::move(offsets));
  }
}

// Returns how often the arena was asked.
int Placement::PlaceNext(std::uint32_t k, BlockedArena& arena, Offsets& offsets) const {
  if (lifetimes_[k].frame != kNoFrame) return PlaceFrame(frames_[lifetimes_[k].frame], arena, offsets);
  offsets[k] = arena.Lowest(lifetimes_[k]);
  arena.Put(lifetimes_[k], offsets[k]);
  return 1;
}

Bytes Placement::EndOf(std::uint32_t k, const Offsets& offsets) const {
  if (lifetimes_[k].frame == kNoFrame) return offsets[k] + lifetimes_[k].bytes;
  Bytes end = 0;
  for (const std::uint32_t member : frames_[lifetimes_[k].frame]) {
    end = std::max(end, offsets[member] + lifetimes_[member].bytes);
  }
  return end;
}

// From the lowest address on, the frame moves up to where the member that is furthest off finds its place, until all do.
int Placement::PlaceFrame(const Order& members, BlockedArena& arena, Offsets& offsets) const {
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

void Placement::Keep(BlockedArena arena, Offsets offsets) {
  peak_ = arena.peak();
  arena_ = std::move(arena);
  offsets_ = std::move(offsets);
}

std::uint32_t Placement::LargestAboveCapacity(const Offsets& offsets) const {
  std::uint32_t largest = 0;
  Bytes bytes = -1;
  for (std::uint32_t k = 0; k < lifetimes_.size(); ++k) {
    if (offsets[k] + lifetimes_[k].bytes <= capacity_ || lifetimes_[k].bytes <= bytes) continue;
    largest = k;
    bytes = lifetimes_[k].bytes;
  }
  return largest;
}

bool Placement::SpreadByAge(std::uint32_t k, const LastFrees& frees) {
  const Lifetime& life = lifetimes_[k];
  if (bottom_.Holds(life)) return false;
  if (life.frame != kNoFrame) return true;
  Oldest oldest(frees, life, capacity_);
  if (oldest.TryAt(offsets_[k])) return false;
  arena_.Lift(life, offsets_[k]);
  arena_.ForEachGap(life, [&oldest](Bytes begin, Bytes end) { return oldest.Try(begin, end); });
  offsets_[k] = oldest.at();
  arena_.Drop(life, offsets_[k]);
  return oldest.waits();
}

}  // namespace spillway
