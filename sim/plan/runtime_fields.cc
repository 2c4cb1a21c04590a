// A runtime from text, of a plan or of a scenario; its keys are in plan_keys.cc.
#include <fmt/format.h>

#include "sim/plan/plan.h"
#include "sim/plan/plan_keys.h"

namespace spillway {

void ReadRuntimeFields(MapReader& reader, Runtime& r) {
  r.copy_streams = static_cast<int>(reader.IntegerOr("copy_streams", r.copy_streams, 1, 2));
  r.memory = static_cast<MemoryModel>(reader.ChoiceOr("memory", RuntimeWords("memory"), static_cast<int>(r.memory)));
  r.barrier = static_cast<Barrier>(reader.ChoiceOr("barrier", RuntimeWords("barrier"), static_cast<int>(r.barrier)));
  r.host_syncs =
      static_cast<HostSyncs>(reader.ChoiceOr("host_syncs", RuntimeWords("host_syncs"), static_cast<int>(r.host_syncs)));
  r.framework_time = reader.DurationOr("framework_time", r.framework_time);
  reader.Check(r.framework_time <= kMostFrameworkTime, "framework_time",
               fmt::format("expected at most 1 s per op, found {}", FormatDurationExact(r.framework_time)));
  r.copy_chunk = reader.BytesOr("copy_chunk", r.copy_chunk);
  reader.Check(
      r.copy_chunk == 0 || r.copy_chunk >= kLeastCopyChunk, "copy_chunk",
      fmt::format("expected 0 B (copies in one piece) or at least 64 KiB, found {}", FormatBytesExact(r.copy_chunk)));
  r.pool = static_cast<PoolKind>(reader.ChoiceOr("pool", RuntimeWords("pool"), static_cast<int>(r.pool)));
  reader.Check(r.pool == PoolKind::kBytes || r.memory == MemoryModel::kPool, "pool",
               "only for a runtime with memory: pool");
  r.blocking_copies = static_cast<BlockingCopies>(
      reader.ChoiceOr("blocking_copies", RuntimeWords("blocking_copies"), static_cast<int>(r.blocking_copies)));
  r.swap_in_waits = static_cast<SwapInWaits>(
      reader.ChoiceOr("swap_in_waits", RuntimeWords("swap_in_waits"), static_cast<int>(r.swap_in_waits)));
  r.collection_time = reader.DurationOr("collection_time", r.collection_time);
  reader.Check(r.collection_time <= kMostCollectionTime, "collection_time",
               fmt::format("expected at most 1 s, found {}", FormatDurationExact(r.collection_time)));
  r.backward_units = static_cast<BackwardUnits>(
      reader.ChoiceOr("backward_units", RuntimeWords("backward_units"), static_cast<int>(r.backward_units)));
  r.part_waits =
      static_cast<PartWaits>(reader.ChoiceOr("part_waits", RuntimeWords("part_waits"), static_cast<int>(r.part_waits)));
  r.workspaces = static_cast<Workspaces>(
      reader.ChoiceOr("workspaces", RuntimeWords("workspaces"), static_cast<int>(r.workspaces)));
  r.gaps = static_cast<CarriedGaps>(reader.ChoiceOr("gaps", RuntimeWords("gaps"), static_cast<int>(r.gaps)));
  r.host_percent = static_cast<int>(reader.IntegerOr("host_percent", r.host_percent, 1, 100));
}

}  // namespace spillway
