#include "model/zoo/squeeze_blocks.h"

#include <algorithm>

namespace spillway {

std::int64_t RoundedChannels(double channels) {
  constexpr std::int64_t kMultiple = 8;
  const auto nearest = static_cast<std::int64_t>(channels + kMultiple / 2.0) / kMultiple * kMultiple;
  const std::int64_t rounded = std::max(kMultiple, nearest);
  return static_cast<double>(rounded) < 0.9 * channels ? rounded + kMultiple : rounded;
}

LayerAttributes Keeping(std::int64_t out_channels, std::int64_t window, std::int64_t stride, std::int64_t groups) {
  LayerAttributes attributes = Square(out_channels, window, stride, (window - 1) / 2);
  attributes.groups = groups;
  return attributes;
}

LayerId NormAct(NetworkBuilder& b, const std::string& name, LayerId from, const LayerAttributes& attributes,
                const char* activation) {
  const LayerId norm = b.BatchNorm(name + "_bn", b.Convolution(name, from, attributes));
  return activation == nullptr ? norm : b.Add(name + "_act", activation, {norm});
}

LayerId SqueezeAndExcite(NetworkBuilder& b, const std::string& name, LayerId from, const Squeeze& s) {
  LayerId x = b.GlobalAveragePool(name + "_squeeze", from);
  x = b.Convolution(name + "_fc1", x, WithBias(Square(s.squeezed, 1)));
  x = b.Add(name + "_act", s.activation, {x});
  x = b.Convolution(name + "_fc2", x, WithBias(Square(s.channels, 1)));
  return b.Add(name, "multiply", {from, b.Add(name + "_gate", s.gate, {x})});
}

}  // namespace spillway
