#include "sim/strategies/accumulate/part_counts.h"

#include <cassert>
#include <iterator>
#include <utility>

namespace spillway {

namespace {

// Between two that are no neighbours.
std::optional<std::int64_t> Middle(std::int64_t low, std::int64_t high) {
  if (high - low < 2) return std::nullopt;
  return low + (high - low) / 2;
}

}  // namespace

PartCounts::PartCounts(std::vector<std::int64_t> first, std::int64_t most) : first_(std::move(first)), most_(most) {
  assert(!first_.empty() && first_.back() <= most_);
}

std::int64_t PartCounts::Below(Place at) const {
  return at == tried_.begin() ? first_.front() - 1 : std::prev(at)->first;
}

std::int64_t PartCounts::Above(Place at) const {
  return std::next(at) == tried_.end() ? most_ + 1 : std::next(at)->first;
}

std::optional<std::int64_t> PartCounts::Next() const {
  for (const std::int64_t parts : first_) {
    if (tried_.count(parts) == 0) return parts;
  }
  Place fewest = tried_.end(), best = tried_.end();
  for (Place at = tried_.begin(); at != tried_.end(); ++at) {
    if (!at->second) continue;
    if (fewest == tried_.end()) fewest = at;
    if (best == tried_.end() || *at->second < *best->second) best = at;
  }
  if (fewest == tried_.end()) return tried_.count(most_) == 0 ? std::optional(most_) : std::nullopt;
  if (const auto parts = Middle(Below(fewest), fewest->first)) return parts;
  if (const auto parts = Middle(Below(best), best->first)) return parts;
  return Middle(best->first, Above(best));
}

std::vector<std::int64_t> PartCounts::Of(bool fitting) const {
  std::vector<std::int64_t> counts;
  for (const auto& [parts, time] : tried_) {
    if (time.has_value() == fitting && time != kNotJudged) counts.push_back(parts);
  }
  return counts;
}

}  // namespace spillway
