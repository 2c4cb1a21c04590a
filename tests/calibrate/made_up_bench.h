// A device that is made up, to carry plans out on (calibrate/measure/run.h).
#ifndef SPILLWAY_TESTS_CALIBRATE_MADE_UP_BENCH_H_
#define SPILLWAY_TESTS_CALIBRATE_MADE_UP_BENCH_H_

#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/measure/run.h"
#include "hw/text/document.h"
#include "model/kernels/kernel_form.h"
#include "model/zoo/zoo.h"
#include "tests/bench_samples.h"

namespace spillway {

struct Killed : std::runtime_error {
  Killed() : std::runtime_error("killed") {}
};

// Every measurement takes a second of the clock. Convolutions have two algorithms.
class MadeUpDevice : public BenchTarget, public Clock {
 public:
  Nanos Now() const override { return now; }
  Sample Identity() const override { return MadeUpIdentity(); }
  std::vector<BenchVariant> Variants(const BenchItem& item) override {
    if (item.launch.kind == refused) {
      ++refusals;
      throw UserError("no such kernel");
    }
    if (item.launch.kind != OpKind::kConvolution) return {{}};
    const auto number = [&](const char* name) { return AlgorithmByName(OpKind::kConvolution, item.launch.pass, name); };
    return {{number("direct"), 100}, {number("gemm"), 200}};
  }
  LoopResult Measure(const BenchItem& item, const BenchVariant& variant, const LoopOptions& options) override {
    if (lives-- == 0) throw Killed();
    if (variant.workspace == 200 && refuses) {
      ++refusals;
      refuses();
    }
    if (fails && item.call == "event_record") fails();
    now += kSecond;
    ++measured;
    hopeless.push_back(options.hopeless);
    LoopResult result;
    result.median = result.p10 = variant.workspace == 200 ? gemm : 1e6;
    result.p90 = 1.25 * result.median;
    result.timings = 5;
    result.runs = 2;
    result.cut_short = options.hopeless > 0 && result.median > options.hopeless;
    result.noisy = item.launch.kind == noisy;
    return result;
  }
  double Load() const override { return 1; }

  Nanos now = 0;
  int measured = 0, refusals = 0;
  long lives = -1;  // measurements until the process is killed
  double gemm = 2e6;
  OpKind refused = OpKind::kCopy, noisy = OpKind::kCopy;
  std::vector<double> hopeless;
  std::function<void()> fails{};    // throws what measuring a host call ends with
  std::function<void()> refuses{};  // throws what measuring "gemm" ends with
};

class StopAfter : public BenchWatcher {
 public:
  explicit StopAfter(int measurements) : left_(measurements) {}
  bool Stop() override { return left_-- <= 0; }
  void GroupDone(BenchGroup group) override { done.push_back(group); }
  std::vector<BenchGroup> done;

 private:
  int left_;
};

constexpr int kNeverStops = 1 << 30;

inline std::vector<BenchItem> TinyPlan() {
  const auto network = MakeBenchNetwork("cifar-resnet20", BuildZooNetwork("cifar-resnet20", {.batch = 2}), {});
  return MakeBenchPlan({network}, {}, {.quick = true});
}

inline BenchReport RunIt(const std::vector<BenchItem>& plan, MadeUpDevice& device, BenchJournal& journal,
                         int stop_after = kNeverStops) {
  StopAfter watcher(stop_after);
  const Nanos budget = 1'000'000 * kSecond;
  return RunBench(plan, device, device, {.budget = budget, .loop = {}, .date = "2020-01-01"}, journal, watcher);
}

// How often each thing stands in the journal.
inline std::map<std::pair<std::string, int>, int> Counted(const BenchJournal& journal) {
  std::map<std::pair<std::string, int>, int> count;
  for (const Sample& sample : journal.samples()) ++count[{BenchKey(sample), RoundOf(sample)}];
  return count;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_CALIBRATE_MADE_UP_BENCH_H_
