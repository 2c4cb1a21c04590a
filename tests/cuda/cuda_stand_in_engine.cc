// How the stand-in's streams get on: item by item, in the order in which they end.
#include <algorithm>
#include <stdexcept>

#include "tests/cuda/cuda_stand_in_parts.h"

namespace spillway {

void CudaStandIn::Give(CudaStream* stream, Item item) {
  Pass(options_.call_cost);
  if (options_.queue > 0) {
    RunUntilDone([&] { return stream->queue.size() < options_.queue; });
  }
  Advance();
  item.issued = now_;
  item.done.stream = stream->id;
  item.done.urgent = stream->urgent;
  stream->queue.push_back(std::move(item));
}

// When the stream's next item ends; false: something has to happen first.
bool CudaStandIn::EndOf(const CudaStream& stream, double& end) const {
  if (stream.queue.empty() || stream.queue.front().never_ends) return false;
  const Item& item = stream.queue.front();
  double start = std::max(stream.free_at, item.issued);
  if (item.kind == Item::Kind::kWait && item.record > 0) {
    if (item.event->times.size() < item.record) return false;
    start = std::max(start, item.event->times[item.record - 1]);
  }
  if (item.kind == Item::Kind::kHold) {
    if (*item.flag == 0) {
      end = start + static_cast<double>(kCudaLongestHold);
      return true;
    }
    start = std::max(start, now_);  // the host has just let go
  }
  end = start + item.duration;
  return true;
}

CudaStream* CudaStandIn::NextToEnd(double& end) {
  CudaStream* next = nullptr;
  for (const auto& stream : streams_) {
    double own = 0;
    if (!EndOf(*stream, own) || (next != nullptr && own >= end)) continue;
    next = stream.get();
    end = own;
  }
  return next;
}

void CudaStandIn::CarryOut(CudaStream& stream, double end) {
  Item item = std::move(stream.queue.front());
  stream.queue.pop_front();
  stream.free_at = end;
  if (item.kind == Item::Kind::kHold && *item.flag == 0) {
    *item.flag = kCudaHoldRanOut;
    item.duration = static_cast<double>(kCudaLongestHold);
  }
  if (item.kind == Item::Kind::kRecord) item.event->times.push_back(end);
  if (!item.fails.empty()) {
    lost_ = item.fails;
    return;
  }
  if (item.effect) item.effect();
  item.done.start = end - item.duration;
  item.done.end = end;
  if (item.reported && options_.remember) done_.push_back(std::move(item.done));
}

void CudaStandIn::Run(double until) {
  double end = 0;
  while (lost_.empty()) {
    CudaStream* const stream = NextToEnd(end);
    if (stream == nullptr || end > until) return;
    CarryOut(*stream, end);
  }
}

void CudaStandIn::RunUntilDone(const std::function<bool()>& done) {
  double end = 0;
  while (lost_.empty() && !done()) {
    CudaStream* const stream = NextToEnd(end);
    if (stream == nullptr) throw std::logic_error("the stand-in would wait for ever");
    CarryOut(*stream, end);
    now_ = std::max(now_, end);
  }
  MoveTo(now_);
}

bool CudaStandIn::IsHeld() const {
  for (const auto& stream : streams_) {
    for (const Item& item : stream->queue) {
      if (item.kind == Item::Kind::kHold && *item.flag == 0) return true;
    }
  }
  return false;
}

bool CudaStandIn::IsBetweenSteps(const CudaStream& stream) const {
  const auto busy = [&](const auto& other) { return other.get() != &stream && !other->queue.empty(); };
  if (std::any_of(streams_.begin(), streams_.end(), busy)) return false;
  const auto copies = std::count_if(stream.queue.begin(), stream.queue.end(),
                                    [](const Item& item) { return item.kind == Item::Kind::kWork && item.reported; });
  const bool held = std::any_of(stream.queue.begin(), stream.queue.end(),
                                [](const Item& item) { return item.kind == Item::Kind::kHold; });
  return copies < 2 && !held;
}

bool CudaStandIn::Idle() const {
  return std::all_of(streams_.begin(), streams_.end(), [](const auto& stream) { return stream->queue.empty(); });
}

}  // namespace spillway
