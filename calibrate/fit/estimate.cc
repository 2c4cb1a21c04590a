#include "calibrate/fit/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "calibrate/fit/group.h"
#include "calibrate/fit/layout.h"
#include "model/cost/library_limits.h"
#include "model/cost/menu.h"
#include "model/cost/model_cost.h"
#include "model/kernels/kernel_form.h"
#include "model/samples/csv.h"
#include "model/samples/file.h"

namespace spillway {
namespace {

constexpr const char* kAdded =
    "predicted_us,predicted_algorithm,predicted_workspace_bytes,how,source,error,predicted_menu";

struct Answer {
  std::optional<Cost> cost;  // without one, `why` says why not
  double nanoseconds = 0;
  std::string algorithm, why;
  std::string menu{};
};

// Answers of the software stacks that the profile knows beside its reference: its models at their rates.
class StackCosts {
 public:
  explicit StackCosts(const CostModel& reference) : reference_(reference) {}

  // Of the stack that the sample names; of the reference where the profile does not know it.
  Cost Kernel(const Sample& sample, const Launch& launch) {
    const SoftwareStack* stack = Find(sample);
    if (stack == nullptr) return reference_.Kernel(launch);
    return AtRate(CostsOf(*stack).Kernel(launch), *stack, launch);
  }

  // Likewise; the entries that none beats in both workspace and time.
  std::vector<MenuEntry> Menu(const Sample& sample, const Launch& launch) {
    const SoftwareStack* stack = Find(sample);
    if (stack == nullptr) return ParetoSet(reference_.Menu(launch));
    std::vector<MenuEntry> menu = CostsOf(*stack).Menu(launch);
    for (MenuEntry& entry : menu) entry.cost = AtRate(entry.cost, *stack, launch);
    return ParetoSet(std::move(menu));
  }

 private:
  static Cost AtRate(Cost cost, const SoftwareStack& stack, const Launch& launch) {
    const StackRate rate{0, 0, std::log(stack.special)};
    cost.time = std::llround(static_cast<double>(cost.time) * SpecialFactor(launch, rate));
    return cost;
  }

  struct Entry {
    Machine machine;
    std::unique_ptr<CostModel> costs;
  };

  const SoftwareStack* Find(const Sample& sample) const {
    const std::vector<SoftwareStack>& stacks = reference_.machine().devices[0].stacks;
    const Launch& launch = sample.launch;
    const auto found = std::find_if(stacks.begin(), stacks.end(), [&](const SoftwareStack& s) {
      return s.op == launch.kind && s.pass == launch.pass && s.math == MathModeName(launch.math) &&
             s.name == StackName(sample);
    });
    return found == stacks.end() ? nullptr : &*found;
  }

  const CostModel& CostsOf(const SoftwareStack& stack) {
    Entry& entry = entries_[&stack];
    if (entry.costs == nullptr) {
      entry.machine = reference_.machine();
      Device& device = entry.machine.devices[0];
      device.peak_flops *= stack.arithmetic;
      device.memory_bandwidth *= stack.memory;
      device.measured.clear();  // on the machine's own stack
      entry.costs = std::make_unique<CostModel>(entry.machine, reference_.options());
    }
    return *entry.costs;
  }

  const CostModel& reference_;
  std::map<const SoftwareStack*, Entry> entries_;
};

// What the harness shows of a kernel; the kernel's own time where the profile does not know the harness.
double AsObserved(double nanoseconds, const Sample& sample, const Device& device) {
  const Launch& launch = sample.launch;
  const std::string math = MathModeName(launch.math);
  for (const CallFloor& floor : device.call_floors) {
    if (floor.harness != sample.harness || floor.op != launch.kind) continue;
    if (floor.pass.value_or(launch.pass) != launch.pass || (!floor.math.empty() && floor.math != math)) continue;
    const HarnessTime harness{static_cast<double>(floor.added), static_cast<double>(floor.floor)};
    return std::exp(Observe(std::log(std::max(1.0, nanoseconds)), harness).log_time);
  }
  return nanoseconds;
}

// "winograd:120.500:1048576 implicit_gemm:150.000:0": name, microseconds, bytes. Empty where there is no choice.
std::string MenuText(const Sample& sample, const Device& device, StackCosts& stacks) {
  std::string text;
  const Launch& launch = sample.launch;
  if (AlgorithmNames(launch.kind, launch.pass).empty()) return text;
  for (const MenuEntry& entry : stacks.Menu(sample, launch)) {
    text += fmt::format("{}{}:{:.3f}:{}", text.empty() ? "" : " ",
                        AlgorithmName(launch.kind, launch.pass, entry.cost.algorithm),
                        AsObserved(static_cast<double>(entry.cost.time), sample, device) * 1e-3, entry.workspace);
  }
  return text;
}

// What the operands of the call leave of the device's memory: of a product all three, of another op the larger one, which
// it may run in place on.
Bytes LeftBy(Launch launch, const CostModel& costs) {
  launch.accumulate = false;
  const OpShape& shape = launch.shape;
  const Bytes larger = SizeOf(launch.type) * std::max(shape.in.Elements(), shape.out.Elements());
  const Bytes operands = IsProduct(launch.kind) ? static_cast<Bytes>(CountWork(launch).bytes) : larger;
  return costs.machine().devices[0].UsableMemory() - operands;
}

// Why the library does not take the call; "": it does, or has been timed.
std::string RefusedWhole(const Sample& sample, const Cost& cost, const Device& device) {
  const bool known = !device.models.empty() && PlatformOf(device) == Platform::kGpu;
  const bool timed = cost.how == std::string_view("measured");
  const std::string& version = sample.cudnn.empty() ? CudnnVersion(device) : sample.cudnn;
  return known && !timed ? LargeTensorRefusal(sample.launch, version) : "";
}

Answer KernelAnswer(const Sample& sample, const CostModel& costs, StackCosts& stacks, bool within_device) {
  Launch launch = sample.launch;
  const Bytes limit = within_device ? LeftBy(launch, costs) : kMostWorkspace;
  if (limit < 0) return {std::nullopt, 0, "", "out_of_memory: the operands alone are more than the device has"};
  if (sample.workspace >= 0) launch.workspace = sample.workspace;
  if (launch.workspace < 0) launch.workspace = std::min(limit, costs.options().workspace_limit);
  const Cost cost = stacks.Kernel(sample, launch);
  const Device& device = costs.machine().devices[0];
  Answer answer{cost, AsObserved(static_cast<double>(cost.time), sample, device),
                AlgorithmName(launch.kind, launch.pass, cost.algorithm), "", MenuText(sample, device, stacks)};
  if (launch.algorithm != 0 && cost.algorithm != launch.algorithm) {
    answer.why = "the profile has no model of this algorithm that can run the operation";
    answer.cost.reset();
  } else if (sample.workspace >= 0 && cost.workspace > sample.workspace) {
    answer.why = fmt::format("workspace: {} B wanted, {} B granted", cost.workspace, sample.workspace);
    answer.cost.reset();
  } else if (std::string refusal = RefusedWhole(sample, cost, device); !refusal.empty()) {
    answer.why = std::move(refusal);
    answer.cost.reset();
  } else if (within_device && cost.workspace > limit) {
    answer.why = fmt::format("out_of_memory: workspace of {} B wanted, {} B are left beside the operands",
                             cost.workspace, limit);
    answer.cost.reset();
  }
  return answer;
}

Answer CopyAnswer(const Sample& sample, const CostModel& costs) {
  const bool pinned = sample.kind.empty() || sample.kind == "pinned" || sample.kind == "pitched";
  const bool near = sample.link.empty() || sample.link == "local" || sample.link == costs.machine().LinkOf(0).name;
  if (!pinned || !near || (sample.direction != "h2d" && sample.direction != "d2h")) {
    return {std::nullopt, 0, "", "the cost model knows copies between pinned memory and the device on its first link"};
  }
  const Direction direction = sample.direction == "h2d" ? Direction::kHostToDevice : Direction::kDeviceToHost;
  const std::int64_t rows = sample.row_bytes > 0 ? sample.bytes / sample.row_bytes : 1;
  const Cost cost = costs.Copy(sample.bytes, direction, 0, std::max<std::int64_t>(1, rows));
  const Nanos issued = costs.machine().devices[0].host_costs.copy_submit;
  return {cost, static_cast<double>(issued + cost.time), "", ""};
}

Answer AnswerTo(const Sample& sample, const CostModel& costs, StackCosts& stacks, bool within_device) {
  if (sample.what == SampleKind::kKernel) return KernelAnswer(sample, costs, stacks, within_device);
  if (sample.what == SampleKind::kCopy) return CopyAnswer(sample, costs);
  return {std::nullopt, 0, "", fmt::format("no cost model for '{}'", sample.op)};
}

std::string AnswerText(const Answer& answer) {
  if (!answer.cost) return fmt::format(",,,{},,,{}", CsvText(answer.why), answer.menu);
  const Cost& cost = *answer.cost;
  return fmt::format("{:.3f},{},{},{},{},{:.3f},{}", answer.nanoseconds * 1e-3, answer.algorithm, cost.workspace,
                     cost.how, SourceKindName(cost.source), cost.error, answer.menu);
}

std::string CellsText(const CsvRow& row) {
  std::string text;
  for (const CsvCell& cell : row) text += CsvText(cell.text) + ",";
  return text;
}

}  // namespace

std::vector<std::string> CheckOperations(const Document& document, const CostModel& costs) {
  std::set<std::pair<std::string, std::string>> seen;
  std::vector<Sample> first;  // of each harness and device
  std::vector<std::string> warnings =
      VisitOperations(document, [&](const CsvRow&, const Sample* operation) {
        if (operation == nullptr) return;
        const bool kernel = operation->what == SampleKind::kKernel;
        const auto key = std::make_pair(kernel ? operation->harness : std::string(), operation->device);
        if (seen.insert(key).second) first.push_back(*operation);
      }).warnings;
  for (std::string& doubt : DoubtsAbout(first, document.file, costs.machine(), LoadChips())) {
    warnings.push_back(std::move(doubt));
  }
  return warnings;
}

void EstimateLines(const Document& document, const CostModel& costs, bool within_device,
                   const std::function<void(std::string_view)>& line) {
  StackCosts stacks(costs);
  bool header = true;
  VisitOperations(document, [&](const CsvRow& cells, const Sample* operation) {
    const std::string added = std::exchange(header, false) ? kAdded
                              : operation != nullptr ? AnswerText(AnswerTo(*operation, costs, stacks, within_device))
                                                     : AnswerText({std::nullopt, 0, "", "refused by its status"});
    line(CellsText(cells) + added + "\n");
  });
}

}  // namespace spillway
