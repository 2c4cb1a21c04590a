// Waits for what a GPU does, but not for ever, and tells which instruction is to blame where that can be told.
//
// CUDA tells of a failure on the device with whichever call comes next and does not say what failed. What can be known
// is how far each stream got: the events it has passed. The one thing that was given and not passed is to blame; if
// there are several, the text names them.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_WATCH_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_WATCH_H_

#include <string>
#include <vector>

#include "calibrate/devices/cuda/calls.h"
#include "calibrate/devices/cuda/owned.h"
#include "sim/execute/clock.h"
#include "sim/execute/device.h"

namespace spillway {

class CudaWatch {
 public:
  // `attentive`: notes how far streams get all the time, at the price of more queries.
  CudaWatch(CudaCalls& calls, const Clock& clock, Nanos patience, std::size_t streams, std::size_t instructions,
            bool attentive);

  // What a stream was given, in order. Marks are events that fire when everything before them is done.
  void BeginStep();
  void NoteWork(Issue issue) { steps_[issue.stream].push_back({Step::Kind::kWork, issue.instruction, nullptr}); }
  void NoteWait(Issue issue, CudaEvent* event) {
    steps_[issue.stream].push_back({Step::Kind::kWait, issue.instruction, event});
  }
  void NoteMark(Issue issue, CudaEvent* event) {
    steps_[issue.stream].push_back({Step::Kind::kMark, issue.instruction, event});
  }

  // Returns when the event fired. Throws kHung if no stream got anywhere for `patience`; `instruction` is who waits.
  void Await(CudaEvent* event, std::uint32_t instruction);

  // Throws `error`, of a call on behalf of `instruction`, blaming that if the device still works, else what was running.
  // `probe`: an event that fired long ago.
  [[noreturn]] void Blame(const DeviceError& error, std::uint32_t instruction, CudaEvent* probe);

 private:
  struct Step {
    enum class Kind : std::uint8_t { kWork, kWait, kMark };
    Kind kind = Kind::kWork;
    std::uint32_t instruction = 0;
    CudaEvent* event = nullptr;
  };
  std::size_t Progress();  // passes marks that fired; how many steps of all streams are passed
  [[noreturn]] void Hang(std::uint32_t instruction);
  enum class Where { kNext, kBeforeMark };
  bool Waits(std::size_t stream, Where where);
  std::vector<std::uint32_t> Running(std::size_t stream) const;

  CudaCalls& calls_;
  const Clock& clock_;
  const Nanos patience_;
  const bool attentive_;
  std::vector<std::vector<Step>> steps_;  // by stream
  std::vector<std::size_t> passed_;       // by stream: how many of them
};

// ---- The stream for what a session has done between steps, and the host's waiting for it: work is given to stream(), then
// Wait() returns when it is done.

class CudaService {
 public:
  // Both must outlive this. Throws as CudaCalls::MakeStream and MakeEvent.
  CudaService(CudaCalls& calls, CudaWatch& watch)
      : calls_(calls), watch_(watch), stream_(NewStream(calls)), served_(NewEvent(calls, false)) {}

  CudaStream* stream() const { return stream_.get(); }
  // Until everything given to stream(), or to another one, is done. Throws as CudaWatch::Await; `instruction` is who waits.
  void Wait() { WaitFor(stream(), kNoInstruction); }
  void WaitFor(CudaStream* stream, std::uint32_t instruction) {
    calls_.Record(served_.get(), stream);
    watch_.Await(served_.get(), instruction);
  }
  void Await(CudaEvent* event) { watch_.Await(event, kNoInstruction); }  // one recorded on stream()
  CudaEvent* probe() const { return served_.get(); }                     // of CudaWatch::Blame

 private:
  CudaCalls& calls_;
  CudaWatch& watch_;
  OwnedCudaStream stream_;
  OwnedCudaEvent served_;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_WATCH_H_
