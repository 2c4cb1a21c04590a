// The plan of a calibration: the items to measure, in order. The most useful items come first, so that a run which ends
// early (by its budget or by the user) leaves the best profile for its time.
//
//   copies       curves of both directions, alone and together; sizes from small to large
//   host         what host calls cost
//   networks     launches of the given networks, first the kinds of launch with most of a step's work
//   beside       a few launches of each op and pass while a copy runs
//   memory       copies of memory that steps do not use: ordinary, rows that lie apart, on the device
//   grid         launches of many shapes (grid.cc), so that models hold for other networks
//   beyond       items of the device's own that no step has
//   again        the same launches a second and third time, to see how far times drift within the hour
//   managed      memory that the driver moves, only on request: on some systems it can hang a GPU
//
// A plan is data: no clock, no device. It holds each launch once a round, even if several networks have it.
#ifndef SPILLWAY_CALIBRATE_MEASURE_PLAN_H_
#define SPILLWAY_CALIBRATE_MEASURE_PLAN_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/network/network.h"
#include "model/step/launch.h"
#include "model/unroll/unroll.h"

namespace spillway {

// A network to take launches from, and its step.
struct BenchNetwork {
  std::string name;  // the name in samples: "cifar-vgg"; "grid"
  Network network;
  TrainingStep step;
};

enum class BenchGroup : std::uint8_t {
  kCopies,
  kHost,
  kNetworks,
  kBeside,
  kMemory,
  kGrid,
  kBeyond,
  kAgain,
  kManaged,
};
const std::vector<std::string>& BenchGroupNames();  // "copies", "host", ... as above, in the order of the plan
const char* BenchGroupName(BenchGroup group);

struct BenchItem {
  enum class Kind : std::uint8_t { kKernel, kCopy, kHost };
  Kind kind = Kind::kKernel;
  BenchGroup group = BenchGroup::kNetworks;
  int round = 1;                    // counts measurements of the same item, from 1
  std::string contention = "none";  // the copy that runs at the same time: "none", "h2d", "d2h"
  // Kernels: the op of a step, from which sizes and contents of operands follow.
  std::shared_ptr<const BenchNetwork> from;
  OpId op = kNoOp;
  Launch launch;  // algorithm 0, kUsualWorkspace
  // Copies.
  Bytes bytes = 0;
  std::string direction;                 // "h2d", "d2h", "d2d"
  std::string memory;                    // Sample::kind; "": BenchTarget::CopyKind()
  Bytes row_bytes = 0, pitch_bytes = 0;  // pitched copies only
  std::string link = "local";            // Sample::link
  int from_device = -1, to_device = -1;  // copies between two devices only
  // Host calls: the name of the call, one of HostCallNames().
  std::string call;
};

// The host calls from which HostCosts are computed, and two that no profile holds. These two are the delay from an
// event's record to the end of a stream's wait, and the creation of a stream.
const std::vector<std::string>& HostCallNames();

// Copies of one kind of memory: sizes from `least` to `most`, each `factor` times the one before.
struct BenchCopies {
  std::string memory;  // BenchItem::memory
  Bytes least = 4 * kKiB, most = 64 * kMiB, factor = 4;
  bool both = true;  // also while the other direction copies, from 1 MiB on
  std::vector<std::string> directions = {"h2d", "d2h"};
  BenchGroup group = BenchGroup::kCopies;
  std::vector<Bytes> row_bytes = {};  // pitched copies: row sizes; the space between rows is as large as a row
};

struct BenchPlanOptions {
  bool quick = false;  // fewer sizes (each 16 times the last one), fewer rounds
  std::vector<BenchCopies> copies = {BenchCopies{}};
  std::vector<std::string> host_calls = HostCallNames();
  std::vector<BenchItem> beyond = {};  // in this order, after the grid
  // The math modes in which fp32 convolutions and products are measured, each as a row of its own. Launches of
  // `networks`: all in the first mode, then all in the next. Launches of the grid: all modes network by network.
  std::vector<MathMode> maths = {MathMode::kFp32};
  std::vector<BenchGroup> groups = {};  // only these groups; empty: all but kManaged
};

// Makes the plan, in the order of BenchGroup. Deterministic.
std::vector<BenchItem> MakeBenchPlan(const std::vector<std::shared_ptr<const BenchNetwork>>& networks,
                                     const std::vector<std::shared_ptr<const BenchNetwork>>& grid,
                                     const BenchPlanOptions& options);

// The share of the budget up to which an item of the group may be started, in a plan of all groups.
double BudgetShare(BenchGroup group);
// The largest BudgetShare of the plan's groups, host calls left out. A plan of few groups divides its shares by this
// one, so that its last group may use the whole budget.
double LargestShare(std::span<const BenchItem> plan);

// Unrolls the network's training step. Throws as BuildTrainingStep does.
std::shared_ptr<const BenchNetwork> MakeBenchNetwork(std::string name, Network network, const StepOptions& options);

// Small chains of layers whose launches cover the shapes of convolutional networks: windows of 1, 3, 5, 7 and 11,
// strides 1 and 2, few and many channels, small and large images, batches from 8 to 96, and every other kind of layer
// between them; and, in turn with these, BenchGridToday. Models are fitted to these launches, so that they hold for networks that were not measured. The order
// is that of measuring: each chain adds the shapes that the chains before it lack most.
std::vector<std::shared_ptr<const BenchNetwork>> BenchGrid();
// Small networks of the layers that networks have today (grid_today.cc).
std::vector<std::shared_ptr<const BenchNetwork>> BenchGridToday();

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_MEASURE_PLAN_H_
