// The times of a recording on a machine: the file's own where the machine has the recorded device, else call by call.
//
// On another device a call that is matched to launches (call_launches.h) takes what the machine's laws say: its kernel
// models, or its laws, or its peak and bandwidth, each with its source and error. Its ways are those of these launches,
// with the workspace that each wants. Every other call keeps its measured time, scaled by what became of the matched
// ones: the geometric mean of (time by law / recorded time), weighted by recorded time. Products have one such ratio and
// all other calls another, since arithmetic bounds the ones and memory the others, and devices differ more in one than in
// the other. Where matched calls hold less than a tenth of the time of a class, the ratio of peaks stands in, or that of
// bandwidths. Where such a figure of the recorded device is not known, it is the rate that the recording exceeds in a
// tenth of its time. Scaled times are assumed. Their error is what the ratios of the matched calls spread, and at least
// that of a ratio of data sheets.
//
// Tested by carried_ways_test (tests/model/) and cli_retimed_test.
#ifndef SPILLWAY_MODEL_RECORDED_CARRIED_WAYS_H_
#define SPILLWAY_MODEL_RECORDED_CARRIED_WAYS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "model/cost/cost_model.h"

namespace spillway {

struct RecordedStep;

// Errors of carrying a time by the ratio of peaks, or of bandwidths: the root of the mean square of log(measured /
// carried) of the worst pair among P100, V100 and A100. NeuSight's samples (sitar-lab/NeuSight, PyTorch 2.1): 2,477
// matrix products of 10 GFLOP and more, 2,369 memory-bound calls of 64 MB and more.
constexpr double kProductsError = 0.58, kOthersError = 0.23;

// What calls without a law are multiplied by.
struct CarriedTimes {
  bool same = true;                         // the machine has the recorded device, or the times are assumed for any
  bool other_device = false;                // laws are asked
  double by_flops = 1, by_bytes = 1;        // factors on times: where an op's flops are known, elsewhere
  double flops_error = 0, bytes_error = 0;  // added to the file's error (as root of the sum of squares), shared
  const char* flops_by = "";                // "ratio of the others", "ratio of peaks", ...
  const char* bytes_by = "";
  std::size_t calls = 0, by_laws = 0;  // on another device: of the step, and of these timed by laws
  double law_share = 0;                // of the time on the machine that laws give
  std::string note{};                  // for people; "": nothing to say
};
// By data sheets alone.
CarriedTimes CarryTimes(const Machine& machine, const RecordedStep& recorded);

// A way to run a call. `cost` is that of its first run; `algorithm` of it counts the ways from 1.
struct CarriedWay {
  Cost cost{};
  Nanos again = 0;  // the time of a further run
};
struct CarriedWays {
  std::vector<std::vector<CarriedWay>> ways;  // by op, at least one each
  CarriedTimes times;
};
// `options`: only compute_slowdown. Throws UserError as CostModel does.
CarriedWays CarryWays(const Machine& machine, const CostOptions& options, const RecordedStep& recorded);

// ---- What CarryWays is made of (law_ways.cc).

// The ways to run these launches one after another, by a machine's laws: the fastest first, each other one slower with
// less workspace. One of no time where there are no launches; none where the library refuses one.
class LawWays {
 public:
  explicit LawWays(const Machine& machine);  // must outlive it
  ~LawWays();
  std::vector<Cost> Of(const std::vector<Launch>& launches);

 private:
  class Menus;
  std::unique_ptr<Menus> menus_;
};

}  // namespace spillway

#endif  // SPILLWAY_MODEL_RECORDED_CARRIED_WAYS_H_
