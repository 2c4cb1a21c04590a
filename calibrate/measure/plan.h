// What a calibration measures, and in which order: the most useful first, so that a run which ends early, by its budget
// or by the user, leaves the best profile that its time could buy.
//
//   copies       curves of both directions, alone and together; sizes from small to large
//   host         what host calls cost
//   networks     the launches of the networks given, by how much of a step's work each kind of launch makes
//   beside       a few launches of each op and pass while a copy runs
//   memory       copies of other memory than steps use: ordinary, rows that lie apart, on the device
//   grid         launches of many shapes (grid.cc), so that models hold for networks that nobody gave
//   beyond       what no step of ours has: the device says what that is
//   again        the same launches a second and third time: how far times drift within the hour
//   managed      memory that the driver moves, only where it is asked for: on some systems it can hang a GPU
//
// A plan is data: no clock, no device. It holds each launch once a round, whatever number of networks have it.
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
  std::string name;  // as samples have it: "cifar-vgg"; "grid"
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
  int round = 1;                    // this is the n-th time that the same thing is measured
  std::string contention = "none";  // what runs beside: "h2d", "d2h"
  // Kernel: the op of a step, where sizes and contents of its operands are found.
  std::shared_ptr<const BenchNetwork> from;
  OpId op = kNoOp;
  Launch launch;  // algorithm 0, kUsualWorkspace
  // Copy.
  Bytes bytes = 0;
  std::string direction;                 // "h2d", "d2h", "d2d"
  std::string memory;                    // Sample::kind; "": the target's usual, CopyKind()
  Bytes row_bytes = 0, pitch_bytes = 0;  // of a pitched copy
  std::string link = "local";            // Sample::link
  int from_device = -1, to_device = -1;  // of a copy between two devices
  // Host: which call, "kernel_launch", ...; one of HostCallNames().
  std::string call;
};

// What HostCosts are measured from, and two more that a profile has no place for: how long after an event is recorded a
// stream goes on that slept until then, and what a stream costs to begin with.
const std::vector<std::string>& HostCallNames();

// Copies of one kind of memory: sizes from `least` to `most`, each `factor` times the one before.
struct BenchCopies {
  std::string memory;  // as BenchItem has it
  Bytes least = 4 * kKiB, most = 64 * kMiB, factor = 4;
  bool both = true;  // also beside the other direction, from a MiB on
  std::vector<std::string> directions = {"h2d", "d2h"};
  BenchGroup group = BenchGroup::kCopies;
  std::vector<Bytes> row_bytes = {};  // of pitched ones: rows of these sizes, as far apart again
};

struct BenchPlanOptions {
  bool quick = false;  // fewer sizes (at sixteen times the last one), fewer rounds
  std::vector<BenchCopies> copies = {BenchCopies{}};
  std::vector<std::string> host_calls = HostCallNames();
  std::vector<BenchItem> beyond = {};  // as they come, after the grid
  // In which convolutions and products of fp32 are made, each a row of its own. The launches of `networks`: all in the
  // first one, then those in the next; of the grid: network by network.
  std::vector<MathMode> maths = {MathMode::kFp32};
  std::vector<BenchGroup> groups = {};  // these alone; empty: all but kManaged
};

// Copies, host calls, then the launches of `networks`, then those of `grid`, what is beyond them, then again.
// Deterministic.
std::vector<BenchItem> MakeBenchPlan(const std::vector<std::shared_ptr<const BenchNetwork>>& networks,
                                     const std::vector<std::shared_ptr<const BenchNetwork>>& grid,
                                     const BenchPlanOptions& options);

// Which share of the budget must not have passed for an item of that group to be started, in a plan of all groups.
double BudgetShare(BenchGroup group);
// Of all that a plan holds the largest, host calls apart, which are always started: in a plan without later groups each has
// its share of that.
double LargestShare(std::span<const BenchItem> plan);

std::shared_ptr<const BenchNetwork> MakeBenchNetwork(std::string name, Network network, const StepOptions& options);

// Small chains of layers whose launches cover the shapes that convolutional networks have: windows of 1, 3, 5, 7 and
// 11, strides 1 and 2, few and many channels, small and large images, batches from 8 to 96, and every other kind of
// layer between them. What models are fitted to, so that they hold for a network that nobody measured.
// In the order in which they should be measured: each adds what those before it lack most.
std::vector<std::shared_ptr<const BenchNetwork>> BenchGrid();

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_MEASURE_PLAN_H_
