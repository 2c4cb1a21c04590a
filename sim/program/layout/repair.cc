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
      dearness_(lifetimes.size(), 1) {
  peak_ = EndOf(Highest());
}

void Repair::Run(std::int64_t most_steps) {
  while (peak_ > capacity_ && steps_ < most_steps) {
    if (!Move(Highest())) return;
    const Bytes peak = EndOf(Highest());
    if (peak >= peak_) continue;
    peak_ = peak;
    best_ = offsets_;
  }
}

std::uint32_t Repair::Highest() const {
  std::uint32_t highest = 0;
  for (std::uint32_t k = 1; k < lifetimes_.size(); ++k) {
    if (EndOf(k) > EndOf(highest)) highest = k;
  }
  return highest;
}

// In order of index.
void Repair::FindNeighbours(std::uint32_t k) {
  const Lifetime& life = lifetimes_[k];
  neighbours_.clear();
  for (std::uint32_t other = 0; other < lifetimes_.size(); ++other) {
    const Lifetime& meets = lifetimes_[other];
    if (other == k || meets.first >= life.last || life.first >= meets.last || offsets_[other] == kNowhere) continue;
    if (offsets_[other] < base_) continue;
    const double cost = dearness_[other] * static_cast<double>(meets.bytes);
    neighbours_.push_back({offsets_[other], EndOf(other), cost, other});
  }
  steps_ += static_cast<std::int64_t>(lifetimes_.size());
}

// Right behind or right below a neighbour, at the base or below the capacity; kNowhere if the buffer is larger than what is between those.
//
// Whoever begins below a place's end and does not end below its begin is in the way: two sums by address tell their cost.
Bytes Repair::CheapestPlace(Bytes bytes) const {
  std::vector<std::pair<Bytes, double>> begins{{base_, 0}}, ends{{base_, 0}};
  std::vector<Bytes> places{base_, capacity_ - bytes};
  for (const Neighbour& one : neighbours_) {
    begins.push_back({one.begin, one.cost});
    ends.push_back({one.end, one.cost});
    places.push_back(one.end);
    places.push_back(one.begin - bytes);
  }
  const auto sum_up = [](std::vector<std::pair<Bytes, double>>& costs) {
    std::sort(costs.begin(), costs.end());
    for (std::size_t i = 1; i < costs.size(); ++i) costs[i].second += costs[i - 1].second;
  };
  sum_up(begins);
  sum_up(ends);
  std::sort(places.begin(), places.end());
  std::size_t begun = 0, ended = 0;
  Bytes cheapest = kNowhere;
  double least = std::numeric_limits<double>::max();
  for (const Bytes place : places) {
    if (place < base_ || place + bytes > capacity_) continue;
    while (begun + 1 < begins.size() && begins[begun + 1].first < place + bytes) ++begun;
    while (ended + 1 < ends.size() && ends[ended + 1].first <= place) ++ended;
    const double cost = begins[begun].second - ends[ended].second;
    if (cost < least) least = cost, cheapest = place;
  }
  return cheapest;
}

// The lowest address between neighbours or above.
Bytes Repair::LowestPlace(Bytes bytes) {
  std::sort(neighbours_.begin(), neighbours_.end(),
            [](const Neighbour& a, const Neighbour& b) { return a.begin < b.begin; });
  Bytes at = base_;
  for (const Neighbour& one : neighbours_) {
    if (one.begin - at >= bytes) break;
    at = std::max(at, one.end);
  }
  return at;
}

// Whether there is a place.
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
  offsets_[k] = place;
  ++dearness_[k];
  std::stable_sort(moved.begin(), moved.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return lifetimes_[a].bytes > lifetimes_[b].bytes; });
  for (const std::uint32_t other : moved) offsets_[other] = kNowhere;
  for (const std::uint32_t other : moved) {
    FindNeighbours(other);
    offsets_[other] = LowestPlace(lifetimes_[other].bytes);
    dearness_[other] += kDearerByMove;
  }
  return true;
}

}  // namespace spillway
