#include "hw/text/lists.h"
#include "model/unroll/unroll.h"

namespace spillway {

namespace {

// Named after the version that saves so.
StepOptions Saving(const SavedTensors& saved, StepOptions options, const char* description) {
  options.name = saved.name;
  options.description = description;
  options.saved = &saved;
  return options;
}

}  // namespace

// Chainer 3: F.relu has a result of its own, gradients at forks are summed out of place, a function's gradients are
// computed input first. PyTorch: torchvision's models ask for in-place ReLU and add residuals with +=; autograd sums
// into a new tensor (it does so in place only where no one else holds the tensor, which is left out here).
//
// Framework times: calls of PyTorch 2.1 one after another take 31 us at least on the V100's host, where kernels are
// shorter (element-wise; 25 us on the A100's, 40 on the P100's, convolutions twice as long: the least times of
// NeuSight, sitar-lab/NeuSight, and call_floors of our profiles), of which the launch is 5. Its backward pass is C++
// and quicker, its modules around the calls are Python and slower; neither is told. No figure of Chainer's was found:
// an interpreter in both passes, taken as PyTorch's. None of MXNet's or TensorFlow's engines was found either; both are
// taken as PyTorch's, too.
//
// Waits. Before 2021 MXNet's engine waits for the stream after every op that is not part of a bulk, to mark its results
// as readable (apache/mxnet: src/imperative/imperative_utils.h, PushFCompute; issue #18951, pull request #20331). Bulks
// of up to 15 ops, usual in training since 2017, wait once; they are left out here. TensorFlow 1 has the same wait as an
// option for debugging (common_runtime/gpu/gpu_device.cc, sync_every_op), off by default: its row is an assumption
// (hw/accuracy/README.md says what speaks for it, and what against).
//
// Workspace: MXNet's convolution has 1024 MB by default (src/operator/nn/convolution-inl.h), TensorFlow 4 GB
// (TF_CUDNN_WORKSPACE_LIMIT_IN_MB).
const std::vector<StepOptions>& StepOptionTable() {
  static const StepOptions torch{
      .name = "torch",
      .description = "ReLU, dropout and add in place where possible, gradients of forks added by kernels of their own",
      .inplace_relu = true,
      .inplace_add = true,
      .separate_accumulation = true,
      .data_first = true,
      // PyTorch's autotuner takes what the fastest algorithm wants as long as memory lasts; a bound is assumed.
      .workspace_limit = kGiB,
      .divides_large_calls = true,
      .framework_time = 26 * kMicrosecond};
  static const std::vector<StepOptions> table = {
      {},
      {.name = "chainer",
       .description = "results of their own, gradients of forks added by kernels of their own, data gradient first",
       .separate_accumulation = true,
       .data_first = true,
       .framework_time = 26 * kMicrosecond,
       .assumed_of_host = "the host's time is PyTorch's"},
      torch,
      Saving(kSavedByTorch113, torch, "as torch, and backward saves what PyTorch 1.13 saves on a processor"),
      Saving(kSavedByTorch2, torch, "as torch, and backward saves what PyTorch 2 saves"),
      {.name = "mxnet",
       .description = "ReLU, dropout and add in place where possible; a call waits for the one before; 1 GiB workspace",
       .inplace_relu = true,
       .inplace_add = true,
       .separate_accumulation = true,
       .data_first = true,
       .workspace_limit = kGiB,
       .waits_for_calls = true,
       .framework_time = 26 * kMicrosecond,
       .assumed_of_host = "the host's time is PyTorch's, and bulks of ops are left out"},
      {.name = "tensorflow1",
       .description = "ReLU in place where possible; a call waits for the one before (assumed); 4 GiB workspace",
       .inplace_relu = true,
       .separate_accumulation = true,
       .workspace_limit = 4 * kGiB,
       .waits_for_calls = true,
       .framework_time = 26 * kMicrosecond,
       .assumed_of_host = "that calls wait, and the host's time is PyTorch's"},
      // Its activations are in place in both directions, and its breakdown of memory has weights, their gradients, maps,
      // gradient maps and workspace, but no momentum. Its own runtime is C++; what it takes for an op is not told.
      {.name = "vdnn",
       .description = "as vDNN ran: ReLU, dropout and the gradients through them in place, no momentum",
       .inplace_relu = true,
       .inplace_add = true,
       .inplace_gradient = true,
       .separate_accumulation = true,
       .data_first = true,
       .optimizer = &kSgd,
       .workspace_limit = kGiB},
      {.name = "inference",
       .description =
           "forward only, results of their own: nothing is saved, batch norm by given statistics, no dropout",
       // PyTorch's, as of training.
       .workspace_limit = kGiB,
       .inference = true,
       .divides_large_calls = true},
  };
  return table;
}

const StepOptions& StepOptionsByName(const std::string& name) {
  return ByName(StepOptionTable(), name, "unknown step options");
}

}  // namespace spillway
