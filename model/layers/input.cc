// A further input of the network beside the batch's images or tokens: conditions, embedded texts, noise levels. No op makes
// it, and nothing comes back to it.
#include <algorithm>
#include <cassert>
#include <string>
#include <vector>

#include "model/network/layer_kind.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

// Samples are those of the network's input (check_network.cc).
Shape Infer(const LayerAttributes& a, const std::vector<Shape>&, std::string&) {
  const auto given = [](std::int64_t size) { return std::max<std::int64_t>(size, 1); };
  return {.c = a.out_channels, .d = given(a.image[0]), .h = given(a.image[1]), .w = given(a.image[2])};
}

void Forward(StepWriter& b) { b.NewInput(); }
void Backward(StepWriter&) { assert(false); }

}  // namespace

const LayerKind kInputLayer{
    .name = "input",
    .description = "a further input of the network, of numbers",
    .min_inputs = 0,
    .max_inputs = 0,
    .keys = kOutKey | kInputImageKey,
    .required = kOutKey,
    .autocast = AutocastTo::kWide,
    .infer = Infer,
    .forward = Forward,
    .backward = Backward,
};

}  // namespace spillway
