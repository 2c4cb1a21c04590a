// Training steps built by hand for tests: every op takes the nanoseconds and every tensor the bytes that the test says.
//
//   HandStep b;
//   const TensorId a = b.Tensor("a", TensorClass::kFeatureMap, 10);
//   b.Op("f1:forward", Pass::kForward, 5, {}, {a});
//   const TrainingStep step = b.Take();
//   const Machine machine = HandMachine();      // on it, f1:forward takes 5 ns and a copy of `a` 10 ns
#ifndef SPILLWAY_TESTS_STEP_BUILDER_H_
#define SPILLWAY_TESTS_STEP_BUILDER_H_

#include <string>
#include <utility>
#include <vector>

#include "model/profile/machine.h"
#include "model/step/training_step.h"

namespace spillway {

inline Tensor HandTensor(std::string name, TensorClass use, Bytes bytes) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.use = use;
  tensor.bytes = bytes;
  return tensor;
}

class HandStep {
 public:
  HandStep() {
    step_.network = "hand";
    step_.batch = 1;
  }
  TensorId Tensor(std::string name, TensorClass use, Bytes bytes) {
    step_.tensors.push_back(HandTensor(std::move(name), use, bytes));
    const auto id = static_cast<TensorId>(step_.tensors.size() - 1);
    if (use == TensorClass::kInput) step_.maps.insert(step_.maps.begin(), id);
    if (use == TensorClass::kFeatureMap) step_.maps.push_back(id);
    return id;
  }
  // A linear layer of `time` inputs and one output does 2 x `time` flops: `time` ns at 2 flops per ns.
  OpId Op(std::string name, Pass pass, Nanos time, std::vector<TensorId> reads, std::vector<TensorId> writes) {
    spillway::Op op;
    op.name = std::move(name);
    op.kind = OpKind::kLinear;
    op.pass = pass;
    op.layer = static_cast<LayerId>(step_.ops.size());
    op.shape.in.c = time;
    op.reads = std::move(reads);
    op.writes = std::move(writes);
    step_.layer_names.push_back(op.name);
    step_.ops.push_back(std::move(op));
    return static_cast<OpId>(step_.ops.size() - 1);
  }
  // Ops were added forward first, then backward, then update.
  TrainingStep Take() {
    const auto first = [this](bool (*wanted)(Pass)) {
      std::size_t op = 0;
      while (op < step_.ops.size() && !wanted(step_.ops[op].pass)) ++op;
      return static_cast<OpId>(op);
    };
    step_.first_backward = first([](Pass pass) { return pass != Pass::kForward; });
    step_.first_update = first([](Pass pass) { return pass == Pass::kUpdate; });
    step_.inference = step_.first_backward == static_cast<OpId>(step_.ops.size());
    return std::move(step_);
  }

 private:
  TrainingStep step_;
};

// A chain in which the backward op of a layer reads the layer's result, as ReLU does, and the first one's reads the
// input too, as a convolution does:
//
//   op     0    1    2    3    4    5           tensor  ops (L = 3)
//          f1   f2   f3   b3   b2   b1          data    0, 5            m2   1, 2, 4      g2  3, 4
//                                               m1      0, 1, 5         m3   2, 3         g1  4, 5
struct ChainSizes {
  int layers = 3;
  Bytes data = 10, map = 10, gradient = 2;  // data = 0: no input
  Nanos forward = 4, backward = 4;
};
inline TrainingStep MakeChain(const ChainSizes& sizes = {}) {
  HandStep b;
  const auto numbered = [](const char* letter, int i) { return letter + std::to_string(i); };
  std::vector<TensorId> first_reads;
  if (sizes.data > 0) first_reads.push_back(b.Tensor("data", TensorClass::kInput, sizes.data));
  std::vector<TensorId> m{kNoTensor}, g{kNoTensor};  // by layer
  for (int i = 1; i <= sizes.layers; ++i) m.push_back(b.Tensor(numbered("m", i), TensorClass::kFeatureMap, sizes.map));
  for (int i = 1; i < sizes.layers; ++i)
    g.push_back(b.Tensor(numbered("g", i), TensorClass::kGradient, sizes.gradient));
  for (int i = 1; i <= sizes.layers; ++i) {
    const auto at = static_cast<std::size_t>(i);
    b.Op(numbered("f", i) + ":forward", Pass::kForward, sizes.forward,
         i == 1 ? first_reads : std::vector<TensorId>{m[at - 1]}, {m[at]});
  }
  for (int i = sizes.layers; i >= 1; --i) {
    const auto at = static_cast<std::size_t>(i);
    std::vector<TensorId> reads = i == 1 ? first_reads : std::vector<TensorId>{};
    reads.push_back(m[at]);
    if (i < sizes.layers) reads.push_back(g[at]);
    b.Op(numbered("b", i) + ":backward", Pass::kBackward, sizes.backward, reads,
         i == 1 ? std::vector<TensorId>{} : std::vector<TensorId>{g[at - 1]});
  }
  return b.Take();
}

// 2 flops per ns, memory bandwidth without limit, copies at `nanos_per_byte` after `latency` in each direction.
inline Machine HandMachine(Nanos nanos_per_byte = 1, Nanos latency = 0) {
  Machine machine;
  machine.name = "hand";
  Device device;
  device.name = "gpu0";
  device.total_memory = kGB;
  device.peak_flops = 2;
  device.memory_bandwidth = 1e18;
  machine.devices.push_back(device);
  machine.hosts.push_back({.name = "host0", .memory = kGB, .pinned_limit = kGB, .source = {}});
  Link link;
  link.name = "link";
  for (TransferCurve& curve : link.curves) {
    curve.points = {{1, latency + nanos_per_byte}, {kMB, latency + nanos_per_byte * kMB}};
  }
  machine.links.push_back(link);
  return machine;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_STEP_BUILDER_H_
