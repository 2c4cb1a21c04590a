// RegNetY (Radosavovic et al. 2020, arXiv 2003.13678): widths of blocks from a line, rounded to powers of a factor; blocks
// that widen alike are a stage. A block is a bottleneck without narrowing, grouped, with squeeze and excitation.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "model/zoo/squeeze_blocks.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

// The paper's table 9 in torchvision's digits: blocks, first width, slope, factor, channels of a group.
struct Variant {
  const char* name;
  int depth;
  double first, slope, factor;
  std::int64_t group;
};
constexpr std::array<Variant, 8> kVariants{{{"400m", 16, 48, 27.89, 2.09, 8},
                                            {"800m", 14, 56, 38.84, 2.4, 16},
                                            {"1.6g", 27, 48, 20.71, 2.65, 24},
                                            {"3.2g", 21, 80, 42.63, 2.66, 24},
                                            {"8g", 17, 192, 76.82, 2.19, 56},
                                            {"16g", 18, 200, 106.23, 2.48, 112},
                                            {"32g", 20, 232, 115.89, 2.53, 232},
                                            {"128g", 27, 456, 160.83, 2.52, 264}}};

struct Stage {
  std::int64_t width = 0, groups = 1;
  int blocks = 0;
};

// A multiple of the group's channels next to the width, as RoundedChannels is one of 8.
std::int64_t WholeGroups(std::int64_t width, std::int64_t group) {
  const std::int64_t rounded = std::max(group, (width + group / 2) / group * group);
  return static_cast<double>(rounded) < 0.9 * static_cast<double>(width) ? rounded + group : rounded;
}

std::vector<Stage> StagesOf(const Variant& v) {
  std::vector<Stage> stages;
  std::int64_t before = 0;
  for (int k = 0; k < v.depth; ++k) {
    const double power = std::nearbyint(std::log((v.first + k * v.slope) / v.first) / std::log(v.factor));
    const auto width = 8 * static_cast<std::int64_t>(std::nearbyint(v.first * std::pow(v.factor, power) / 8));
    if (width != before) {
      const std::int64_t group = std::min(v.group, width), whole = WholeGroups(width, group);
      stages.push_back({.width = whole, .groups = whole / group});
    }
    before = width;
    ++stages.back().blocks;
  }
  return stages;
}

LayerId AddBlock(NetworkBuilder& b, const std::string& name, LayerId input, std::int64_t channels, const Stage& stage,
                 std::int64_t stride) {
  LayerId x = NormAct(b, name + "_a", input, Keeping(stage.width, 1), "relu");
  x = NormAct(b, name + "_b", x, Keeping(stage.width, 3, stride, stage.groups), "relu");
  x = SqueezeAndExcite(b, name + "_se", x, {stage.width, (channels + 2) / 4, "relu", "sigmoid"});
  x = NormAct(b, name + "_c", x, Keeping(stage.width, 1), nullptr);
  if (stride != 1 || channels != stage.width) {
    input = NormAct(b, name + "_proj", input, Keeping(stage.width, 1, stride), nullptr);
  }
  return b.Relu(name + "_relu", b.AddUp(name, {x, input}));
}

}  // namespace

Network BuildRegNetY(int number, const ZooOptions& options) {
  const Variant& variant = kVariants[static_cast<std::size_t>(number)];
  NetworkBuilder b(std::string("regnety-") + variant.name, ImageInput(options, 224));
  std::int64_t channels = 32;
  LayerId x = NormAct(b, "stem", kNetworkInput, Keeping(channels, 3, 2), "relu");
  const std::vector<Stage> stages = StagesOf(variant);
  for (std::size_t s = 0; s < stages.size(); ++s) {
    for (int k = 0; k < stages[s].blocks; ++k) {
      const std::string name = "stage" + std::to_string(s + 1) + "_" + std::to_string(k + 1);
      x = AddBlock(b, name, x, channels, stages[s], k == 0 ? 2 : 1);
      channels = stages[s].width;
    }
  }
  return b.Loss(b.Linear("fc", b.GlobalAveragePool("pool", x), ClassesOr(options, 1000)));
}

}  // namespace spillway
