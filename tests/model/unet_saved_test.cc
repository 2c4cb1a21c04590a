// What U-Nets keep for their backward passes is what PyTorch saves, to 0.01 MB and to the tensor.
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "tests/saved_bytes.h"

namespace spillway {
namespace {

struct Saved {
  double megabytes = 0;
  std::size_t tensors = 0;
};

// `alone`: without what the losses save.
Saved SavedOf(const Network& network, const char* options, bool alone) {
  const TrainingStep step = BuildTrainingStep(network, StepOptionsByName(options));
  Saved saved;
  for (const TensorId t : SavedTensorsOf(step)) {
    const Tensor& tensor = step.tensors[static_cast<std::size_t>(t)];
    if (alone && tensor.name.starts_with("loss")) continue;
    saved.megabytes += static_cast<double>(tensor.bytes) / 1e6;
    ++saved.tensors;
  }
  return saved;
}

}  // namespace

// Hooks on saved tensors: PyTorch 1.13.1 and 2.15.0, fp32, batch 1.
TEST_CASE("U-Nets save what PyTorch saves") {
  const Saved flat = SavedOf(BuildZooNetwork("unet-2d", {}), "torch-1.13", false);
  CHECK(flat.megabytes == Approx(729.79).margin(0.01));
  CHECK(flat.tensors + 1 == 34);  // the loss's total weight, a number, is left out
  struct Row {
    const char* network;
    std::int64_t image;
    const char* options;
    double megabytes;
    std::size_t tensors;
  };
  for (const Row& row :
       {Row{"nnunet-3d", 64, "torch-1.13", 447.60, 116}, Row{"nnunet-3d", 96, "torch-1.13", 1510.54, 116},
        Row{"nnunet-3d", 128, "torch-2", 3580.47, 116}, Row{"nnunet-3d-5", 64, "torch-2", 447.05, 95},
        Row{"nnunet-3d-5", 96, "torch-2", 1508.73, 95}}) {
    INFO(row.network << ' ' << row.image << ' ' << row.options);
    const Saved saved = SavedOf(BuildZooNetwork(row.network, {.image = row.image, .classes = 6}), row.options, true);
    CHECK(saved.megabytes == Approx(row.megabytes).margin(0.01));
    CHECK(saved.tensors == row.tensors);
  }
}

}  // namespace spillway
