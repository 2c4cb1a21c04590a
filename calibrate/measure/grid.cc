#include <fmt/format.h>

#include "calibrate/measure/plan.h"
#include "model/network/network.h"
#include "model/unroll/unroll.h"
#include "model/zoo/network_builder.h"

namespace spillway {
namespace {

enum class Middle : std::uint8_t { kPlain, kNorm, kLrn, kResidual, kConcat };
enum class Pool : std::uint8_t { kNone, kMax2, kMax3, kAverage };

// One chain: image x image pictures of three channels, a first convolution to `in` channels, one of the shape that is
// wanted to `out`, what comes behind it, and a classifier.
struct Chain {
  std::int64_t batch, image, in, out, window, stride, pad;
  Middle middle;
  Pool pool;
  std::int64_t hidden;  // features of a linear layer before the last; 0 = none
};

// Sizes that no network of the zoo has at its usual batch, so that a network left out of a calibration stays unseen.
// None takes more than 2.5 billion operations.
constexpr Chain kChains[] = {
    // Weights of 33 MB: its update tells the memory bandwidth.
    {8, 16, 16, 32, 3, 1, 1, Middle::kPlain, Pool::kMax2, 4096},
    {24, 28, 24, 48, 3, 1, 1, Middle::kNorm, Pool::kMax2, 320},
    {20, 28, 40, 72, 5, 1, 2, Middle::kLrn, Pool::kMax3, 448},
    {24, 24, 64, 96, 1, 1, 0, Middle::kResidual, Pool::kAverage, 0},
    {72, 14, 80, 112, 3, 1, 1, Middle::kPlain, Pool::kMax3, 208},
    {12, 56, 32, 56, 3, 2, 1, Middle::kNorm, Pool::kMax2, 0},
    {40, 48, 3, 40, 11, 4, 2, Middle::kLrn, Pool::kMax3, 768},
    {20, 18, 48, 80, 5, 1, 2, Middle::kConcat, Pool::kMax2, 0},
    {14, 40, 48, 80, 3, 1, 1, Middle::kResidual, Pool::kNone, 144},
    {40, 8, 192, 224, 3, 1, 1, Middle::kNorm, Pool::kAverage, 512},
    {20, 20, 16, 144, 1, 1, 0, Middle::kConcat, Pool::kMax3, 0},
    {8, 64, 20, 40, 7, 2, 3, Middle::kNorm, Pool::kMax3, 0},
    {72, 12, 56, 88, 3, 2, 1, Middle::kLrn, Pool::kNone, 1280},
    {48, 24, 24, 64, 5, 1, 2, Middle::kPlain, Pool::kMax2, 640},
    {28, 28, 160, 80, 1, 2, 0, Middle::kNorm, Pool::kNone, 0},
    {16, 64, 32, 60, 3, 1, 1, Middle::kResidual, Pool::kMax2, 0},
    {10, 80, 12, 24, 3, 1, 1, Middle::kPlain, Pool::kMax2, 96},
    {18, 10, 288, 240, 3, 1, 1, Middle::kResidual, Pool::kNone, 0},
    {36, 18, 32, 320, 1, 1, 0, Middle::kLrn, Pool::kAverage, 176},
    {56, 20, 8, 16, 3, 1, 1, Middle::kConcat, Pool::kMax3, 0},
    {14, 32, 112, 120, 5, 2, 2, Middle::kNorm, Pool::kAverage, 2048},
    {24, 6, 384, 352, 3, 1, 1, Middle::kPlain, Pool::kMax2, 832},
};

LayerId AddMiddle(NetworkBuilder& b, const Chain& chain, LayerId x) {
  switch (chain.middle) {
    case Middle::kNorm:
      return b.Relu("relu", b.BatchNorm("norm", x));
    case Middle::kLrn:
      return b.Lrn("lrn", b.Relu("relu", x));
    case Middle::kResidual: {
      const LayerId branch = b.ConvolutionNormRelu("branch", x, Square(chain.out, 1), false);
      return b.Relu("relu", b.AddUp("sum", {x, branch}));
    }
    case Middle::kConcat: {
      const LayerId branch = b.ConvolutionRelu("branch", x, Square(chain.in, 1));
      return b.Concat("joined", {x, branch});
    }
    case Middle::kPlain:
      break;
  }
  return b.Relu("relu", x);
}

LayerId AddPool(NetworkBuilder& b, const Chain& chain, LayerId x) {
  switch (chain.pool) {
    case Pool::kMax2:
      return b.MaxPool("pool", x, Square(0, 2, 2));
    case Pool::kMax3:
      return b.MaxPool("pool", x, WithCeil(Square(0, 3, 2)));
    case Pool::kAverage:
      return b.GlobalAveragePool("pool", x);
    case Pool::kNone:
      break;
  }
  return x;
}

Network BuildChain(const Chain& chain) {
  NetworkBuilder b("grid", {.n = chain.batch, .c = 3, .h = chain.image, .w = chain.image});
  // The convolution behind it wants a gradient for its input: a first layer would have none.
  LayerId x = kNetworkInput;
  if (chain.in != 3) x = b.ConvolutionRelu("first", x, Square(chain.in, 3, 1, 1));
  LayerAttributes attributes = Square(chain.out, chain.window, chain.stride, chain.pad);
  if (chain.middle != Middle::kNorm) attributes = WithBias(attributes);
  x = b.Convolution("wanted", x, attributes);
  x = AddPool(b, chain, AddMiddle(b, chain, x));
  if (chain.hidden > 0) {
    x = b.Dropout("drop", b.Relu("hidden_relu", b.Linear("hidden", x, chain.hidden)), 0.5);
  }
  return b.Loss(b.Linear("classes", x, 20 + chain.batch));
}

}  // namespace

std::vector<std::shared_ptr<const BenchNetwork>> BenchGrid() {
  const std::vector<std::shared_ptr<const BenchNetwork>> today = BenchGridToday();
  std::vector<std::shared_ptr<const BenchNetwork>> grid;
  std::size_t next = 0;
  for (const Chain& chain : kChains) {
    grid.push_back(MakeBenchNetwork("grid", BuildChain(chain), StepOptions{}));
    if (next < today.size()) grid.push_back(today[next++]);
  }
  grid.insert(grid.end(), today.begin() + static_cast<std::ptrdiff_t>(next), today.end());
  return grid;
}

}  // namespace spillway
