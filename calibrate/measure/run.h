// Carries a plan out: what is not in the journal yet is measured, within a budget, until it is done or told to stop.
//
//   BenchJournal journal("mine.samples.csv");
//   journal.Create();
//   RunBench(plan, target, clock, {.budget = 300 * kSecond}, journal, watcher);
#ifndef SPILLWAY_CALIBRATE_MEASURE_RUN_H_
#define SPILLWAY_CALIBRATE_MEASURE_RUN_H_

#include <span>
#include <string>
#include <vector>

#include "calibrate/measure/journal.h"
#include "calibrate/measure/loop.h"
#include "calibrate/measure/plan.h"

namespace spillway {

// One way to do what an item asks for: the algorithms of a convolution; otherwise one without a name.
struct BenchVariant {
  std::int32_t algorithm = 0;  // as in Launch
  Bytes workspace = kUsualWorkspace;
  int deterministic = -1, rank = -1;  // as in Sample
};

// A device that can be measured.
class BenchTarget {
 public:
  virtual ~BenchTarget() = default;
  // Device, host and driver (library, threads, link) as every row has them, and `kind` of its kernels.
  virtual Sample Identity() const = 0;
  virtual std::string CopyKind() const { return "pinned"; }
  // At least one, the one that the library would take first. Throws UserError where the device cannot run the launch.
  virtual std::vector<BenchVariant> Variants(const BenchItem& item) = 0;
  virtual LoopResult Measure(const BenchItem& item, const BenchVariant& variant, const LoopOptions& options) = 0;
  virtual double Load() const { return 0; }  // of the host, now
  // Elapsed time / core time, now, for a thread that computes without pause as the kernels do. Takes a tenth of a
  // second, more on a busy machine (calibrate/host/host_facts.h). 0: unknown, because the device is not shared, or
  // kernels use several threads.
  virtual double Waiting() { return 0; }
  // True if a measurement may hang or kill the process: see BenchInflight.
  virtual bool MayHang() const { return false; }
};

// Told of what happens, asked whether to go on.
class BenchWatcher {
 public:
  virtual ~BenchWatcher() = default;
  virtual bool Stop() { return false; }  // asked before each measurement
  virtual void Progress(const BenchItem& /*item*/, std::size_t /*done*/, std::size_t /*items*/) {}
  virtual void GroupDone(BenchGroup /*group*/) {}
};

struct BenchRunOptions {
  Nanos budget = 300 * kSecond;
  LoopOptions loop;
  std::string date;      // of the rows
  double hopeless = 10;  // a variant slower than the best by this factor is cut short
};

struct BenchReport {
  int measured = 0;  // rows that this run added
  int known = 0;     // of the plan, that the journal had, whether or not there was time left
  int left_out = 0;  // of the plan, for want of time or stopped before; not in the journal either
  int noisy = 0;     // of those measured
  bool stopped = false;
  std::vector<std::string> refused;  // launches that the device cannot run, and why
};

// Throws UserError: the device or the system failed at something (what and why is said; the journal keeps what was
// measured before), and what the journal throws. What the target refuses by a UserError is noted in the report and, but for
// NotRemembered, remembered beside the journal (calibrate/measure/refused.h): it is known from then on, and noted by each run.
BenchReport RunBench(std::span<const BenchItem> plan, BenchTarget& target, const Clock& clock,
                     const BenchRunOptions& options, BenchJournal& journal, BenchWatcher& watcher);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_MEASURE_RUN_H_
