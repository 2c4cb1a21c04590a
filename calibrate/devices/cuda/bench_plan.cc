#include "calibrate/devices/cuda/bench_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "calibrate/devices/cuda/bench_copy.h"

namespace spillway {
namespace {

constexpr Bytes kPeerLeast = 64 * kKiB, kPeerMost = kGiB, kFactor = 4, kQuickMost = 64 * kMiB, kQuickFactor = 16;

void AddPeerCopies(int from, int to, const char* kind, bool quick, std::vector<BenchItem>* items) {
  for (Bytes bytes = kPeerLeast; bytes <= (quick ? kQuickMost : kPeerMost); bytes *= quick ? kQuickFactor : kFactor) {
    BenchItem item;
    item.kind = BenchItem::Kind::kCopy;
    item.bytes = bytes;
    item.direction = "d2d";
    item.memory = kind;
    item.link = fmt::format("cuda{}-cuda{}", from, to);
    item.from_device = from;
    item.to_device = to;
    items->push_back(item);
  }
}

}  // namespace

BenchPlanOptions CudaPlanOptions(bool quick) {
  constexpr auto kMemory = BenchGroup::kMemory, kManaged = BenchGroup::kManaged;
  BenchPlanOptions options;
  options.quick = quick;
  const Bytes largest = quick ? 64 * kMiB : kGiB;
  options.copies = {
      {.memory = "pinned", .least = 256, .most = largest},
      {.memory = "pageable", .least = 4 * kKiB, .most = largest, .both = false, .group = kMemory},
      {.memory = "pitched",
       .least = 256 * kKiB,
       .most = 64 * kMiB,
       .factor = 16,
       .both = false,
       .group = kMemory,
       .row_bytes = {224, 896, 3584}},
      {.memory = "managed_prefetch", .least = 2 * kMiB, .most = largest, .both = false, .group = kManaged},
      {.memory = "device", .least = 4 * kKiB, .most = largest, .both = false, .directions = {"d2d"}, .group = kMemory}};
  // Faults are slow: what they take is told by less than a GiB.
  options.copies.push_back({.memory = kManagedTouch,
                            .least = 512 * kKiB,
                            .most = std::min(largest, 128 * kMiB),
                            .both = false,
                            .group = kManaged});
  options.host_calls = CudaHostCallNames();
  options.maths = {MathMode::kFp32, MathMode::kTf32};
  return options;
}

std::vector<std::string> CudaUsualNetworks() { return {"resnet50:64"}; }

CudaPeerPlan CudaPeerItems(CudaCalls& calls, bool quick) {
  CudaPeerPlan plan;
  const int own = calls.DeviceNumber(), devices = calls.DeviceCount();
  if (devices < 2) plan.not_measured.emplace_back("copies between GPUs: this machine has one");
  for (int other = 0; other < devices; ++other) {
    if (other == own) continue;
    const bool straight = calls.CanAccessPeer(own, other) && calls.CanAccessPeer(other, own);
    if (!straight) {
      plan.not_measured.push_back(
          fmt::format("straight copies between cuda{} and cuda{}: they cannot reach each other's memory", own, other));
    }
    for (const auto& [from, to] : {std::pair(own, other), std::pair(other, own)}) {
      if (straight) AddPeerCopies(from, to, kPeerCopies, quick, &plan.items);
      AddPeerCopies(from, to, kStagedCopies, quick, &plan.items);
    }
  }
  return plan;
}

}  // namespace spillway
