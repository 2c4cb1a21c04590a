// Hand-made profiles for tests of PoocH's model: chains on the unit machine, where a copy takes as many nanoseconds as
// it has bytes.
//
//   forward   op i computes map i from map i-1; map i leaves after op i+1, the last one after its own op
//   backward  timing k needs map n-1-k and nothing else
#ifndef SPILLWAY_TESTS_SIM_POOCH_CHAIN_H_
#define SPILLWAY_TESTS_SIM_POOCH_CHAIN_H_

#include <cstdint>
#include <random>
#include <vector>

#include "sim/strategies/pooch/search.h"

namespace spillway {

inline PoochProfile Chain(const std::vector<Bytes>& bytes, const std::vector<Nanos>& forward,
                          const std::vector<Nanos>& backward, Bytes capacity) {
  PoochProfile p;
  const auto n = static_cast<std::int32_t>(bytes.size());
  p.capacity = capacity;
  for (std::int32_t i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    PoochProfile::Map map;
    map.tensor = i;
    map.bytes = map.out_time = map.in_time = bytes[at];
    map.last_forward_op = i + 1 < n ? i + 1 : i;
    map.first_backward_op = n + (n - 1 - i);
    map.last_timing = n - 1 - i;
    p.maps.push_back(map);
    p.values.push_back({bytes[at], i, i + 1});
    p.writers.push_back({forward[at], 0, static_cast<std::int32_t>(p.inputs.size()), 0});
    if (i > 0) p.inputs.push_back(i - 1);
    p.writers.back().inputs_end = static_cast<std::int32_t>(p.inputs.size());
    PoochProfile::ForwardOp op{i, forward[at], bytes[at], 0, 0, 0, 0};
    op.maps_begin = static_cast<std::int32_t>(p.leaving.size());
    if (i > 0) p.leaving.push_back(i - 1);
    if (i + 1 == n) p.leaving.push_back(i);
    op.maps_end = static_cast<std::int32_t>(p.leaving.size());
    p.forward.push_back(op);
  }
  for (std::int32_t k = 0; k < n; ++k) {
    p.timings.push_back({n + k, backward[static_cast<std::size_t>(k)], 0, k, k + 1, k, k + 1, false});
    p.stretches.push_back({0, k, k + 1});
    p.needs.push_back(n - 1 - k);
    p.ends.push_back(n - 1 - k);
  }
  return p;
}

// A chain of `n` maps with everything random, gradients and workspace included, and room for swapping everything.
inline PoochProfile RandomChain(std::mt19937& random, int n) {
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<std::int64_t>(low, high)(random); };
  std::vector<Bytes> bytes;
  std::vector<Nanos> forward, backward;
  for (int i = 0; i < n; ++i) {
    bytes.push_back(draw(1, 40));
    forward.push_back(draw(1, 40));
    backward.push_back(draw(1, 80));
  }
  PoochProfile p = Chain(bytes, forward, backward, 0);
  for (PoochProfile::ForwardOp& op : p.forward) op.workspace = draw(0, 10);
  for (PoochProfile::Timing& timing : p.timings) {
    timing.before = draw(0, 10);
    p.stretches[static_cast<std::size_t>(timing.stretches_begin)].peak = timing.before + draw(0, 20);
    timing.convolution = draw(0, 2) == 0;
  }
  p.capacity = 1 << 20;
  PoochModel roomy(p);
  Search search(roomy, SwapInRule::kOneAhead);
  p.capacity = 1;
  while (!PoochModel(p).Simulate(search.AllSwap(), {.rule = SwapInRule::kOneAhead}, search.scratch).feasible) {
    ++p.capacity;
  }
  p.capacity += draw(0, 60);
  return p;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SIM_POOCH_CHAIN_H_
