#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "model/cost/model_cost.h"
#include "model/step/launch.h"
#include "model/util/hash.h"

namespace spillway {
namespace {

// What an answer without a law is worth, and the least error of a law used for another number format than fp32,
// in which all laws were fitted.
constexpr double kRooflineError = 0.5;
constexpr double kOtherFormatError = 0.5;

// "3x3", with the depth in front for a 3-D window ("3x3x3"). A window of one voxel is "1x1" whatever the data.
class WindowName {
 public:
  explicit WindowName(const OpShape& shape) {
    const bool volume = shape.window[0] > 1 || (shape.in.d > 1 && (shape.window[1] > 1 || shape.window[2] > 1));
    if (volume) Append(shape.window[0], 'x');
    Append(shape.window[1], 'x');
    Append(shape.window[2], '\0');
  }
  std::string_view text() const { return {text_.data(), size_}; }

 private:
  void Append(std::int64_t value, char separator) {
    char* const end = text_.data() + text_.size();
    size_ = static_cast<std::size_t>(std::to_chars(text_.data() + size_, end, value).ptr - text_.data());
    if (separator != '\0') text_[size_++] = separator;
  }
  std::array<char, 72> text_{};  // three 64-bit numbers and two separators
  std::size_t size_ = 0;
};

// How close a law's window is to the launch: 0 = not usable, the larger the closer. Grouped convolution is a kernel
// of its own: a law for its window without groups would be worse than the law for any window.
int Closeness(const CostLaw& law, std::string_view window, bool grouped) {
  if (law.window.empty()) return 1;
  if (grouped) return law.window == kGroupedWindow ? 2 : 0;
  return law.window == window ? 2 : 0;
}

const CostLaw* ClosestLaw(const std::vector<CostLaw>& laws, const Launch& launch) {
  const WindowName window(launch.shape);
  const bool grouped = launch.shape.groups > 1;
  const CostLaw* best = nullptr;
  int best_closeness = 0;
  for (const CostLaw& law : laws) {
    if (law.op != launch.kind || law.pass != launch.pass) continue;
    const int closeness = Closeness(law, window.text(), grouped);
    if (closeness <= best_closeness) continue;
    best = &law;
    best_closeness = closeness;
  }
  return best;
}

// Time of `amount` at `fraction` of `rate`; a fraction of 0 means that this resource does not bind.
double TimeAt(double amount, double fraction, double rate) { return fraction > 0 ? amount / (fraction * rate) : 0.0; }

constexpr double kLongest = 1e15;  // ns, eleven days: what a profile's fractions may say at most

Nanos Rounded(double time) { return std::llround(std::clamp(time, 0.0, kLongest)); }

// What a launch computes at. Math modes are of products; other ops run at the fp32 rate whatever the mode.
struct Arithmetic {
  double peak = 0;
  bool other = false;   // other arithmetic than that of the laws, which are fp32's
  bool stated = false;  // and the profile states its peak
};

Arithmetic ArithmeticOf(const Device& device, const Launch& launch) {
  if (!IsProduct(launch.kind)) return {.peak = device.peak_flops};
  return {.peak = device.PeakOf(launch.math),
          .other = launch.math != MathMode::kFp32,
          .stated = device.StatesPeakOf(launch.math)};
}

Cost ByRoofline(const Device& device, const Arithmetic& arithmetic, const Work& work) {
  Cost cost;
  cost.time = Rounded(std::max(work.flops / arithmetic.peak, work.bytes / device.memory_bandwidth));
  cost.source = Source::Kind::kAssumed;
  cost.error = kRooflineError;
  cost.how = arithmetic.other && !arithmetic.stated ? "roofline of fp32" : "roofline";
  return cost;
}

Cost ByLaw(const Device& device, const Arithmetic& arithmetic, const CostLaw& law, const Work& work) {
  const double compute = TimeAt(work.flops, law.flop_fraction, arithmetic.peak);
  const double memory = TimeAt(work.bytes, law.bandwidth_fraction, device.memory_bandwidth);
  Cost cost;
  cost.time = law.fixed + Rounded(std::max(compute, memory));
  cost.source = law.source.kind;
  cost.error = law.error;
  cost.how = !arithmetic.other ? "law" : arithmetic.stated ? "law of fp32, peak scaled" : "law of fp32";
  cost.workspace = law.workspace;
  cost.copy_slowdown = law.copy_slowdown;
  return cost;
}

}  // namespace

Cost CostByLaw(const Device& device, const Launch& launch) {
  const Work work = CountWork(launch);
  const CostLaw* const law = ClosestLaw(device.laws, launch);
  const Arithmetic arithmetic = ArithmeticOf(device, launch);
  Cost cost = law == nullptr ? ByRoofline(device, arithmetic, work) : ByLaw(device, arithmetic, *law, work);
  if (launch.type != DataType::kFp32 || launch.math != MathMode::kFp32) {
    // Smaller elements are in `work`. The laws' shares of the peak are those of fp32 kernels.
    cost.source = Source::Kind::kAssumed;
    cost.error = std::max(cost.error, kOtherFormatError);
  }
  cost.shared_error = cost.error;
  Hasher group;
  group.Add(OpKindName(launch.kind)).Add(PassName(launch.pass));
  if (law != nullptr) group.Add(law->window).Add(std::bit_cast<std::uint64_t>(law->flop_fraction));
  cost.group = group.Value();
  return cost;
}

}  // namespace spillway
