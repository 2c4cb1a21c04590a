#include "calibrate/cuda/bench_timer.h"

#include <cmath>
#include <numeric>

namespace spillway {

CudaTimer::CudaTimer(CudaCalls& calls) : calls_(calls) {
  try {
    flag_ = static_cast<volatile int*>(calls.MallocHost(sizeof(int)));
    *flag_ = 1;
    stream_ = calls.MakeStream();
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
}

void CudaTimer::Add(double nanoseconds) { passed_ += std::llround(nanoseconds); }

void CudaTimer::Hold() {
  *flag_ = 0;
  calls_.HoldUntil(flag_, stream_);
}

void CudaTimer::Start() {
  if (used_ == pairs_.size()) {
    pairs_.emplace_back();
    pairs_.back().start = calls_.MakeEvent(true);
    pairs_.back().stop = calls_.MakeEvent(true);
  }
  calls_.Record(pairs_[used_].start, stream_);
}

void CudaTimer::Stop() { calls_.Record(pairs_[used_++].stop, stream_); }

double CudaTimer::Finish() {
  const std::size_t used = used_;
  Release();
  calls_.Synchronize(pairs_[used - 1].stop);
  times_.clear();
  for (std::size_t k = 0; k < used; ++k) times_.push_back(calls_.Elapsed(pairs_[k].start, pairs_[k].stop));
  return std::accumulate(times_.begin(), times_.end(), 0.0);
}

void CudaTimer::Release() noexcept {
  if (flag_ != nullptr) *flag_ = 1;
  used_ = 0;
}

}  // namespace spillway
