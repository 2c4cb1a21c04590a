#include "sim/program/layout/repair.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace spillway {

namespace {

constexpr double kDearerByMove = 0.5;  // of what a byte of the buffer costs at first
constexpr Bytes kNowhere = -1;         // address of a buffer that looks for its place

}  // namespace

Repair::Repair(const std::vector<Lifetime>& lifetimes, Bytes base, Bytes capacity, Offsets offsets)
    : lifetimes_(lifetimes),
      base_(base),
      capacity_(capacity),
      offsets_(std::move(offsets)),
      best_(offsets_),
      dearness_(lifetimes.size(), 1),
      meeting_(lifetimes.size()) {
  for (std::uint32_t k = 0; k < lifetimes.size(); ++k) ends_.push_back(offsets_[k] + lifetimes[k].bytes);
  peak_ = ends_.empty() ? 0 : ends_[Highest()];
}

void Repair::Run(std::int64_t most_steps) {
  std::uint32_t highest = Highest();
  while (peak_ > capacity_ && steps_ < most_steps && Move(highest)) {
    highest = Highest();
    if (ends_[highest] >= peak_) continue;
    peak_ = ends_[highest];
    best_ = offsets_;
  }
}

std::uint32_t Repair::Highest() const {
  return static_cast<std::uint32_t>(std::max_element(ends_.begin(), ends_.end()) - ends_.begin());
}

// Those above the base whose lifetimes meet the buffer's. They stay the same, and a buffer that moves once moves again.
const std::vector<std::uint32_t>& Repair::MeetingOf(std::uint32_t k) {
  std::vector<std::uint32_t>& meeting = meeting_[k];
  if (!meeting.empty()) return meeting;
  const Lifetime& life = lifetimes_[k];
  for (std::uint32_t other = 0; other < lifetimes_.size(); ++other) {
    const Lifetime& meets = lifetimes_[other];
    if (other == k || meets.first >= life.last || life.first >= meets.last) continue;
    if (offsets_[other] >= base_ || offsets_[other] == kNowhere) meeting.push_back(other);
  }
  return meeting;
}

// Those that lie somewhere, in order of address.
void Repair::FindNeighbours(std::uint32_t k) {
  const std::vector<std::uint32_t>& meeting = MeetingOf(k);
  neighbours_.clear();
  for (const std::uint32_t other : meeting) {
    if (offsets_[other] != kNowhere) neighbours_.push_back({offsets_[other], ends_[other], other});
  }
  std::sort(neighbours_.begin(), neighbours_.end(),
            [](const Neighbour& a, const Neighbour& b) { return a.begin < b.begin; });
  steps_ += static_cast<std::int64_t>(meeting.size()) + 1;
}

// Right behind a neighbour, at the base or below the capacity; kNowhere if the buffer is larger than what is between those.
//
// Whoever begins below a place's end and does not end below its begin is in the way: two sums by address tell their cost.
Bytes Repair::CheapestPlace(Bytes bytes) {
  departures_.assign({{base_, 0}, {capacity_ - bytes, 0}});
  for (const Neighbour& one : neighbours_) departures_.push_back({one.end, CostOf(one.k)});
  std::sort(departures_.begin(), departures_.end());
  auto next = neighbours_.begin();
  double begun = 0, ended = 0, least = std::numeric_limits<double>::max();
  Bytes cheapest = kNowhere;
  for (const auto& [place, cost] : departures_) {
    ended += cost;
    if (place < base_ || place + bytes > capacity_) continue;
    for (; next != neighbours_.end() && next->begin < place + bytes; ++next) begun += CostOf(next->k);
    if (begun - ended < least) least = begun - ended, cheapest = place;
  }
  return cheapest;
}

// The lowest address between neighbours or above.
Bytes Repair::LowestPlace(Bytes bytes) const {
  Bytes at = base_;
  for (const Neighbour& one : neighbours_) {
    if (one.begin - at >= bytes) break;
    at = std::max(at, one.end);
  }
  return at;
}

void Repair::PutAt(std::uint32_t k, Bytes at) {
  offsets_[k] = at;
  ends_[k] = at + lifetimes_[k].bytes;
}

// Returns whether there is a place.
bool Repair::Move(std::uint32_t k) {
  if (offsets_[k] < base_) return false;
  const Bytes bytes = lifetimes_[k].bytes;
  FindNeighbours(k);
  const Bytes place = CheapestPlace(bytes);
  if (place == kNowhere) return false;
  std::vector<std::uint32_t> moved;
  for (const Neighbour& one : neighbours_) {
    if (one.begin < place + bytes && place < one.end) moved.push_back(one.k);
  }
  PutAt(k, place);
  ++dearness_[k];
  std::stable_sort(moved.begin(), moved.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return lifetimes_[a].bytes > lifetimes_[b].bytes; });
  for (const std::uint32_t other : moved) offsets_[other] = kNowhere;
  for (const std::uint32_t other : moved) {
    FindNeighbours(other);
    PutAt(other, LowestPlace(lifetimes_[other].bytes));
    dearness_[other] += kDearerByMove;
  }
  return true;
}

}  // namespace spillway
