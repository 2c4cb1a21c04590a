// The Program: a Plan as a flat list of instructions on streams of devices. This page is the contract between `lower`,
// which writes Programs, and all readers: the engines of simulate(), `layout`, `verify`, replay and execute(). A
// Program holds no times.
//
//  1. List order is the host's issue order. Each instruction costs the host some time and starts no earlier than it
//     is issued. kHostSync blocks the host until its event.
//  2. A stream runs its instructions in list order, one at a time. kWait holds its stream until its event, which was
//     recorded earlier in the list; each event is recorded exactly once.
//  3. A buffer is live from when its stream reaches kAlloc until its stream reaches kFree (which may be another
//     stream). At equal times kFree comes first. Every device buffer is allocated once and freed once; host buffers
//     (pinned) exist throughout.
//  4. Every kernel and copy names the buffers it touches. Two accesses to one buffer of which one is a write are
//     ordered by streams and events, unless their boxes have no place in common (clause 8), and lie between kAlloc and
//     kFree of that buffer in that order.
//  5. Arena: every device buffer has an offset; buffers whose addresses overlap are ordered (the kFree of one before
//     the kAlloc of the other). kAlloc and kFree then cost nothing and cannot fail.
//  5b. Counted: bytes in whole blocks (kAllocationUnit) and no addresses, as a caching allocator has them. All kAlloc and
//     kFree of a device lie on its one compute stream, whose order protects the bytes: a kFree waits there for copies
//     that still read the buffer. In list order the bytes that are out never exceed the capacity, so that no kAlloc can
//     fail and the host never blocks.
//  6. Pool: kAlloc is a host action. A kFree on the compute stream returns its bytes at once (the stream's order
//     protects them, and a kAlloc on a copy stream is ordered behind it); a kFree on a copy stream returns them when
//     the stream gets there. When the bytes do not suffice the host blocks on the oldest kFree not yet reached, and the
//     step fails where there is none. A pool with addresses (PoolKind, sim/engine/pool.h) also needs them to lie together: where
//     they do not, the host waits for the device and the live bytes are moved.
//  7. `lower` and `layout` emit no kWait that stream order and earlier events already imply.
//  8. Boxes. A buffer of a tensor holds all of it, or the box that it names, dense in the order of the tensor's
//     dimensions; operands and copies name the box of the tensor that they touch. An op may be run in parts, by several
//     kernels whose launches have the parts' shapes: every place of a result is written by one of them, or summed up by
//     several, of which the first writes and the others add to it (Launch::accumulate). What a convolution's tile holds beyond
//     its tensor is padding, zeros (Copy::fill).
//  9. Sections. A tensor may lie in several buffers, each of a batch range and with a lifetime of its own. A kernel names an
//     operand for each that it touches, in the order of samples without gaps, and finds them as one operand at the
//     address of the first: their addresses are as far apart as their samples are in the tensor. Arena only.
// 10. Between steps. A step begins in the state in which it ends. A value that outlives the step lies on the host in between
//     if the Program reads a host buffer of it that it has not written before; there is one, and holds the last version at
//     the end. Else its first device buffer has it at the kAlloc, its last one the last version at the kFree, and no other
//     buffer has these addresses before, or after. Where the two differ, execute() moves the value. Counted bytes of it are
//     out from beginning to end. In a pool no kFree comes before its first kAlloc, and no kAlloc behind its last kFree.
#ifndef SPILLWAY_SIM_PROGRAM_PROGRAM_H_
#define SPILLWAY_SIM_PROGRAM_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/cost/cost_model.h"
#include "model/profile/machine.h"
#include "model/step/training_step.h"

namespace spillway {

using BufferId = std::uint32_t;
using EventId = std::uint32_t;
using StreamId = std::uint8_t;
using BoxId = std::uint32_t;
constexpr BufferId kNoBuffer = 0xffffffffu;
constexpr std::uint32_t kNoInstruction = 0xffffffffu;
constexpr BoxId kWhole =
    0xffffffffu;  // of a buffer: the whole tensor; of an operand or copy: all that the buffer holds

constexpr std::uint32_t kNoFrame = 0xffffffffu;

enum class Opcode : std::uint8_t { kKernel, kCopy, kAlloc, kFree, kRecord, kWait, kHostSync };
constexpr int kOpcodes = 7;
const char* OpcodeName(Opcode opcode);  // "kernel", "copy", ...

// Why a stream or the host is made to wait; stalls are summed by it.
enum class Cause : std::uint8_t {
  kNone,
  kData,      // a kernel needs what another kernel computes
  kSwapIn,    // a kernel needs what a copy brings
  kSwapOut,   // memory is still being copied out
  kMemory,    // a copy needs memory that a kernel still uses
  kProduced,  // a copy needs what a kernel computes
  kBarrier,   // the modelled system synchronises
};
const char* CauseName(Cause cause);

struct Instruction {
  Opcode opcode = Opcode::kKernel;
  StreamId stream = 0;
  Cause cause = Cause::kNone;  // of kWait and kHostSync
  std::uint8_t unused = 0;
  std::uint32_t arg = 0;  // kKernel: kernels[arg]; kCopy: copies[arg]; kAlloc, kFree: buffers[arg]; else the event
};
static_assert(sizeof(Instruction) == 8);

enum class Access : std::uint8_t { kRead = 1, kWrite = 2, kReadWrite = 3 };

struct Operand {
  BufferId buffer = kNoBuffer;
  Access access = Access::kRead;
  BoxId box = kWhole;  // of the buffer's tensor
};

struct Kernel {
  OpId op = kNoOp;             // of the TrainingStep; kNoOp in Programs built by hand
  std::uint32_t launch = 0;    // row of Program::launches
  std::uint32_t operands = 0;  // first of its rows in Program::operands
  std::uint32_t operand_count = 0;
  bool recomputation = false;  // repeats `op`; its side effects must not happen again
  // The first and the last of the parts that make up one run of the op. A framework does its work per op at one of
  // these.
  bool first_part = true, last_part = true;
};

// Where the two buffers hold different boxes, or less than both hold is copied, offsets and pitches on each side follow
// from the boxes (RunsOfCopy); else a copy may be one of several pieces.
struct Copy {
  BufferId from = kNoBuffer;
  BufferId to = kNoBuffer;
  Bytes bytes = 0;
  Bytes offset = 0;        // of the piece, in both buffers
  BoxId box = kWhole;      // of the tensor
  std::int32_t rows = 1;   // > 1: pitched
  bool fill = false;       // what else `to` holds becomes zero: a tile's padding. Its time is not counted
  std::uint16_t link = 0;  // index into Machine::links
  Direction direction = Direction::kHostToDevice;
};

enum class BufferKind : std::uint8_t { kTensor, kWorkspace, kHost };
const char* BufferKindName(BufferKind kind);  // "tensor", "workspace", "host"

struct Buffer {
  Bytes bytes = 0;    // rounded up to the allocator's unit
  Bytes offset = -1;  // arena address once laid out
  TensorId tensor = kNoTensor;
  BoxId box = kWhole;
  std::int16_t place = 0;  // device index; host node index for kHost
  BufferKind kind = BufferKind::kTensor;
  // For layout: buffers of one frame have fixed distances; each address is `distance` bytes above the frame's address.
  std::uint32_t frame = kNoFrame;
  Bytes distance = 0;
};

enum class StreamKind : std::uint8_t { kCompute, kHostToDevice, kDeviceToHost, kCopy };
const char* StreamKindName(StreamKind kind);  // "compute", "h2d", "d2h", "copy"

// How device buffers get their memory.
enum class ProgramMemory : std::uint8_t {
  kArena,    // clause 5
  kPool,     // clause 6
  kCounted,  // clause 5b
};
const char* ProgramMemoryName(ProgramMemory memory);  // "arena", "pool", "counted"

constexpr std::size_t kMaxStreams = 16;  // of a Program

struct Stream {
  std::int16_t device = 0;
  StreamKind kind = StreamKind::kCompute;
};

struct Program {
  std::vector<Instruction> code;
  std::vector<Kernel> kernels;
  std::vector<Operand> operands;
  std::vector<Launch> launches;  // distinct ones
  std::vector<Copy> copies;
  std::vector<Buffer> buffers;
  std::vector<Box> boxes;
  std::vector<Stream> streams;
  std::uint32_t events = 0;  // event ids are 0 .. events-1
  ProgramMemory memory = ProgramMemory::kArena;

  Bytes HostBytes() const;    // sum over host buffers
  Bytes PeakAddress() const;  // arena: highest address in use on device 0
};

// Cost of every instruction: kernels and copies as the model says, everything else 0. Contention-free work.
std::vector<Nanos> Durations(const Program& program, const CostModel& costs);

// HeldBy: the box of its tensor that a buffer holds. BoxIn: the box of the tensor that `box` names in that buffer.
// REQUIRES: the buffer is of a tensor.
Box HeldBy(const Program& program, BufferId buffer, const TrainingStep& step);
Box BoxIn(const Program& program, BufferId buffer, BoxId box, const TrainingStep& step);
// The places of an operand in its buffer, on both sides of the runs. REQUIRES: the buffer is of a tensor.
BoxRuns RunsOfOperand(const Program& program, const Operand& operand, const TrainingStep& step);
// True if the copy's offsets and pitches follow from boxes.
bool IsBoxed(const Program& program, const Copy& copy);
// REQUIRES: it is boxed; both buffers hold what is copied.
BoxRuns RunsOfCopy(const Program& program, const Copy& copy, const TrainingStep& step);

// One instruction per line, buffers by tensor name when a step is given. For people and golden files.
std::string DumpProgram(const Program& program, const TrainingStep* step = nullptr);

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_PROGRAM_H_
