// Ties the kernels of a session to memory, whatever the device: which address an op reads and writes what at, what it
// needs beside its operands, and what it does to what training holds.
#ifndef SPILLWAY_CALIBRATE_OPS_BIND_KERNEL_H_
#define SPILLWAY_CALIBRATE_OPS_BIND_KERNEL_H_

#include <functional>
#include <span>
#include <vector>

#include "calibrate/ops/op_call.h"
#include "model/network/network.h"
#include "sim/execute/device.h"

namespace spillway {

// Where the bytes are. Throws DeviceError (kContract) blaming the instruction if they are not all inside.
using AddressOf = std::function<void*(const Location&, std::uint32_t instruction)>;

// An operand whose places do not lie together: copied together before the kernel if it reads them, and back if it writes.
struct Gathered {
  BufferId buffer = kNoBuffer;
  Access access = Access::kRead;
  BoxRuns runs{};                              // a copy: a kernel may outlast who called it
  std::byte* there = nullptr;                  // the buffer
  std::byte* here = nullptr;                   // in the library's memory, which PlaceInLibrary says
  std::vector<std::size_t> reads{}, writes{};  // which of the kernel's these are
};

// Addresses of one kernel. Of a kernel without an op: the operands in their order.
struct KernelBinding {
  std::vector<void*> reads, writes;  // in the order of Op::reads, Op::writes
  void* workspace = nullptr;
  // What it needs of the library's memory, which kernels share as they run one at a time: scratch for itself, where its
  // workspace is nullptr, and, by write, room for results that have no buffer.
  Bytes scratch = 0;
  std::vector<Bytes> sinks;
  std::vector<Gathered> gathered;
};

// Throws DeviceError (kContract) where an operand is missing, too small or outside.
KernelBinding BindKernel(const Session& session, const KernelCall& call, const AddressOf& address);
// Gives the kernel the workspace that the Program has for it, if it is large enough, else the library's.
void BindWorkspace(const KernelCall& call, Bytes wanted, Bytes alignment, const AddressOf& address,
                   KernelBinding& binding);
// What to prepare: the Program's launch, of convolutions with the workspace that is really there. Throws UserError.
OpCall CallToPrepare(const KernelCall& call);

// The library's memory for all of them; `base` must be aligned as the pieces are to be.
Bytes LibraryBytes(std::span<const KernelBinding> bindings, Bytes alignment);
void PlaceInLibrary(std::byte* base, Bytes alignment, std::span<KernelBinding> bindings);

struct TrainingRole {
  LayerId layer = kNetworkInput;  // kernels without an op: their instruction
  bool labels = false;            // it is part of the loss
  bool loss = false;              // its first result is what the loss is computed from
  OpKind kind = OpKind::kCopy;    // with the rule: how the loss is computed (LossOf)
  LossRule rule{};
  bool statistics = false;  // it updates running statistics, or reads them
  double share = 1;         // of the batch that the loss is the mean over, what the op works on
  // Of the batch, what it begins with: of labels (by sample and position), and of the random numbers of what it writes.
  std::int64_t first_label = 0, first_element = 0;
};
TrainingRole RoleOf(const KernelCall& call);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_OPS_BIND_KERNEL_H_
