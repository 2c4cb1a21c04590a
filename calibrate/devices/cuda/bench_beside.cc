#include "calibrate/devices/cuda/bench_beside.h"

#include <algorithm>
#include <exception>

namespace spillway {

CudaCopiesBeside::CudaCopiesBeside(CudaCalls& calls, CudaBenchMemory& memory, Direction direction, Bytes bytes)
    : calls_(calls), direction_(direction), bytes_(bytes) {
  std::byte* const device = memory.Block("beside").AtLeast(bytes);
  std::byte* const host = memory.Block("beside on the host", CudaPlace::kPinned).AtLeast(bytes);
  const bool in = direction == Direction::kHostToDevice;
  to_ = in ? device : host;
  from_ = in ? host : device;
  stream_ = calls.MakeStream(false);
  go_ = calls.MakeEvent(false);
  end_ = calls.MakeEvent(false);
}

CudaCopiesBeside::~CudaCopiesBeside() {
  try {
    calls_.Synchronize(stream_);     // something may have been thrown while they run
  } catch (const std::exception&) {  // whoever caused it has been told
  }
  calls_.Destroy(end_);
  calls_.Destroy(go_);
  calls_.Destroy(stream_);
}

void CudaCopiesBeside::Begin(CudaStream* stream) {
  calls_.Record(go_, stream);
  calls_.Wait(stream_, go_);
  for (int k = 0; k < copies_; ++k) calls_.Copy(to_, from_, bytes_, direction_, stream_);
  calls_.Record(end_, stream_);
}

bool CudaCopiesBeside::EndAndTell() {
  const bool all_the_time = !calls_.IsDone(end_);
  calls_.Synchronize(end_);
  if (!all_the_time) copies_ = std::min(2 * copies_, kMostCopies);
  return all_the_time;
}

}  // namespace spillway
