// The fewest waits: by hand, and against brute force on random skeletons.
//
// Items are drawn as stream letter and number: c compute, d device to host, h host to device, then letters without a meaning.
#include "sim/program/synchronise.h"

#include <catch2/catch.hpp>

#include "tests/random_plan.h"

namespace spillway {
namespace {

constexpr StreamId kC = 0, kD = 1, kH = 2;
constexpr std::size_t kStreams = 3;

struct Sketch {
  Skeleton skeleton;
  std::uint32_t Item(StreamId stream) {
    const auto item = static_cast<std::uint32_t>(skeleton.items.size());
    skeleton.items.push_back({stream == kC ? Opcode::kKernel : Opcode::kCopy, stream, Cause::kNone, 0, item});
    return item;
  }
  // An item behind others.
  std::uint32_t Item(StreamId stream, std::vector<std::uint32_t> before, Cause cause = Cause::kData) {
    const std::uint32_t item = Item(stream);
    for (const std::uint32_t b : before) skeleton.dependencies.push_back({b, item, cause});
    return item;
  }
  void Sync(std::uint32_t item) {
    skeleton.items.push_back({Opcode::kHostSync, skeleton.items[item].stream, Cause::kBarrier, 0, item});
  }
};

Program Synchronised(const Skeleton& skeleton, std::size_t streams = kStreams) {
  Program program;
  program.streams = {{0, StreamKind::kCompute}, {0, StreamKind::kDeviceToHost}, {0, StreamKind::kHostToDevice}};
  program.streams.resize(streams);
  Synchronise(skeleton, program);
  return program;
}

// "c0 c+0 d-0 d1 sync0": items by number, + records an event, - waits for it.
std::string Text(const Program& program) {
  std::string text;
  int item = 0;
  for (const Instruction& in : program.code) {
    const std::string stream(1, "cdhijklm"[in.stream]);
    if (!text.empty()) text += ' ';
    switch (in.opcode) {
      case Opcode::kRecord:
        text += stream + "+" + std::to_string(in.arg);
        break;
      case Opcode::kWait:
        text += stream + "-" + std::to_string(in.arg);
        break;
      case Opcode::kHostSync:
        text += "sync" + std::to_string(in.arg);
        ++item;
        break;
      default:
        text += stream + std::to_string(item++);
    }
  }
  return text;
}
std::string Text(const Sketch& sketch) { return Text(Synchronised(sketch.skeleton)); }

TEST_CASE("no dependency, no event") {
  Sketch s;
  s.Item(kC);
  s.Item(kD);
  CHECK(Text(s) == "c0 d1");
  CHECK(Synchronised(s.skeleton).events == 0);
}

TEST_CASE("one event for all who wait for an item") {
  Sketch s;
  const auto c = s.Item(kC);
  s.Item(kD, {c});
  s.Item(kH, {c});
  CHECK(Text(s) == "c0 c+0 d-0 d1 h-0 h2");
  CHECK(Synchronised(s.skeleton).events == 1);
}

TEST_CASE("six streams: one waits for the five others, and whoever waits for it knows them all") {
  Sketch s;
  std::vector<std::uint32_t> others;
  for (StreamId stream = 1; stream < 6; ++stream) others.push_back(s.Item(stream));
  const auto last = s.Item(0, others);
  others.push_back(last);
  s.Item(5, others);
  Program program;
  program.streams.resize(6);
  Synchronise(s.skeleton, program);
  CHECK(program.events == 6);                     // the five, and the one behind them
  CHECK(program.code.size() == 7 + 6 + (5 + 1));  // items, events, waits
}

TEST_CASE("the cause goes with the wait") {
  Sketch s;
  const auto c = s.Item(kC);
  s.Item(kD, {c}, Cause::kProduced);
  CHECK(Synchronised(s.skeleton).code[2].cause == Cause::kProduced);
}

TEST_CASE("stream order implies: nothing on one stream, the later of two items on another") {
  Sketch s;
  const auto c0 = s.Item(kC);
  const auto c1 = s.Item(kC, {c0});
  s.Item(kD, {c0, c1});
  CHECK(Text(s) == "c0 c1 c+0 d-0 d2");
}

TEST_CASE("an earlier wait implies: of the item itself and of those before it") {
  Sketch s;
  const auto c0 = s.Item(kC);
  const auto c1 = s.Item(kC);
  s.Item(kD, {c1});
  s.Item(kD, {c1, c0});
  CHECK(Text(s) == "c0 c1 c+0 d-0 d2 d3");
}

TEST_CASE("a wait implies what the item waited for, whichever is listed first") {
  for (const bool weak_first : {true, false}) {
    Sketch s;
    const auto c = s.Item(kC);
    const auto d = s.Item(kD, {c});
    s.Item(kH, weak_first ? std::vector<std::uint32_t>{c, d} : std::vector<std::uint32_t>{d, c});
    CHECK(Text(s) == "c0 c+0 d-0 d1 d+1 h-1 h2");
  }
}

TEST_CASE("two items that know nothing of each other need two waits") {
  Sketch s;
  const auto c = s.Item(kC);
  const auto d = s.Item(kD);
  s.Item(kH, {c, d});
  CHECK(Text(s) == "c0 c+0 d1 d+1 h-0 h-1 h2");
}

TEST_CASE("a host sync implies for everything issued after it, on every stream") {
  Sketch s;
  const auto c0 = s.Item(kC);
  const auto d1 = s.Item(kD, {c0});
  s.Sync(d1);
  s.Item(kH, {c0, d1});
  const auto c4 = s.Item(kC, {d1});
  s.Item(kH, {c4});
  CHECK(Text(s) == "c0 c+0 d-0 d1 d+1 sync1 h3 c4 c+2 h-2 h5");
}

TEST_CASE("a host sync says nothing of items behind the one it waits for") {
  Sketch s;
  const auto c0 = s.Item(kC);
  const auto c1 = s.Item(kC);
  s.Sync(c0);
  s.Item(kD, {c1});
  CHECK(Text(s) == "c0 c+0 c1 c+1 sync0 d-1 d3");
}

// Which items end before an item starts, by brute force: stream order, dependencies, host syncs, transitively.
using Order = std::vector<std::vector<bool>>;  // [after][before]

Order OrderOf(const Skeleton& skeleton) {
  const std::size_t count = skeleton.items.size();
  Order order(count, std::vector<bool>(count, false));
  std::vector<std::uint32_t> synced;
  for (std::size_t i = 0; i < count; ++i) {
    if (skeleton.items[i].opcode == Opcode::kHostSync) {
      synced.push_back(skeleton.items[i].arg);
      continue;
    }
    std::vector<std::size_t> before(synced.begin(), synced.end());
    for (std::size_t b = 0; b < i; ++b) {
      const bool work = skeleton.items[b].opcode != Opcode::kHostSync;
      if (work && skeleton.items[b].stream == skeleton.items[i].stream) before.push_back(b);
    }
    for (const Dependency& d : skeleton.dependencies) {
      if (d.after == i) before.push_back(d.before);
    }
    for (const std::size_t b : before) {
      order[i][b] = true;
      for (std::size_t c = 0; c < b; ++c) order[i][c] = order[i][c] || order[b][c];
    }
  }
  return order;
}

Skeleton RandomSkeleton(Random& random, std::size_t streams) {
  Sketch s;
  const std::uint32_t count = static_cast<std::uint32_t>(streams) + random.Below(12);
  std::vector<std::uint32_t> work;
  while (s.skeleton.items.size() < count) {
    if (!work.empty() && random.Below(10) == 0) {
      s.Sync(work[random.Below(static_cast<std::uint32_t>(work.size()))]);
      continue;
    }
    std::vector<std::uint32_t> before;
    for (const std::uint32_t b : work) {
      if (random.Below(4) == 0)
        before.insert(before.begin() + random.Below(static_cast<std::uint32_t>(before.size() + 1)), b);
    }
    work.push_back(s.Item(static_cast<StreamId>(random.Below(static_cast<std::uint32_t>(streams))), before));
  }
  return s.skeleton;
}

void CheckRandomSkeletons(std::size_t streams) {
  Random random(7);
  int dependencies = 0, waits = 0;
  for (int round = 0; round < 3000; ++round) {
    const Skeleton skeleton = RandomSkeleton(random, streams);
    const Program program = Synchronised(skeleton, streams);
    const Skeleton kept = Strip(program);
    INFO(Text(program));
    const Order order = OrderOf(skeleton);
    REQUIRE(OrderOf(kept) == order);
    for (std::size_t k = 0; k < kept.dependencies.size(); ++k) {
      Skeleton fewer = kept;
      fewer.dependencies.erase(fewer.dependencies.begin() + static_cast<std::ptrdiff_t>(k));
      REQUIRE(OrderOf(fewer) != order);
    }
    REQUIRE(Text(Synchronised(kept, streams)) == Text(program));  // Strip loses nothing but what was implied
    dependencies += static_cast<int>(skeleton.dependencies.size());
    waits += static_cast<int>(kept.dependencies.size());
  }
  CHECK(waits > 3000);
  CHECK(waits < (streams == kStreams ? dependencies / 2 : dependencies));
}

TEST_CASE("on random skeletons the order is that of all dependencies, and every wait is needed for it") {
  CheckRandomSkeletons(kStreams);
}

TEST_CASE("the same on eight streams, whose clocks are wider") { CheckRandomSkeletons(8); }

}  // namespace
}  // namespace spillway
