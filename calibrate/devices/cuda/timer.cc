#include "calibrate/devices/cuda/timer.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <numeric>
#include <vector>

namespace spillway {

namespace {

constexpr int kMarks = kCudaMostMultiprocessors;

}  // namespace

CudaTimer::CudaTimer(CudaCalls& calls) : calls_(calls) {
  try {
    flag_ = static_cast<volatile int*>(calls.MallocHost(sizeof(int)));
    *flag_ = 1;
    marks_ = static_cast<CudaMoment*>(calls.MallocHost(2 * kMarks * static_cast<Bytes>(sizeof(CudaMoment))));
    stream_ = calls.MakeStream(false);
  } catch (...) {
    Destroy();
    throw;
  }
}

CudaTimer::~CudaTimer() {
  Release();
  Destroy();
}

void CudaTimer::Destroy() noexcept {
  for (const Pair& pair : pairs_) {
    if (pair.start != nullptr) calls_.Destroy(pair.start);
    if (pair.stop != nullptr) calls_.Destroy(pair.stop);
  }
  if (stream_ != nullptr) calls_.Destroy(stream_);
  if (flag_ != nullptr) calls_.FreeHost(const_cast<int*>(flag_));
  if (marks_ != nullptr) calls_.FreeHost(marks_);
}

void CudaTimer::Add(double nanoseconds) { passed_ += std::llround(nanoseconds); }

void CudaTimer::MakePairs(std::size_t count) {
  while (pairs_.size() < count) {
    pairs_.emplace_back();
    pairs_.back().start = calls_.MakeEvent(true);
    pairs_.back().stop = calls_.MakeEvent(true);
  }
}

void CudaTimer::Hold(int pairs) {
  MakePairs(used_ + static_cast<std::size_t>(pairs));
  *flag_ = 0;
  held_ = true;
  calls_.HoldUntil(flag_, stream_);
}

void CudaTimer::Start() {
  MakePairs(used_ + 1);
  if (used_ == 0 && !held_) ran_out_ = false;
  calls_.Record(pairs_[used_].start, stream_);
}

void CudaTimer::Stop() { calls_.Record(pairs_[used_++].stop, stream_); }

void CudaTimer::MarkBegin() {
  std::fill_n(marks_, 2 * kMarks, CudaMoment{});
  calls_.Mark(marks_, stream_);
}

void CudaTimer::MarkEnd() {
  calls_.Mark(marks_ + kMarks, stream_);
  marked_ = true;
}

double CudaTimer::Finish() {
  const std::size_t used = used_;
  Release();
  between_ = {};
  if (marked_) {
    calls_.Synchronize(stream_);
    between_ = Between({marks_, kMarks}, {marks_ + kMarks, kMarks});
  } else {
    calls_.Synchronize(pairs_[used - 1].stop);
  }
  marked_ = false;
  times_.clear();
  for (std::size_t k = 0; k < used; ++k) times_.push_back(calls_.Elapsed(pairs_[k].start, pairs_[k].stop));
  return std::accumulate(times_.begin(), times_.end(), 0.0);
}

void CudaTimer::Release() noexcept {
  used_ = 0;
  if (flag_ == nullptr) return;
  if (held_) ran_out_ = *flag_ == kCudaHoldRanOut;
  held_ = false;
  *flag_ = 1;
}

void CudaTimer::Drain() noexcept {
  Release();
  try {
    calls_.Synchronize(stream_);
  } catch (const std::exception&) {  // whoever caused it has been told
  }
}

CudaMoment Between(std::span<const CudaMoment> from, std::span<const CudaMoment> to) {
  std::vector<CudaMoment> all;
  for (std::size_t m = 0; m < std::min(from.size(), to.size()); ++m) {
    const CudaMoment between{.cycles = to[m].cycles - from[m].cycles,
                             .nanoseconds = to[m].nanoseconds - from[m].nanoseconds};
    if (from[m].nanoseconds > 0 && between.nanoseconds > 0 && between.cycles > 0) all.push_back(between);
  }
  if (all.empty()) return {};
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end(),
                   [](const CudaMoment& a, const CudaMoment& b) { return Megahertz(a) < Megahertz(b); });
  return *middle;
}

}  // namespace spillway
