// The launches of one layer in a training step.
#ifndef SPILLWAY_TESTS_STEP_OF_LAYER_H_
#define SPILLWAY_TESTS_STEP_OF_LAYER_H_

#include <algorithm>
#include <string>
#include <vector>

#include "model/unroll/unroll.h"
#include "model/zoo/network_builder.h"

namespace spillway {

// Between a convolution without a bias, so that its input wants a gradient, and a loss: the launches of the layer `x`.
struct StepOfLayer {
  std::vector<Launch> forward, backward;
  Shape in, out;
  LayerAttributes attributes;
};
inline StepOfLayer Around(const Shape& image, const char* kind, const LayerAttributes& attributes,
                          std::size_t inputs = 1) {
  NetworkBuilder b("around", image);
  std::vector<LayerId> from;
  for (std::size_t k = 0; k < inputs; ++k) {
    LayerAttributes one;
    one.out_channels = image.c;
    from.push_back(b.Convolution("before" + std::to_string(k), kNetworkInput, one));
  }
  const Network network = b.Loss(b.Linear("fc", b.Add("x", kind, from, attributes), 3));
  const TrainingStep step = BuildTrainingStep(network, StepOptionsByName("plain"));
  StepOfLayer of;
  for (const Op& op : step.ops) {
    if (op.pass == Pass::kUpdate || step.layer_names[Index(op.layer)] != "x") continue;
    (op.pass == Pass::kForward ? of.forward : of.backward).push_back(LaunchOf(op));
  }
  const auto layer =
      std::find_if(network.layers.begin(), network.layers.end(), [](const Layer& one) { return one.name == "x"; });
  of.in = network.InputShape(*layer, 0);
  of.out = layer->shape;
  of.attributes = layer->attributes;
  return of;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_STEP_OF_LAYER_H_
