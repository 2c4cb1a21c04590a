// Layers drawn at random, each with the shape of its result, so that what comes next can be drawn to fit.
#ifndef SPILLWAY_TESTS_DRAWN_LAYERS_H_
#define SPILLWAY_TESTS_DRAWN_LAYERS_H_

#include <array>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/network/layer_kind.h"
#include "model/util/random.h"
#include "model/zoo/network_builder.h"

namespace spillway {

class DrawnLayers {
 public:
  struct Value {
    LayerId id = kNetworkInput;
    Shape shape{};
  };

 protected:
  DrawnLayers(std::uint64_t seed, const char* name) : random_(seed), b_(name, {}) {}

  template <typename T>
  const T& Any(const std::vector<T>& all) {
    return all[random_.Below(static_cast<std::uint32_t>(all.size()))];
  }
  bool Coin() { return random_.Below(2) == 0; }
  std::int64_t Channels() { return 4 * random_.Between(1, 2); }

  static bool Fits(const std::string& kind, const std::vector<Value>& from, const LayerAttributes& a, Shape* shape) {
    std::vector<Shape> inputs;
    for (const Value& value : from) inputs.push_back(value.shape);
    std::string problem;
    *shape = LayerKindByName(kind).infer(a, inputs, problem);
    return problem.empty();
  }
  Value Named(const std::string& name, const std::string& kind, const std::vector<Value>& from,
              const LayerAttributes& a = {}) {
    Shape shape;
    if (!Fits(kind, from, a, &shape)) throw std::logic_error(kind + " does not fit");
    std::vector<LayerId> inputs;
    for (const Value& value : from) inputs.push_back(value.id);
    return {b_.Add(name, LayerKindByName(kind).name, inputs, a), shape};
  }
  Value Add(const std::string& kind, const std::vector<Value>& from, const LayerAttributes& a = {}) {
    return Named(kind + std::to_string(++number_), kind, from, a);
  }
  Value Pointwise(const Value& x, std::int64_t features, bool bias = true) {
    LayerAttributes a;
    a.out_channels = features, a.bias = bias, a.pointwise = true;
    return Add("linear", {x}, a);
  }
  // Attributes drawn until they fit the shape and the result is small; else a pointwise layer.
  Value Windowed(const std::string& kind, const Value& x, const std::function<LayerAttributes()>& draw) {
    for (int tries = 0; tries < 50; ++tries) {
      const LayerAttributes a = draw();
      Shape shape;
      if (Fits(kind, {x}, a, &shape) && shape.Spatial() <= 150 && shape.Spatial() >= 1) return Add(kind, {x}, a);
    }
    LayerAttributes one;
    one.out_channels = x.shape.c;
    return Add(kind, {x}, one);
  }

  // Along axes that have more than one place; `flat` along the others.
  std::array<std::int64_t, 3> PerAxis(const Shape& s, int low, int high, std::int64_t flat) {
    std::array<std::int64_t, 3> sizes{flat, flat, flat};
    if (s.d > 1) sizes[0] = random_.Between(low, high);
    if (s.h > 1) sizes[1] = random_.Between(low, high);
    if (s.w > 1) sizes[2] = random_.Between(low, high);
    return sizes;
  }
  std::int64_t Groups(const Value& x) { return x.shape.c % 4 == 0 ? random_.Between(1, 2) : 1; }

  Value Convolved(const Value& x) {
    return Windowed("convolution", x, [&] {
      LayerAttributes a;
      a.out_channels = Channels(), a.bias = Coin(), a.groups = Groups(x);
      a.window = PerAxis(x.shape, 1, 3, 1), a.stride = PerAxis(x.shape, 1, 2, 1);
      a.pad = PerAxis(x.shape, 0, 2, 0);
      if (Coin()) a.dilation = PerAxis(x.shape, 1, 2, 1);
      if (Coin()) a.pad_after = PerAxis(x.shape, 0, 2, 0);
      return a;
    });
  }
  Value UpConvolved(const Value& x) {
    return Windowed("transposed_convolution", x, [&] {
      LayerAttributes a;
      a.out_channels = Channels(), a.bias = Coin(), a.groups = Groups(x);
      a.window = PerAxis(x.shape, 1, 3, 1), a.stride = PerAxis(x.shape, 1, 3, 1);
      a.pad = PerAxis(x.shape, 0, 1, 0), a.output_pad = PerAxis(x.shape, 0, 2, 0);
      return a;
    });
  }
  Value Pooled(const Value& x, const std::string& kind) {
    return Windowed(kind, x, [&] {
      LayerAttributes a;
      a.window = PerAxis(x.shape, 1, 3, 1), a.stride = PerAxis(x.shape, 1, 2, 1);
      a.pad = PerAxis(x.shape, 0, 1, 0), a.ceil_mode = Coin();
      return a;
    });
  }
  Value GlobalMean(const Value& x) {
    LayerAttributes a;
    a.global = true;
    return Add("average_pool", {x}, a);
  }

  Random random_;
  NetworkBuilder b_;
  int number_ = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_DRAWN_LAYERS_H_
