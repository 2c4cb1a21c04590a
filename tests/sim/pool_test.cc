// The pool with addresses: where blocks lie, what compaction moves, and what both cost a step.
#include "sim/engine/pool.h"

#include <catch2/catch.hpp>
#include <random>

#include "sim/engine/simulate.h"
#include "tests/program_builder.h"

namespace spillway {
namespace {

TEST_CASE("the smallest free block that is large enough is split") {
  // | 0: 20 | 1: 10 | 2: 30 | 3: 10 | 30 free |, then 1 and 3 are freed: holes of 10 at 20 and of 40 at 60.
  AddressPool pool(100);
  CHECK(pool.Allocate(0, 20) == 0);
  CHECK(pool.Allocate(1, 10) == 20);
  CHECK(pool.Allocate(2, 30) == 30);
  CHECK(pool.Allocate(3, 10) == 60);
  pool.Free(1);
  pool.Free(3);
  CHECK(pool.Fits(40));
  CHECK_FALSE(pool.Fits(41));
  CHECK(pool.Allocate(4, 8) == 20);  // leaves 2 at 28
  CHECK(pool.Allocate(5, 3) == 60);  // 2 would not do
  CHECK(pool.Allocate(6, 2) == 28);
}

TEST_CASE("free neighbours become one block, whatever the order") {
  const std::vector<std::vector<BufferId>> orders = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const std::vector<BufferId>& order : orders) {
    AddressPool pool(40);
    for (BufferId buffer = 0; buffer < 4; ++buffer) pool.Allocate(buffer, 10);  // the last stays
    for (const BufferId buffer : order) pool.Free(buffer);
    CHECK(pool.Fits(30));
    CHECK_FALSE(pool.Fits(31));
    CHECK(pool.Compact().bytes == 10);  // the block at 30 moves to 0, past 30 of room: in one piece
    CHECK(pool.Allocate(4, 30) == 10);
  }
}

TEST_CASE("compaction moves blocks that lie together together") {
  // | 10 free | 1: 5 | 2: 5 | 10 free | 4: 40 |  ->  | 1 | 2 | 4 | 20 free |
  // 1 and 2 in one copy of 10 into 10 of room; 4, 40 bytes, by 20 down: in two, the first of them of 20.
  AddressPool pool(70);
  const Bytes sizes[] = {10, 5, 5, 10, 40};
  for (BufferId buffer = 0; buffer < 5; ++buffer) pool.Allocate(buffer, sizes[buffer]);
  pool.Free(0);
  pool.Free(3);
  CHECK_FALSE(pool.Fits(20));
  const AddressPool::Moves moves = pool.Compact();
  CHECK(moves.bytes == 50);
  CHECK(moves.copies == 3);
  CHECK(pool.Fits(20));
  CHECK_FALSE(pool.Fits(21));
  CHECK(pool.Compact().copies == 0);  // nothing left to move
  pool.Free(2);                       // | 5 | hole of 5 at 5 | 40 | 20 free |
  CHECK(pool.Allocate(5, 5) == 5);
}

TEST_CASE("blocks never overlap, and what fits is what lies together") {
  constexpr Bytes kCapacity = 200;
  std::mt19937 random(11);
  AddressPool pool(kCapacity);
  std::vector<BufferId> owner(kCapacity, kNoBuffer);  // by byte
  std::vector<std::pair<BufferId, Bytes>> live;
  const auto longest = [&owner] {
    Bytes most = 0, run = 0;
    for (const BufferId byte : owner) most = std::max(most, run = byte == kNoBuffer ? run + 1 : 0);
    return most;
  };
  for (BufferId next = 0; next < 5000; ++next) {
    const Bytes bytes = 1 + static_cast<Bytes>(random() % 40);
    REQUIRE(pool.Fits(bytes) == (longest() >= bytes));
    if (random() % 2 == 0 && pool.Fits(bytes)) {
      const Bytes at = pool.Allocate(next, bytes);
      for (Bytes i = at; i < at + bytes; ++i) {
        REQUIRE(owner.at(static_cast<std::size_t>(i)) == kNoBuffer);
        owner[static_cast<std::size_t>(i)] = next;
      }
      live.emplace_back(next, bytes);
    } else if (!live.empty()) {
      const std::size_t victim = random() % live.size();
      pool.Free(live[victim].first);
      std::replace(owner.begin(), owner.end(), live[victim].first, kNoBuffer);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(victim));
    }
    if (random() % 50 == 0) {  // order is kept, holes go
      pool.Compact();
      std::stable_partition(owner.begin(), owner.end(), [](BufferId byte) { return byte != kNoBuffer; });
    }
  }
}

// ---- in a program

Conditions Pool30(PoolKind kind) {
  Conditions conditions;
  conditions.pool_capacity = 30;
  conditions.pool = kind;
  conditions.compaction = {.rate = 2, .per_copy = 3};
  return conditions;
}

Simulated Run(const Program& program, const Conditions& conditions, Timeline* timeline = nullptr) {
  std::vector<Nanos> durations;
  int kernels = 0;
  for (const Instruction& in : program.code) {
    const bool kernel = in.opcode == Opcode::kKernel;
    durations.push_back(in.opcode == Opcode::kCopy ? 20 : !kernel ? 0 : kernels == 0 ? 5 : 4);
    kernels += kernel ? 1 : 0;
  }
  Scratch scratch;
  return Simulate(program, durations, conditions, scratch, timeline);
}

// Three blocks of 10 fill the pool; a kernel of 5; two of them are freed; a block of 20, and a kernel of 4.
Program ThreeBlocks(int first, int second) {
  ProgramBuilder p;
  const BufferId blocks[] = {p.Device(10), p.Device(10), p.Device(10)};
  const BufferId large = p.Device(20);
  for (const BufferId block : blocks) p.Alloc(kCompute, block);
  p.Kernel({Wr(blocks[0]), Wr(blocks[1]), Wr(blocks[2])});
  p.Free(kCompute, blocks[first]);
  p.Free(kCompute, blocks[second]);
  p.Alloc(kCompute, large);
  p.Kernel({Wr(large), Rd(blocks[3 - first - second])});
  Program program = p.Build();
  program.memory = ProgramMemory::kPool;
  return program;
}

TEST_CASE("free bytes that do not lie together are brought together, at a price") {
  // 20 bytes are free, 10 on each side of the middle block. The host waits for the kernel (5), moves 10 bytes at 2 a
  // nanosecond in one copy (3 + 5), and goes on at 13.
  const Program program = ThreeBlocks(0, 2);
  CHECK(Run(program, Pool30(PoolKind::kBytes)).makespan == 9);
  Timeline timeline;
  const Simulated result = Run(program, Pool30(PoolKind::kAddresses), &timeline);
  CHECK(result.completed);
  CHECK(result.makespan == 17);
  CHECK(result.compactions == 1);
  CHECK(result.compacted_bytes == 10);
  CHECK(timeline.stall[static_cast<std::size_t>(Cause::kBarrier)] == 8);
  Conditions waking = Pool30(PoolKind::kAddresses);
  waking.host_cost[static_cast<std::size_t>(Opcode::kHostSync)] = 2;
  CHECK(Run(program, waking).makespan == 19);
  waking.pool_capacity = 0;  // unlimited
  CHECK(Run(program, waking).makespan == 9);
}

TEST_CASE("neighbours that are free need no compaction") {
  for (const int first : {0, 1}) {
    const Simulated result = Run(ThreeBlocks(first, first + 1), Pool30(PoolKind::kAddresses));
    CHECK(result.makespan == 9);
    CHECK(result.compactions == 0);
  }
}

TEST_CASE("a swap-out that is on its way is waited for before anything is moved") {
  // The outer blocks are free, the middle one is copied out from 5 to 25; then 30 bytes lie together.
  ProgramBuilder p;
  const BufferId left = p.Device(10), middle = p.Device(10), right = p.Device(10), large = p.Device(20);
  const BufferId host = p.Host(10);
  for (const BufferId block : {left, middle, right}) p.Alloc(kCompute, block);
  p.Kernel({Wr(left), Wr(middle), Wr(right)});
  p.Free(kCompute, left);
  p.Free(kCompute, right);
  p.Wait(kOut, p.Record(kCompute), Cause::kProduced);
  p.Copy(kOut, middle, host);
  p.Free(kOut, middle);
  p.Alloc(kCompute, large);
  p.Kernel({Wr(large)});
  Program program = p.Build();
  program.memory = ProgramMemory::kPool;
  CHECK(Run(program, Pool30(PoolKind::kBytes)).makespan == 25);  // the kernel from 5 to 9
  Timeline timeline;
  const Simulated result = Run(program, Pool30(PoolKind::kAddresses), &timeline);
  CHECK(result.makespan == 29);
  CHECK(result.compactions == 0);
  CHECK(timeline.stall[static_cast<std::size_t>(Cause::kSwapOut)] == 20);
}

TEST_CASE("compaction does not help where the bytes are not there") {
  Conditions conditions = Pool30(PoolKind::kAddresses);
  conditions.pool_capacity = 29;
  const Simulated result = Run(ThreeBlocks(0, 2), conditions);
  CHECK_FALSE(result.completed);
  CHECK(result.failed_at == 2);  // the third block of 10
  CHECK(result.failed_live == 20);
}

TEST_CASE("what moving costs comes from the machine's copies within its memory") {
  const Program program = ThreeBlocks(0, 2);
  Runtime runtime;
  runtime.memory = MemoryModel::kPool;
  runtime.pool = PoolKind::kAddresses;
  // The unit machine moves one byte per nanosecond: read and written, half a byte.
  const Machine unit = LoadMachine("unit");
  const CostModel costs(unit);
  const Conditions conditions = ConditionsOf(program, costs, runtime, 30);
  CHECK(conditions.pool == PoolKind::kAddresses);
  CHECK(conditions.pool_capacity == 30);
  CHECK(conditions.compaction.rate == Approx(0.5));
}

}  // namespace
}  // namespace spillway
