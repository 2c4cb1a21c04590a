// What calls of CUDA cost the thread that issues them.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_HOST_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_HOST_H_

#include <map>
#include <string>
#include <vector>

#include "calibrate/devices/cuda/bench_memory.h"
#include "calibrate/devices/cuda/timer.h"
#include "calibrate/measure/loop.h"

namespace spillway {

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

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_HOST_H_
