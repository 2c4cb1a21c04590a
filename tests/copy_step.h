// A training step that only copies, and a Program of it, by hand, that moves a tensor out of memory and back: what
// devices are tested with, as what comes out can be told.
#ifndef SPILLWAY_TESTS_COPY_STEP_H_
#define SPILLWAY_TESTS_COPY_STEP_H_

#include <cstring>
#include <utility>
#include <vector>

#include "model/network/network.h"
#include "model/zoo/network_builder.h"
#include "sim/execute/execute.h"
#include "tests/program_builder.h"

namespace spillway {

using Numbers = std::vector<float>;
inline constexpr Bytes kBytes = 100;  // of every tensor
inline constexpr std::size_t kElements = 25;

// All ops are copies of a tensor: what comes out is what went in.
//
//   f    in     -> y         g    y      -> z         u    z, p   -> p
struct CopyStep {
  enum : TensorId { in, y, z, p };
  enum : OpId { f, g, u };
  static TrainingStep Build() {
    StepBuilder s;
    s.Tensor("in", TensorClass::kInput, kBytes);
    s.Tensor("y", TensorClass::kFeatureMap, kBytes);
    s.Tensor("z", TensorClass::kTransient, kBytes);
    s.Tensor("p", TensorClass::kParameter, kBytes);
    s.Op("f", {in}, {y});
    s.Op("g", {y}, {z});
    s.Op("u", {z, p}, {p});
    TrainingStep step = s.Build();
    for (Op& op : step.ops) op.shape.in = op.shape.out = {.n = 1, .c = static_cast<std::int64_t>(kElements)};
    return step;
  }
  // In it only the attributes of a layer are looked up.
  static Network Net() {
    NetworkBuilder b("copies", {.n = 1, .c = static_cast<std::int64_t>(kElements)});
    return b.Loss(b.Linear("fc", kNetworkInput, 2));
  }
};

// y goes out and comes back elsewhere. Buffers: in, y, p at 0, 256, 512; y again at 768, z over in.
struct SwapProgram {
  BufferId host_in, host_y, in, y, p, again, z;
  std::uint32_t upload = 0, copy_out = 0, wait_out = 0, wait_in = 0;  // instructions
  Program program;
  explicit SwapProgram(bool sync = false) {
    ProgramBuilder b;
    host_in = b.Host(kBytes, CopyStep::in);
    host_y = b.Host(kBytes, CopyStep::y);
    in = b.DeviceAt(0, kBytes, CopyStep::in);
    y = b.DeviceAt(256, kBytes, CopyStep::y);
    p = b.DeviceAt(512, kBytes, CopyStep::p);
    again = b.DeviceAt(768, kBytes, CopyStep::y);
    z = b.DeviceAt(0, kBytes, CopyStep::z);
    const auto next = [&b] { return static_cast<std::uint32_t>(b.Build().code.size()); };
    b.Alloc(kIn, in);
    upload = next();
    b.Copy(kIn, host_in, in);
    b.Wait(kCompute, b.Record(kIn));
    b.Alloc(kCompute, y);
    b.Alloc(kCompute, p);
    b.Kernel({Rd(in), Wr(y)}, CopyStep::f);
    b.Free(kCompute, in);
    const EventId computed = b.Record(kCompute);
    wait_out = next();
    b.Wait(kOut, computed);
    copy_out = next();
    b.Copy(kOut, y, host_y);
    b.Free(kOut, y);
    const EventId out = b.Record(kOut);
    if (sync) b.Sync(out);
    b.Wait(kIn, out);
    b.Alloc(kIn, again);
    b.Copy(kIn, host_y, again);
    const EventId back = b.Record(kIn);
    wait_in = next();
    b.Wait(kCompute, back);
    b.Alloc(kCompute, z);
    b.Kernel({Rd(again), Wr(z)}, CopyStep::g);
    b.Kernel({Rd(z), Up(p)}, CopyStep::u);
    for (const BufferId buffer : {again, z, p}) b.Free(kCompute, buffer);
    program = b.Build();
    program.launches = {LaunchOf(CopyStep::Build().ops[0])};
  }
};

// The input of iteration k counts from 100 k; p starts as zeros.
class Counting : public StepValues {
 public:
  void Fill(int iteration, TensorId tensor, std::span<std::byte> bytes) override {
    Numbers numbers(bytes.size() / sizeof(float), 0);
    for (std::size_t i = 0; tensor == CopyStep::in && i < numbers.size(); ++i) {
      numbers[i] = static_cast<float>(100 * iteration) + static_cast<float>(i);
    }
    std::memcpy(bytes.data(), numbers.data(), numbers.size() * sizeof(float));
  }
  void Take(TensorId tensor, std::span<const std::byte> bytes) override {
    if (tensor != CopyStep::p) return;
    result.resize(bytes.size() / sizeof(float));
    std::memcpy(result.data(), bytes.data(), bytes.size());
  }
  Numbers result;
};
inline Numbers Input(int iteration) {
  Numbers numbers(kElements);
  for (std::size_t i = 0; i < kElements; ++i) numbers[i] = static_cast<float>(100 * iteration) + static_cast<float>(i);
  return numbers;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_COPY_STEP_H_
