#include "model/samples/merger.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "model/stats/quantile.h"
#include "model/step/work_hash.h"

namespace spillway {
namespace {

// Repeated measurements of one operation differ by a tenth or two from day to day and board to board.
constexpr double kAgreement = 1.25;
constexpr std::size_t kMostTold = 20;

// All that makes two rows the same measurement, and no result, origin or place.
bool SameOperation(const Sample& a, const Sample& b) {
  const auto fields = [](const Sample& s) {
    return std::tie(s.what, s.device, s.host, s.driver, s.cuda, s.cudnn, s.op, s.launch, s.best, s.algorithm, s.bytes,
                    s.row_bytes, s.pitch_bytes, s.direction, s.kind, s.link, s.contention, s.harness, s.network);
  };
  return fields(a) == fields(b);
}

// The same of all but `contention`: a kernel beside copies and the kernel alone are taken together.
std::uint64_t HashOfTwins(const Sample& s) {
  Hasher hash(HashOfWork(s.launch));
  hash.Add(static_cast<std::uint64_t>(s.launch.algorithm)).Add(static_cast<std::uint64_t>(s.launch.workspace));
  for (const Bytes bytes : {s.bytes, s.row_bytes, s.pitch_bytes}) hash.Add(static_cast<std::uint64_t>(bytes));
  for (const std::string* text : {&s.device, &s.host, &s.driver, &s.cuda, &s.cudnn, &s.op, &s.algorithm, &s.direction,
                                  &s.kind, &s.link, &s.harness, &s.network}) {
    hash.Add(*text);
  }
  return hash.Add(static_cast<std::uint64_t>(s.best)).Value();
}

std::string NameOfKind(const Sample& s) {
  if (s.what == SampleKind::kKernel) {
    return fmt::format("{} {} {} {}", s.device, OpKindName(s.launch.kind), PassName(s.launch.pass),
                       MathModeName(s.launch.math));
  }
  if (s.what == SampleKind::kOther) return s.device + " " + s.op;
  return fmt::format("{} {} copies {} of '{}' on link '{}', beside {}", s.device, s.kind, s.direction, s.host, s.link,
                     s.contention);
}

}  // namespace

SampleMerger::Result SampleMerger::ResultOf(const Sample& s) {
  return {s.microseconds, s.p10, s.p90, s.spread, s.workspace, s.repetitions, s.rows, s.file, s.line, kNone};
}

std::string SampleMerger::Place(const Result& row) const {
  return fmt::format("{}:{}", set_.files[static_cast<std::size_t>(row.file)], row.line);
}

SampleMerger::Operation* SampleMerger::Find(std::uint64_t hash, const Sample& sample) {
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto found = begin; found != end; ++found) {
    if (SameOperation(set_.samples[found->second], sample)) return &operations_[found->second];
  }
  return nullptr;
}

SampleMerger::Kind& SampleMerger::KindOf(const Sample& sample, std::uint32_t& number) {
  std::string name = NameOfKind(sample);
  const auto [found, added] = kind_numbers_.try_emplace(name, static_cast<std::uint32_t>(kinds_.size()));
  const bool copies = sample.what == SampleKind::kCopy;
  if (added) {
    const std::size_t limit = copies ? limits_.copies : limits_.kernels;
    kinds_.push_back({.name = std::move(name), .limit = limit, .file = sample.file});
  }
  number = found->second;
  return kinds_[number];
}

void SampleMerger::AddResult(Operation& operation, const Sample& sample) {
  const auto own = static_cast<std::uint32_t>(results_.size());
  results_.push_back(ResultOf(sample));
  if (operation.first == kNone) {
    operation.first = own;
  } else {
    results_[operation.last].next = own;
  }
  operation.last = own;
}

void SampleMerger::Add(Sample sample) {
  Operation operation{.twin = HashOfTwins(sample)};
  operation.hash = Hasher(operation.twin).Add(sample.contention).Value();
  Kind& kind = KindOf(sample, operation.kind);
  ++kind.rows;
  if (operation.twin % kind.every != 0) return;
  if (Operation* const known = Find(operation.hash, sample)) return AddResult(*known, sample);
  if (operations_.size() == operations_.capacity()) operations_.reserve(2 * operations_.size() + 1);
  set_.samples.push_back(std::move(sample));  // where memory ends, there is no operation without its sample
  operations_.push_back(operation);
  by_hash_.emplace(operation.hash, static_cast<std::uint32_t>(operations_.size() - 1));
  if (++kind.taken > kind.limit) Halve(operation.kind);
}

// Drops every second operation of the kind. Where hashes tell hardly any of them apart, all stay.
void SampleMerger::Halve(std::uint32_t number) {
  Kind& kind = kinds_[number];
  const std::uint64_t every = 2 * kind.every;
  const auto left =
      static_cast<std::size_t>(std::count_if(operations_.begin(), operations_.end(), [&](const Operation& o) {
        return o.kind == number && o.twin % every == 0;
      }));
  if (left > kind.taken / 4 && left < kind.taken) {
    Keep(number, every);
    kind.every = every;
    kind.taken = left;
  }
  if (kind.taken > kind.limit) kind.limit = 2 * kind.taken;
}

void SampleMerger::Keep(std::uint32_t kind, std::uint64_t every) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    const Operation operation = operations_[i];
    if (operation.kind == kind && operation.twin % every != 0) continue;
    if (kept != i) set_.samples[kept] = std::move(set_.samples[i]);
    operations_[kept++] = operation;
  }
  operations_.resize(kept);
  set_.samples.resize(kept);
  by_hash_.clear();
  for (std::size_t i = 0; i < kept; ++i) by_hash_.emplace(operations_[i].hash, static_cast<std::uint32_t>(i));
}

void SampleMerger::Warn(const std::vector<Result>& rows, const Result& fastest, const Result& slowest) {
  if (++disagreeing_ > kMostTold) return;
  set_.warnings.push_back(
      fmt::format("{}: warning: the same operation takes {:.4g} us here and {:.4g} us at {}, {:.2f} times as long; the "
                  "median of {} rows stands for them and is the weaker for it",
                  Place(slowest), slowest.microseconds, fastest.microseconds, Place(fastest),
                  slowest.microseconds / fastest.microseconds, rows.size()));
}

// The two that differ most, and whether their own spreads explain it.
void SampleMerger::Compare(const std::vector<Result>& rows) {
  const auto faster = [](const Result& a, const Result& b) { return a.microseconds < b.microseconds; };
  const auto [fastest, slowest] = std::minmax_element(rows.begin(), rows.end(), faster);
  // 0 is no time: an overhead that was not measured.
  const double factor = fastest->microseconds > 0 ? slowest->microseconds / fastest->microseconds : 1;
  if (factor > std::max(kAgreement, 1 + fastest->spread + slowest->spread)) return Warn(rows, *fastest, *slowest);
  if (agreeing_ == 0) first_ = fmt::format("{} and {}", Place(rows[0]), Place(rows[1]));
  agreeing_ += rows.size();
}

void SampleMerger::Merge(const std::vector<Result>& rows, Sample& merged) {
  std::vector<double> times;
  double low = merged.microseconds, high = low;
  merged.repetitions = merged.rows = 0;
  for (const Result& row : rows) {
    times.push_back(row.microseconds);
    low = std::min({low, row.microseconds, row.p10 > 0 ? row.p10 : row.microseconds});
    high = std::max({high, row.microseconds, row.p90});
    merged.repetitions += std::max(row.repetitions, 1);
    merged.rows += row.rows;
    merged.workspace = std::max(merged.workspace, row.workspace);
  }
  merged.microseconds = Median(std::move(times));
  merged.p10 = low;
  merged.p90 = high;
  merged.spread = merged.microseconds > 0 ? (high - low) / merged.microseconds : 0;
}

void SampleMerger::Summarise() {
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
  for (const Kind& kind : kinds_) {
    if (kind.every == 1) continue;
    set_.warnings.push_back(
        fmt::format("{}: warning: {} rows of {} are more than are needed: {} operations are taken, by a hash one of {}",
                    set_.files[static_cast<std::size_t>(kind.file)], kind.rows, kind.name, kind.taken, kind.every));
  }
}

void SampleMerger::Finish() {
  for (std::size_t at = 0; at < operations_.size(); ++at) {
    std::vector<Result> rows{ResultOf(set_.samples[at])};
    for (std::uint32_t i = operations_[at].first; i != kNone; i = results_[i].next) rows.push_back(results_[i]);
    if (rows.size() == 1) continue;
    Compare(rows);
    Merge(rows, set_.samples[at]);
  }
  Summarise();
}

void MergeRepeated(SampleSet& set) {
  std::vector<Sample> rows;
  rows.swap(set.samples);
  SampleMerger merger(set);
  for (Sample& row : rows) merger.Add(std::move(row));
  merger.Finish();
}

}  // namespace spillway
