// What a calibration of a GPU measures (calibrate/measure/plan.h), the most useful first: pinned copies; host calls; the
// launches of ResNet-50 in fp32, every algorithm; the same in TF32; copies beside them; then those of other networks,
// each in fp32 and TF32 before the next.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_PLAN_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_PLAN_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/devices/cuda/bench_memory.h"
#include "calibrate/devices/cuda/calls.h"
#include "calibrate/devices/cuda/timer.h"
#include "calibrate/measure/loop.h"
#include "calibrate/measure/plan.h"

namespace spillway {

// Pinned copies from 256 B to 1 GiB in both directions and together; of the group `memory` ordinary memory, rows that
// lie apart, copies on the device; of the group `managed` prefetched memory and memory that comes by faults; the calls
// of CudaHostCallNames(); fp32 and TF32 apart.
BenchPlanOptions CudaPlanOptions(bool quick);

// "resnet50:64": first unless the user names others.
std::vector<std::string> CudaUsualNetworks();

// The grid of a GPU's calibration: launches for networks that nobody named, the most valuable first.
//
//   zoo           every network of the zoo (model/network/network.h) at a usual batch, those that are validated first; then all
//                 at a second and a third one
//   deepbench     convolutions, then matrix products of DeepBench's lists for training
//   wide window   what neither has
//   zoo           again, at batches that published results are for and that take long
//
// What networks share is measured once: the plan (calibrate/measure/plan.h) drops launches that it has already. Not each
// of these networks fits a GPU, but the operands of a launch take 20 GB at most; a smaller GPU leaves out what does not
// fit, and lists it.
// Built in tens of milliseconds. Networks of the zoo carry its names, the others "deepbench" and "grid".
std::vector<std::shared_ptr<const BenchNetwork>> CudaBenchGrid();

// Copies between two GPUs: no step has them yet, their rows are read back and kept, and nothing is fitted to them.

// Sample::kind of copies between two GPUs that reach each other's memory, and between two that are not let.
constexpr const char* kPeerCopies = "peer";
constexpr const char* kStagedCopies = "peer_staged";

struct CudaPeerPlan {
  std::vector<BenchItem> items;
  std::vector<std::string> not_measured;  // and why: one sentence each
};

// Copies from 64 KiB to 1 GiB (`quick`: fewer sizes) between this GPU and each other one, both ways; straight ones where
// the two can reach each other. Throws what `calls` throws.
CudaPeerPlan CudaPeerItems(CudaCalls& calls, bool quick);

// ---- What calls of CUDA cost the thread that issues them.

// kernel_launch  a call of the library for a small op, whose kernels queue behind others: what an op costs the host of
//                which no row says it (bench_kernel.h, issue_time)
// copy_submit, event_record, stream_wait  the same of a pinned copy, an event, a wait for one
// sync           from letting a stream go that has nothing left to do until the host goes on
// malloc, free   64 MiB of device memory; the device is idle
// malloc_host    16 MiB of pinned memory
// pool_alloc, pool_free  64 MiB of the device's stream-ordered pool, after the first time
const std::vector<std::string>& CudaHostCallNames();

// Each `repetitions` times, fewer of the slow ones. Keys: the names above.
std::map<std::string, LoopResult> MeasureCudaHostCalls(CudaCalls& calls, CudaBenchMemory& memory, CudaTimer& timer,
                                                       const Clock& clock, int repetitions);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_PLAN_H_
