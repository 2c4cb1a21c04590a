// Answers about what a launch computes, whichever way it is computed: each asked for once.
//
// Which algorithms there are for a convolution takes the library milliseconds to say, and is asked by each network that
// has it, by planning, and whenever a kernel is prepared.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_PROBLEM_MEMO_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_PROBLEM_MEMO_H_

#include <unordered_map>
#include <utility>

#include "model/step/launch.h"
#include "model/step/work_hash.h"
#include "model/util/hash.h"

namespace spillway {

// The launch without its algorithm, its workspace, and whether the result is added to what is there.
inline Launch ProblemOf(Launch launch) {
  launch.algorithm = 0;
  launch.workspace = kUsualWorkspace;
  launch.accumulate = false;
  return launch;
}

// One answer for each problem, of which there are thousands at most. No OnceCache
// (model/util/once_cache.h): the caller decides which answers to keep, and one thread asks.
template <typename Answer>
class ProblemMemo {
 public:
  const Answer* Find(const Launch& launch) const {  // nullptr: not known
    const auto found = answers_.find(ProblemOf(launch));
    return found == answers_.end() ? nullptr : &found->second;
  }
  const Answer& Keep(const Launch& launch, Answer answer) {  // stays where it is
    return answers_.insert_or_assign(ProblemOf(launch), std::move(answer)).first->second;
  }

 private:
  struct Hash {
    std::size_t operator()(const Launch& problem) const { return HashOfWork(problem); }
  };
  std::unordered_map<Launch, Answer, Hash> answers_;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_PROBLEM_MEMO_H_
