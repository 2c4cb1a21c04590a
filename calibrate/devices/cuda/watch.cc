#include "calibrate/devices/cuda/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace spillway {

namespace {

// "instruction 7", "one of instructions 7 to 12".
std::string Which(const std::vector<std::uint32_t>& instructions) {
  const auto [first, last] = std::minmax_element(instructions.begin(), instructions.end());
  if (instructions.size() == 1) return fmt::format("instruction {}", *first);
  return fmt::format("one of {} instructions from {} to {}", instructions.size(), *first, *last);
}

}  // namespace

CudaWatch::CudaWatch(CudaCalls& calls, const Clock& clock, Nanos patience, std::size_t streams,
                     std::size_t instructions, bool attentive)
    : calls_(calls), clock_(clock), patience_(patience), attentive_(attentive), steps_(streams), passed_(streams, 0) {
  for (std::vector<Step>& steps : steps_) steps.reserve(2 * instructions);
}

void CudaWatch::BeginStep() {
  for (std::vector<Step>& steps : steps_) steps.clear();
  std::fill(passed_.begin(), passed_.end(), 0);
}

std::size_t CudaWatch::Progress() {
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    for (std::size_t k = passed_[s]; k < steps_[s].size(); ++k) {
      const Step& step = steps_[s][k];
      if (step.kind != Step::Kind::kMark) continue;
      if (!calls_.IsDone(step.event)) break;
      passed_[s] = k + 1;
    }
  }
  return std::accumulate(passed_.begin(), passed_.end(), std::size_t{0});
}

void CudaWatch::Await(CudaEvent* event, std::uint32_t instruction) {
  if (calls_.IsDone(event)) return;
  constexpr std::size_t kUnknown = static_cast<std::size_t>(-1);
  std::size_t progress = kUnknown;
  Nanos since = clock_.Now();
  while (!calls_.IsDone(event)) {
    if (attentive_) Progress();
    if (clock_.Now() - since < patience_) continue;
    const std::size_t now = Progress();
    if (now == progress) Hang(instruction);
    progress = now;
    since = clock_.Now();
  }
}

// Whether there is a wait for an event that has not fired: next, or before the next mark.
bool CudaWatch::Waits(std::size_t stream, Where where) {
  for (std::size_t k = passed_[stream]; k < steps_[stream].size(); ++k) {
    const Step& step = steps_[stream][k];
    if (step.kind == Step::Kind::kMark || (step.kind == Step::Kind::kWork && where == Where::kNext)) return false;
    if (step.kind == Step::Kind::kWait && !calls_.IsDone(step.event)) return true;
  }
  return false;
}

// What a stream that stands still may be at: what was given up to the next mark, or that itself.
std::vector<std::uint32_t> CudaWatch::Running(std::size_t stream) const {
  std::vector<std::uint32_t> running;
  for (std::size_t k = passed_[stream]; k < steps_[stream].size(); ++k) {
    const Step& step = steps_[stream][k];
    const bool mark = step.kind == Step::Kind::kMark, known = step.instruction != kNoInstruction;
    if (step.kind == Step::Kind::kWork || (mark && known && running.empty())) running.push_back(step.instruction);
    if (mark) break;
  }
  return running;
}

// Blames what runs, not who waits for it.
void CudaWatch::Hang(std::uint32_t instruction) {
  for (const Where where : {Where::kBeforeMark, Where::kNext}) {
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      if (Waits(s, where)) continue;
      const std::vector<std::uint32_t> running = Running(s);
      if (running.empty()) continue;
      throw DeviceError(Fault::kHung, running.size() == 1 ? running[0] : kNoInstruction,
                        fmt::format("stream {} gets nowhere for {}: {}", s, FormatDuration(patience_), Which(running)));
    }
  }
  throw DeviceError(Fault::kHung, instruction,
                    fmt::format("waits for {} for streams that have nothing to do", FormatDuration(patience_)));
}

void CudaWatch::Blame(const DeviceError& error, std::uint32_t instruction, CudaEvent* probe) {
  if (error.fault() == Fault::kHung) throw error;
  if (error.instruction() != kNoInstruction || error.fault() != Fault::kFailed) {
    const std::uint32_t blamed = error.instruction() != kNoInstruction ? error.instruction() : instruction;
    throw DeviceError(error.fault(), blamed, error.what());
  }
  bool works = true;
  try {
    if (probe != nullptr) calls_.IsDone(probe);
  } catch (const DeviceError&) {
    works = false;
  }
  if (works) throw DeviceError(error.fault(), instruction, error.what());
  std::vector<std::uint32_t> running;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    for (std::size_t k = passed_[s]; k < steps_[s].size(); ++k) {
      if (steps_[s][k].kind == Step::Kind::kWork) running.push_back(steps_[s][k].instruction);
    }
  }
  if (running.empty()) throw DeviceError(error.fault(), kNoInstruction, error.what());
  throw DeviceError(error.fault(), running.size() == 1 ? running[0] : kNoInstruction,
                    fmt::format("{} (at or behind {})", error.what(), Which(running)));
}

}  // namespace spillway
