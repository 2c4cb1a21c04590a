// ResNeXt-101 for video through the CUDA plugin, over a fake of the C libraries: tensors of five dimensions, windows with
// depth, 32 groups, every op of the step by every algorithm.
#include "model/zoo/zoo.h"
#include "tests/cuda/cuda_kernel_compare.h"
#include "tests/cuda/cuda_plugin_fake.h"

namespace spillway {
namespace {

using cuda_fake::TheState;

}  // namespace

TEST_CASE("the plugin computes every op of ResNeXt-101 3D as the CPU device does") {
  const PluginOverFake fake;
  TheState().device_limit = std::size_t{4} << 30;  // 48 million parameters, three times
  const Network network = BuildZooNetwork("resnext101-3d-usual", {.batch = 2, .image = 20, .frames = 4, .classes = 10});
  StepCompare compare(*fake.calls, network, {}, 1e-4);
  compare.EachConvolutionOnce();  // of 33 blocks, eight differ
  compare.Run();
  CHECK(compare.compared() > 1000);
  int grouped = 0, deep = 0;
  for (const Op& op : compare.step().ops) {
    if (op.kind != OpKind::kConvolution) continue;
    grouped += op.shape.groups == 32 ? 1 : 0;
    deep += op.shape.window[0] > 1 ? 1 : 0;
  }
  CHECK(grouped == 33 * 3);
  CHECK(deep == 33 * 3 + 2);  // and conv1, whose input wants no gradient
}

}  // namespace spillway
