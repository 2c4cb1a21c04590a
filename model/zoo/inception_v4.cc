// Inception-v4 (Szegedy et al. 2017, arXiv 1602.07261, figures 3 to 9). All convolutions are followed by batch norm
// and ReLU and have no bias.
#include "model/zoo/network_builder.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

// One convolution of a column; `valid` = no padding and, with `stride` 2, half the image.
struct Step {
  std::int64_t out, height, width;
  std::int64_t stride = 1;
  bool valid = false;
};

class InceptionBuilder {
 public:
  InceptionBuilder(std::string name, const Shape& input) : b_(std::move(name), input) {}

  // The steps are named <name>_1, <name>_2, ...
  LayerId Column(const std::string& name, LayerId x, const std::vector<Step>& steps) {
    int number = 0;
    for (const Step& s : steps) {
      LayerAttributes a{.out_channels = s.out, .window = {1, s.height, s.width}, .stride = {1, s.stride, s.stride}};
      if (!s.valid) a.pad = {0, s.height / 2, s.width / 2};
      x = b_.ConvolutionNormRelu(name + "_" + std::to_string(++number), x, a);
    }
    return x;
  }

  LayerId Stem() {
    LayerId x = Column("stem", kNetworkInput, {{32, 3, 3, 2, true}, {32, 3, 3, 1, true}, {64, 3, 3}});
    x = b_.Concat("mixed_3a",
                  {b_.MaxPool("mixed_3a_pool", x, Square(0, 3, 2)), Column("mixed_3a_a", x, {{96, 3, 3, 2, true}})});
    x = b_.Concat("mixed_4a", {Column("mixed_4a_a", x, {{64, 1, 1}, {96, 3, 3, 1, true}}),
                               Column("mixed_4a_b", x, {{64, 1, 1}, {64, 1, 7}, {64, 7, 1}, {96, 3, 3, 1, true}})});
    return b_.Concat(
        "mixed_5a", {Column("mixed_5a_a", x, {{192, 3, 3, 2, true}}), b_.MaxPool("mixed_5a_pool", x, Square(0, 3, 2))});
  }

  LayerId ModuleA(const std::string& n, LayerId x) {
    return b_.Concat(n, {Column(n + "_a", x, {{96, 1, 1}}), Column(n + "_b", x, {{64, 1, 1}, {96, 3, 3}}),
                         Column(n + "_c", x, {{64, 1, 1}, {96, 3, 3}, {96, 3, 3}}), Pooled(n, x, 96)});
  }

  LayerId ReductionA(const std::string& n, LayerId x) {
    return b_.Concat(n, {Column(n + "_a", x, {{384, 3, 3, 2, true}}),
                         Column(n + "_b", x, {{192, 1, 1}, {224, 3, 3}, {256, 3, 3, 2, true}}),
                         b_.MaxPool(n + "_pool", x, Square(0, 3, 2))});
  }

  LayerId ModuleB(const std::string& n, LayerId x) {
    return b_.Concat(
        n, {Column(n + "_a", x, {{384, 1, 1}}), Column(n + "_b", x, {{192, 1, 1}, {224, 1, 7}, {256, 7, 1}}),
            Column(n + "_c", x, {{192, 1, 1}, {192, 7, 1}, {224, 1, 7}, {224, 7, 1}, {256, 1, 7}}), Pooled(n, x, 128)});
  }

  LayerId ReductionB(const std::string& n, LayerId x) {
    return b_.Concat(n, {Column(n + "_a", x, {{192, 1, 1}, {192, 3, 3, 2, true}}),
                         Column(n + "_b", x, {{256, 1, 1}, {256, 1, 7}, {320, 7, 1}, {320, 3, 3, 2, true}}),
                         b_.MaxPool(n + "_pool", x, Square(0, 3, 2))});
  }

  LayerId ModuleC(const std::string& n, LayerId x) {
    const LayerId b = Column(n + "_b", x, {{384, 1, 1}});
    const LayerId c = Column(n + "_c", x, {{384, 1, 1}, {448, 3, 1}, {512, 1, 3}});
    return b_.Concat(n, {Column(n + "_a", x, {{256, 1, 1}}), Column(n + "_b1", b, {{256, 1, 3}}),
                         Column(n + "_b2", b, {{256, 3, 1}}), Column(n + "_c1", c, {{256, 1, 3}}),
                         Column(n + "_c2", c, {{256, 3, 1}}), Pooled(n, x, 256)});
  }

  Network Finish(LayerId x, std::int64_t classes) {
    return b_.Loss(b_.Linear("fc", b_.Dropout("drop", b_.GlobalAveragePool("pool", x), 0.2), classes));
  }

 private:
  LayerId Pooled(const std::string& n, LayerId x, std::int64_t out) {
    return Column(n + "_d", b_.AveragePool(n + "_pool", x, Square(0, 3, 1, 1)), {{out, 1, 1}});
  }

  NetworkBuilder b_;
};

}  // namespace

Network BuildInceptionV4(const ZooOptions& options) {
  InceptionBuilder b("inception-v4", ImageInput(options, 299));
  LayerId x = b.Stem();
  for (int i = 1; i <= 4; ++i) x = b.ModuleA("inception_a" + std::to_string(i), x);
  x = b.ReductionA("reduction_a", x);
  for (int i = 1; i <= 7; ++i) x = b.ModuleB("inception_b" + std::to_string(i), x);
  x = b.ReductionB("reduction_b", x);
  for (int i = 1; i <= 3; ++i) x = b.ModuleC("inception_c" + std::to_string(i), x);
  return b.Finish(x, ClassesOr(options, 1000));
}

}  // namespace spillway
