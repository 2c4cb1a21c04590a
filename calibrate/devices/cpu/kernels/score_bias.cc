// What attention within windows adds to its scores. Softmax divides scores by the root of a head's size: what is added here
// is multiplied by it.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "calibrate/devices/cpu/kernels/makers.h"
#include "model/step/window_grid.h"

namespace spillway::cpu {
namespace {

constexpr float kHidden = -100;  // added to a score whose key its query must not see

struct Biased {
  HeadSplit split;
  std::int64_t samples = 1;
  float factor = 1;
  std::vector<std::int64_t> rows;  // of the table, by query and key; empty: there is none
  std::vector<int> regions;        // by window and position; empty: all see all

  // Calls body(head, window, place among scores) for the scores of each window.
  template <typename Body>
  void ForEachWindow(Body body) const {
    std::int64_t at = 0;
    for (std::int64_t n = 0; n < samples; ++n) {
      for (std::int64_t head = 0; head < split.heads; ++head) {
        for (std::int64_t window = 0; window < split.rows; ++window, at += split.queries * split.keys) {
          body(head, window, at);
        }
      }
    }
  }

  float HiddenAt(std::int64_t window, std::int64_t pair) const {
    if (regions.empty()) return 0;
    const int* const of = regions.data() + window * split.queries;
    return of[pair / split.keys] == of[pair % split.keys] ? 0 : kHidden;
  }

  void Forward(const CpuArguments& a) const {
    ForEachWindow([&](std::int64_t head, std::int64_t window, std::int64_t at) {
      for (std::int64_t pair = 0; pair < split.queries * split.keys; ++pair) {
        float bias = HiddenAt(window, pair);
        if (!rows.empty()) bias += Read(a, 1)[rows[static_cast<std::size_t>(pair)] * split.heads + head];
        Write(a, 0)[at + pair] = Read(a, 0)[at + pair] + factor * bias;
      }
    });
  }

  void Backward(std::int64_t table, bool accumulate, const CpuArguments& a) const {
    if (!accumulate) std::fill_n(Write(a, 0), table * split.heads, 0.0f);
    ForEachWindow([&](std::int64_t head, std::int64_t, std::int64_t at) {
      for (std::int64_t pair = 0; pair < split.queries * split.keys; ++pair) {
        Write(a, 0)[rows[static_cast<std::size_t>(pair)] * split.heads + head] += factor * Read(a, 0)[at + pair];
      }
    });
  }
};

}  // namespace

// Forward reads {scores, table}, the table where there is one; backward {gradient of the scores}.
KernelPtr MakeScoreBias(const OpCall& call) {
  const WindowGrid& grid = call.details.windows;
  auto biased = std::make_shared<Biased>();
  biased->split = call.details.heads;
  biased->samples = call.launch.shape.in.n;
  biased->factor = std::sqrt(static_cast<float>(biased->split.size));
  if (grid.HasTable()) biased->rows = RelativeRows(grid, biased->split.keys);
  biased->regions = RegionsOf(grid);
  if (call.launch.pass == Pass::kForward) {
    return std::make_unique<LoopKernel>([biased](const CpuArguments& a) { biased->Forward(a); });
  }
  return std::make_unique<LoopKernel>([biased, table = grid.Distances(), accumulate = call.launch.accumulate](
                                          const CpuArguments& a) { biased->Backward(table, accumulate, a); });
}

}  // namespace spillway::cpu
