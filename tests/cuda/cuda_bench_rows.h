// Plans carried out on the CUDA device as something to measure, and their rows as a file has them.
#ifndef SPILLWAY_TESTS_CUDA_CUDA_BENCH_ROWS_H_
#define SPILLWAY_TESTS_CUDA_CUDA_BENCH_ROWS_H_

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "model/samples/file.h"
#include "tests/cuda/cuda_bench.h"

namespace spillway {

inline BenchReport RunOver(const std::vector<BenchItem>& plan, CudaBench& bench, BenchJournal& journal) {
  BenchWatcher watcher;
  const BenchRunOptions run{.budget = 1'000'000 * kSecond, .loop = FewTimings(), .date = "2020-01-01"};
  return RunBench(plan, *bench.target, *bench.cuda, run, journal, watcher);
}

// Nothing of them may be refused, or be warned of.
inline std::vector<Sample> ReadBack(const BenchJournal& journal) {
  std::string text = SampleHeader();
  for (const Sample& sample : journal.samples()) text += SampleLine(sample);
  const SampleSet set = ParseRows(text, "x.csv");
  CHECK(set.warnings == std::vector<std::string>{});
  CHECK(set.refused.empty());
  return set.samples;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_CUDA_CUDA_BENCH_ROWS_H_
