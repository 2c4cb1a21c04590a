// Writing a timeline as a trace.
#include <benchmark/benchmark.h>

#include "tests/long_timeline.h"

namespace spillway {
namespace {

void BM_WriteTrace(benchmark::State& state) {
  const LongTimeline timeline(static_cast<std::uint32_t>(state.range(0)));
  std::size_t bytes = 0;
  for (auto _ : state) {
    WriteTrace(timeline.Subject(), [&bytes](std::string_view piece) { bytes += piece.size(); });
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}
BENCHMARK(BM_WriteTrace)->Arg(1000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace spillway
