// A hash of what a launch computes. In a header of its own, since plugins have it without the libraries.
#ifndef SPILLWAY_MODEL_STEP_WORK_HASH_H_
#define SPILLWAY_MODEL_STEP_WORK_HASH_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/step/launch.h"
#include "model/util/hash.h"

namespace spillway {

// Recorded ops stand behind the table, which grows: they keep the number that they had when it ended with updates. Their
// shapes tell them apart from the kind that has this number now.
constexpr std::int64_t NumberInHashes(OpKind kind) {
  return static_cast<std::int64_t>(kind == OpKind::kRecorded ? OpKind::kUpdate : kind) + (kind == OpKind::kRecorded);
}

// What is computed: everything of the launch but algorithm and workspace. The draws of sim/uncertainty/ hang on it: another
// function gives other intervals, within their standard error.
inline std::uint64_t HashOfWork(const Launch& l) {
  Hasher hash;
  const auto add = [&hash](std::int64_t value) { hash.Add(static_cast<std::uint64_t>(value)); };
  add(NumberInHashes(l.kind) | static_cast<std::int64_t>(l.pass) << 8 | static_cast<std::int64_t>(l.type) << 16 |
      static_cast<std::int64_t>(l.math) << 24 | static_cast<std::int64_t>(l.layout) << 32 |
      static_cast<std::int64_t>(l.accumulate) << 40);
  for (const Shape* s : {&l.shape.in, &l.shape.out}) {
    for (const std::int64_t size : {s->n, s->c, s->d, s->h, s->w}) add(size);
  }
  const std::array<std::int64_t, 3> before = l.shape.PadBegin(), after = l.shape.PadEnd();
  for (const auto* sizes : {&l.shape.window, &l.shape.stride, &before}) {
    for (const std::int64_t size : *sizes) add(size);
  }
  for (std::size_t k = 0; after != before && k < after.size(); ++k) add(after[k]);
  for (std::size_t k = 0; l.shape.Dilated() && k < after.size(); ++k) add(-l.shape.dilation[k]);
  add(l.shape.groups);
  add(l.shape.operands);
  if (l.shape.recorded != 0) add(l.shape.recorded);
  if (l.recomputation) add(1);
  return hash.Value();
}

}  // namespace spillway

#endif  // SPILLWAY_MODEL_STEP_WORK_HASH_H_
