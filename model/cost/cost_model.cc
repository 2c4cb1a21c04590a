#include "model/cost/cost_model.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <vector>

#include "hw/text/document.h"
#include "model/cost/library_limits.h"
#include "model/cost/measured_cost.h"
#include "model/cost/menu.h"
#include "model/cost/model_cost.h"
#include "model/cost/op_tiles.h"
#include "model/kernels/kernel_form.h"
#include "model/profile/profile_text.h"
#include "model/step/work_hash.h"
#include "model/util/hash.h"
#include "model/util/once_cache.h"

namespace spillway {
namespace {

// A pitched copy costs the copy engine at least this much per row beyond the first. No measurement on a V100 was
// found; the order of magnitude is one descriptor of a 2-D copy, rows of a page or more lose next to nothing.
constexpr Nanos kPitchedRow = 10;
constexpr double kPitchedError = 0.3;

// Bytes per nanosecond of large copies in the faster direction; 0 without a link.
double LinkRate(const Machine& machine, int device) {
  double rate = 0;
  for (const Link& link : machine.links) {
    if (link.device != device) continue;
    for (const TransferCurve& curve : link.curves) rate = std::max(rate, curve.Rate());
    break;  // copies take the first link
  }
  return rate;
}

// While a copy runs it takes its share of the device memory's bandwidth, and a kernel slows down as far as it needs
// that bandwidth itself. Assumed for models without a measured factor: no measurement was found.
double ShareOfMemory(const Device& device, const Launch& launch, Nanos time, double link_rate) {
  if (time <= 0) return 1;
  const double used = CountWork(launch).bytes / static_cast<double>(time) / device.memory_bandwidth;
  return 1 + std::min(1.0, used) * link_rate / device.memory_bandwidth;
}

// The kernel, then idling: copies slow down the kernel alone.
Cost Slowed(Cost cost, double factor) {
  cost.time = std::llround(static_cast<double>(cost.time) * factor);
  cost.copy_slowdown = 1 + (cost.copy_slowdown - 1) / factor;
  return cost;
}

Nanos Paced(Nanos time, double factor) { return factor == 1 ? time : std::llround(static_cast<double>(time) * factor); }

struct Key {
  Launch launch;
  int device = 0;
  bool operator==(const Key&) const = default;
};

// Hashes the fields by which most launches of a step differ. A hash of all fields would take as long as the rest of a
// known answer.
struct KeyHash {
  std::size_t operator()(const Key& key) const {
    const auto both = [](std::int64_t a, std::int64_t b) { return static_cast<std::uint64_t>(a << 32 ^ b); };
    const Launch& l = key.launch;
    const OpShape& s = l.shape;
    Hasher hash(both(l.algorithm, static_cast<std::int64_t>(l.kind) << 8 ^ static_cast<std::int64_t>(l.pass)));
    hash.Add(both(s.in.n, s.recorded)).Add(both(s.in.c, s.out.c)).Add(both(s.in.h, s.out.h));
    hash.Add(both(s.window[1], s.in.w)).Add(static_cast<std::uint64_t>(l.workspace));
    return static_cast<std::size_t>(hash.Value());
  }
};

// Whether operations take time by every law of products.
bool LawsCountWork(const Device& device) {
  return std::none_of(device.laws.begin(), device.laws.end(),
                      [](const CostLaw& law) { return IsProduct(law.op) && law.flop_fraction == 0; });
}

}  // namespace

// Answers already given: planners ask for the same few hundred launches ten thousand times. The limit is that of some
// thirty steps, in ten megabytes: a sweep over thousands of batches asks for others each time.
class CostModel::Memo : public OnceCache<Key, Cost, KeyHash> {
 public:
  Memo() : OnceCache(16'384) {}
};

// What each device has to answer from.
class CostModel::Sources {
 public:
  explicit Sources(const Machine& machine) {
    std::vector<std::string> mistakes;
    for (std::size_t i = 0; i < machine.devices.size(); ++i) {
      const Device& device = machine.devices[i];
      try {
        devices_.push_back({.chip = ChipOf(device),
                            .models = ResolveModels(device, machine.name),
                            .measured = MeasuredLaunches(device, machine.name),
                            .link_rate = LinkRate(machine, static_cast<int>(i)),
                            .limited = RefusesLargeTensors(device)});
      } catch (const UserError& error) {
        mistakes.insert(mistakes.end(), error.messages().begin(), error.messages().end());
      }
      launches_.emplace_back(device.host_costs);
    }
    if (!mistakes.empty()) throw UserError(std::move(mistakes));
  }

  Cost Answer(const Device& device, const Launch& launch, int index) const {
    const OnDevice& on = devices_[static_cast<std::size_t>(index)];
    std::optional<Cost> cost = MeasuredOrModel(on, launch);
    if (!cost) return CostByLaw(device, launch);
    const bool timed = cost->how == std::string_view("measured");
    if (timed && cost->copy_slowdown == 1) cost->copy_slowdown = SlowdownByModel(on, launch, *cost);
    if (cost->copy_slowdown == 1) cost->copy_slowdown = ShareOfMemory(device, launch, cost->time, on.link_rate);
    return *cost;
  }

  double LeastMeasured(double flops, int device) const {
    return flops * devices_[static_cast<std::size_t>(device)].measured.LeastTimePerFlop();
  }

  bool Limited(int device) const { return devices_[static_cast<std::size_t>(device)].limited; }

  const LaunchCosts& launches(int device) const { return launches_[static_cast<std::size_t>(device)]; }

 private:
  struct OnDevice {
    Chip chip;
    std::vector<ResolvedModel> models;
    MeasuredLaunches measured;
    double link_rate = 0;
    bool limited = false;  // its library refuses large tensors
  };

  // An algorithm that was measured and wants more workspace than is granted cannot run, whatever its model says of it.
  static std::optional<Cost> MeasuredOrModel(const OnDevice& on, const Launch& launch) {
    const MeasuredLaunches::Choice measured = on.measured.Choose(launch);
    if (measured.fits) return measured.cost;
    const std::optional<Cost> model = CostByModels(on.models, on.chip, launch, measured.too_large);
    if (!measured.cost || (model && model->workspace <= std::max(launch.workspace, measured.cost->workspace))) {
      return model;
    }
    return measured.cost;
  }

  // A launch timed by itself slows down as its model says, where that was measured.
  static double SlowdownByModel(const OnDevice& on, const Launch& launch, const Cost& cost) {
    Launch chosen = launch;
    chosen.algorithm = cost.algorithm;
    chosen.workspace = kMostWorkspace;  // whatever was granted: the menu has one entry for many grants
    const std::optional<Cost> model = CostByModels(on.models, on.chip, chosen);
    return model ? model->copy_slowdown : 1;
  }

  std::vector<OnDevice> devices_;
  std::vector<LaunchCosts> launches_;  // by device
};

CostModel::CostModel(const Machine& machine, const CostOptions& options)
    : machine_(&machine),
      options_(options),
      sources_(std::make_unique<const Sources>(machine)),
      memo_(std::make_unique<Memo>()) {}

CostModel::~CostModel() = default;

Cost CostModel::Kernel(const Launch& launch, int device) const {
  assert(device >= 0 && static_cast<std::size_t>(device) < machine_->devices.size());
  Key key{launch, device};
  if (launch.workspace == kUsualWorkspace) key.launch.workspace = options_.workspace_limit;
  return memo_->Get(key, [&] { return Ask(key.launch, device); });
}

Cost CostModel::Ask(const Launch& asked, int device) const {
  const Launch launch = AsConvolution(asked);
  Cost cost = AskWhole(launch, device);
  const bool large = options_.large_calls != LargeCalls::kTaken && IsLarge(launch) && sources_->Limited(device);
  if (!large || cost.how == std::string_view("measured")) return cost;
  const std::int64_t samples = SamplesOfDividedCall(launch);
  if (options_.large_calls == LargeCalls::kDivided && samples > 0) return AskInParts(launch, samples, device);
  cost.calls = 0;
  return cost;
}

// Equal parts and one with the rest. What sums up, a filter's gradient, is added by kernels as small as the filter,
// which are left out.
Cost CostModel::AskInParts(const Launch& launch, std::int64_t samples, int device) const {
  const std::int64_t parts = launch.shape.in.n / samples, rest = launch.shape.in.n % samples;
  Cost cost = AskWhole(PartOf(launch, samples, true), device);
  cost.time *= parts;
  cost.calls = static_cast<std::int32_t>(parts);
  if (rest == 0) return cost;
  const Cost last = AskWhole(PartOf(launch, rest, true), device);
  if (launch.algorithm != 0 && last.algorithm != launch.algorithm) return last;
  cost.time += last.time;
  cost.workspace = std::max(cost.workspace, last.workspace);
  ++cost.calls;
  return cost;
}

Cost CostModel::AskWhole(const Launch& launch, int device) const {
  Cost cost = sources_->Answer(machine_->devices[static_cast<std::size_t>(device)], launch, device);
  cost.time = Paced(cost.time, IsProduct(launch.kind) ? options_.pace.products : options_.pace.others);
  if (options_.compute_slowdown > 1) cost = Slowed(cost, options_.compute_slowdown);
  if (cost.how != std::string_view("measured")) {
    cost.time = std::max(cost.time, static_cast<Nanos>(std::ceil(TimeAtMostPeak(launch, device))));
  }
  return cost;
}

double CostModel::LeastTime(const Launch& asked, int device) const {
  const Launch launch = AsConvolution(asked);
  const double by_peak = TimeAtMostPeak(launch, device);
  if (by_peak == 0) return 0;
  return std::min(by_peak, sources_->LeastMeasured(CountWork(launch).flops, device) * FactorOf(launch));
}

double CostModel::TimeAtMostPeak(const Launch& launch, int device) const {
  if (!IsProduct(launch.kind) || launch.type != DataType::kFp32 || launch.math != MathMode::kFp32) return 0;
  const Device& on = machine_->devices[static_cast<std::size_t>(device)];
  if (!LawsCountWork(on)) return 0;
  const auto& window = launch.shape.window;
  const auto places = static_cast<double>(window[0] * window[1] * window[2]);
  return CountWork(launch).flops / (std::max(kMostFraction, places) * on.peak_flops) * FactorOf(launch);
}

double CostModel::FactorOf(const Launch& launch) const {
  const double pace = IsProduct(launch.kind) ? options_.pace.products : options_.pace.others;
  return pace * std::max(1.0, options_.compute_slowdown);
}

std::vector<MenuEntry> CostModel::Menu(const Launch& launch, int device) const {
  assert(device >= 0 && static_cast<std::size_t>(device) < machine_->devices.size());
  std::vector<std::int32_t> algorithms(AlgorithmNames(launch.kind, launch.pass).size());
  std::iota(algorithms.begin(), algorithms.end(), 1);
  return MenuOf(launch, algorithms, [&](const Launch& asked) { return Ask(asked, device); });
}

void CostModel::Forget() const { memo_->Clear(); }

const LaunchCosts& CostModel::launch_costs(int device) const {
  assert(device >= 0 && static_cast<std::size_t>(device) < machine_->devices.size());
  return sources_->launches(device);
}

Cost CostModel::Copy(Bytes bytes, Direction direction, int device, std::int64_t rows) const {
  assert(bytes >= 0 && rows >= 1);
  const Link& link = machine_->LinkOf(device);
  const TransferCurve& curve = link.curves[static_cast<std::size_t>(direction)];
  Cost cost;
  cost.time = std::max<Nanos>(0, curve.Time(bytes));
  cost.source = curve.source.kind;
  cost.error = curve.error;
  cost.shared_error = curve.error;  // a curve that is off is off for every copy
  cost.how = "curve";
  cost.group = Hasher(static_cast<std::uint64_t>(curve.points.back().time)).Value();
  if (rows > 1) {
    cost.time += kPitchedRow * (rows - 1);
    cost.source = Source::Kind::kAssumed;
    cost.error = std::max(cost.error, kPitchedError);
  }
  return cost;
}

LaunchCosts::LaunchCosts(const HostCosts& costs) {
  times_.fill(costs.kernel_launch);
  for (const LaunchCost& cost : costs.launches) times_[Index(cost.op, cost.pass)] = cost.time;
  for (const Pass pass : {Pass::kForward, Pass::kBackwardData, Pass::kBackwardFilter}) {
    times_[Index(OpKind::kTransposedConvolution, pass)] = Of(OpKind::kConvolution, ExchangedPass(pass));
  }
  differ_ = std::any_of(times_.begin(), times_.end(), [&](Nanos time) { return time != costs.kernel_launch; });
}

}  // namespace spillway
