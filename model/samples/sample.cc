#include "model/samples/sample.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <unordered_map>

#include "model/samples/file.h"
#include "model/stats/quantile.h"

namespace spillway {

std::string LayerKey(const Sample& sample) {
  if (sample.what == SampleKind::kOther) return sample.op;
  if (sample.what == SampleKind::kCopy) {
    return fmt::format("copy {} {} {} {} {}", sample.direction, sample.kind, sample.bytes, sample.row_bytes,
                       sample.pitch_bytes);
  }
  OpShape shape = sample.launch.shape;
  shape.in.n = shape.out.n = 1;
  return fmt::format("{} {} {} window {} stride {} pad {} groups {}", OpKindName(sample.launch.kind),
                     ShapeText(shape.in), ShapeText(shape.out), fmt::join(shape.window, "x"),
                     fmt::join(shape.stride, "x"), fmt::join(shape.PadBegin(), "x"), shape.groups);
}

Chip ChipOf(const ChipFigures& figures) {
  return {.peak_flops = figures.peak_flops,
          .memory_bandwidth = figures.memory_bandwidth,
          .multiprocessors = static_cast<double>(figures.multiprocessors),
          .l2_bytes = static_cast<double>(figures.l2_cache)};
}

namespace {

// Repeated measurements of one operation differ by a tenth or two from day to day and board to board.
constexpr double kAgreement = 1.25;
constexpr std::size_t kMostTold = 20;
constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// All that makes two rows the same measurement, and no result: what is left of the sample when results, origin and
// place are taken out, as a line of the file.
std::string Identity(Sample sample) {
  sample.microseconds = sample.p10 = sample.p90 = sample.spread = sample.host_microseconds = 0;
  sample.repetitions = 0;
  sample.workspace = kUsualWorkspace;
  sample.deterministic = sample.heuristic_rank = sample.sm_clock_mhz = -1;
  sample.source = sample.note = sample.date = "";
  sample.round = 0;
  sample.flags.clear();
  sample.load = 0;
  return WriteSamples({&sample, 1});
}

std::string Place(const SampleSet& set, const Sample& sample) {
  return fmt::format("{}:{}", set.files[static_cast<std::size_t>(sample.file)], sample.line);
}

// REQUIRES: at least two, in file order.
Sample Merged(const std::vector<Sample>& group) {
  Sample merged = group.front();
  std::vector<double> times;
  double low = group.front().microseconds, high = low;
  merged.repetitions = merged.rows = 0;
  for (const Sample& sample : group) {
    times.push_back(sample.microseconds);
    low = std::min({low, sample.microseconds, sample.p10 > 0 ? sample.p10 : sample.microseconds});
    high = std::max({high, sample.microseconds, sample.p90});
    merged.repetitions += std::max(sample.repetitions, 1);
    merged.rows += sample.rows;
    merged.workspace = std::max(merged.workspace, sample.workspace);
  }
  merged.microseconds = Median(std::move(times));
  merged.p10 = low;
  merged.p90 = high;
  merged.spread = merged.microseconds > 0 ? (high - low) / merged.microseconds : 0;
  return merged;
}

// The two that differ most, and whether their own spreads explain it.
struct Disagreement {
  const Sample* fastest;
  const Sample* slowest;
  double factor = 1;
  bool explained = true;
};

Disagreement Compare(const std::vector<Sample>& group) {
  const auto faster = [](const Sample& a, const Sample& b) { return a.microseconds < b.microseconds; };
  const auto [low, high] = std::minmax_element(group.begin(), group.end(), faster);
  Disagreement found{&*low, &*high};
  if (low->microseconds <= 0) return found;  // not a time: an overhead that was not measured
  found.factor = high->microseconds / low->microseconds;
  found.explained = found.factor <= std::max(kAgreement, 1 + low->spread + high->spread);
  return found;
}

class Merger {
 public:
  explicit Merger(SampleSet& set) : set_(set) {}
  void Merge();

 private:
  std::vector<std::size_t> Chain();
  Sample Taken(std::vector<Sample> group);
  void Warn(const std::vector<Sample>& group, const Disagreement& found);
  void Summarise();

  SampleSet& set_;
  std::vector<std::uint32_t> next_;  // by sample: the next one of the same operation
  std::string first_;                // an example of rows that agree
  std::size_t agreeing_ = 0, disagreeing_ = 0;
};

void Merger::Warn(const std::vector<Sample>& group, const Disagreement& found) {
  if (++disagreeing_ > kMostTold) return;
  set_.warnings.push_back(
      fmt::format("{}: warning: the same operation takes {:.4g} us here and {:.4g} us at {}, {:.2f} times as long; the "
                  "median of {} "
                  "rows stands for them and is the weaker for it",
                  Place(set_, *found.slowest), found.slowest->microseconds, found.fastest->microseconds,
                  Place(set_, *found.fastest), found.factor, group.size()));
}

// REQUIRES: not empty.
Sample Merger::Taken(std::vector<Sample> group) {
  if (group.size() == 1) return std::move(group.front());
  const Disagreement found = Compare(group);
  if (!found.explained) {
    Warn(group, found);
  } else {
    if (agreeing_ == 0) first_ = fmt::format("{} and {}", Place(set_, group[0]), Place(set_, group[1]));
    agreeing_ += group.size();
  }
  return Merged(group);
}

void Merger::Summarise() {
  if (agreeing_ > 0) {
    set_.warnings.push_back(
        fmt::format("{}: warning: {} rows measure an operation more than once and agree; their medians stand for them "
                    "(first {})",
                    set_.files.front(), agreeing_, first_));
  }
  if (disagreeing_ > kMostTold) {
    set_.warnings.push_back(fmt::format("{}: warning: {} more operations whose rows disagree", set_.files.front(),
                                        disagreeing_ - kMostTold));
  }
}

// The first sample of each operation, in order. Operations are found by a hash and told apart by their identity.
std::vector<std::size_t> Merger::Chain() {
  const std::vector<Sample>& samples = set_.samples;
  std::unordered_map<std::size_t, std::uint32_t> first_of;
  std::vector<std::uint32_t> last(samples.size());
  std::vector<std::size_t> firsts;
  next_.assign(samples.size(), kNone);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::string identity = Identity(samples[i]);
    std::size_t key = std::hash<std::string>()(identity);
    auto found = first_of.find(key);
    while (found != first_of.end() && Identity(samples[found->second]) != identity) found = first_of.find(++key);
    const auto own = static_cast<std::uint32_t>(i);
    if (found == first_of.end()) {
      first_of.emplace(key, own);
      firsts.push_back(i);
      last[i] = own;
    } else {
      next_[last[found->second]] = own;
      last[found->second] = own;
    }
  }
  return firsts;
}

// In place: the samples of an operation are taken away before something is put where they were.
void Merger::Merge() {
  std::size_t kept = 0;
  for (const std::size_t first : Chain()) {
    std::vector<Sample> group;
    for (auto i = static_cast<std::uint32_t>(first); i != kNone; i = next_[i]) {
      group.push_back(std::move(set_.samples[i]));
    }
    set_.samples[kept++] = Taken(std::move(group));
  }
  set_.samples.resize(kept);
  Summarise();
}

}  // namespace

void MergeRepeated(SampleSet& set) { Merger(set).Merge(); }

}  // namespace spillway
