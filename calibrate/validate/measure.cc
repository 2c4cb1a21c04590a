#include "calibrate/validate/measure.h"

#include <algorithm>
#include <utility>

#include "model/util/random.h"

namespace spillway {

namespace {

struct SessionPlan {
  std::size_t candidate;
  bool instrumented;
};

class Measurer {
 public:
  Measurer(std::span<const TimedProgram> candidates, ExecutionDevice& device, const Clock& clock,
           const MeasureOptions& options)
      : candidates_(candidates), device_(device), clock_(clock), options_(options), results_(candidates.size()) {}

  std::vector<Measurement> Run() {
    Random random(options_.seed);
    options_.between(0);
    for (int round = 0; round < options_.rounds; ++round) {
      std::vector<SessionPlan> sessions;
      for (std::size_t c = 0; c < candidates_.size(); ++c) {
        sessions.push_back({c, false});
        if (round < options_.instrumented_rounds) sessions.push_back({c, true});
      }
      Shuffle(sessions, random);
      looked_ = false;  // what was done between rounds may have taken long
      for (const SessionPlan& session : sessions) RunSession(session);
      options_.between(round + 1);
    }
    return std::move(results_);
  }

 private:
  void RunSession(const SessionPlan& session) {
    Measurement& result = results_[session.candidate];
    if (result.failure) return;
    if (!session.instrumented) Look();
    Measure(session, result);
    looked_ = false;
    if (!session.instrumented) Look();
  }

  void Look() {
    if (!std::exchange(looked_, true)) options_.beside();
  }

  void Measure(const SessionPlan& session, Measurement& result) {
    const TimedProgram& candidate = candidates_[session.candidate];
    const int steps = (options_.steps + options_.rounds - 1) / options_.rounds;
    const Nanos begin = clock_.Now();
    ExecuteResult run = Execute(*candidate.program, candidate.step, device_, clock_,
                                {.arena_bytes = candidate.arena_bytes,
                                 .warm_up = options_.warm_up,
                                 .iterations = session.instrumented ? 1 : steps,
                                 .instrumented = session.instrumented,
                                 .values = candidate.values});
    options_.session_done();
    result.failure = std::move(run.failure);
    if (result.failure) return;
    if (session.instrumented) {
      result.timelines.push_back(std::move(run.timeline));
    } else {
      result.step_times.emplace_back(run.step_times.begin(), run.step_times.end());
      result.moments.push_back(begin + (clock_.Now() - begin) / 2);
      TakeClocks(device_.LastSession().step_clocks, &result.step_clocks);
    }
  }

  void TakeClocks(const std::vector<double>& clocks, std::vector<double>* taken) const {
    for (std::size_t k = static_cast<std::size_t>(options_.warm_up); k < clocks.size(); ++k) {
      if (clocks[k] > 0) taken->push_back(clocks[k]);
    }
  }

  std::span<const TimedProgram> candidates_;
  ExecutionDevice& device_;
  const Clock& clock_;
  const MeasureOptions& options_;
  bool looked_ = false;  // since the last session
  std::vector<Measurement> results_;
};

}  // namespace

int SessionsOf(const MeasureOptions& options) {
  return options.rounds + std::min(options.rounds, options.instrumented_rounds);
}

std::vector<Measurement> MeasureInterleaved(std::span<const TimedProgram> candidates, ExecutionDevice& device,
                                            const Clock& clock, const MeasureOptions& options) {
  return Measurer(candidates, device, clock, options).Run();
}

void FixAlgorithms(const CostModel& costs, Program& program) {
  for (Launch& launch : program.launches) {
    const Cost cost = costs.Kernel(launch);
    if (cost.algorithm != 0) launch.algorithm = cost.algorithm;
  }
}

}  // namespace spillway
