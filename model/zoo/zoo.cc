#include <optional>

#include "model/network/network.h"
#include "model/zoo/zoo_entries.h"

namespace spillway {
namespace {

template <int kDepth>
Network ResNet(const ZooOptions& options) {
  return BuildResNet(kDepth, options);
}

template <int kDepth>
Network Vgg(const ZooOptions& options) {
  return BuildVgg(kDepth, options);
}

// The number that ends `name` after `prefix`; nothing if the name is of another form or the number out of proportion.
std::optional<int> DepthIn(const std::string& name, const std::string& prefix) {
  if (name.compare(0, prefix.size(), prefix) != 0) return {};
  const std::optional<std::int64_t> depth = ParseInteger(std::string_view(name).substr(prefix.size()));
  if (!depth || *depth > 100000) return {};
  return static_cast<int>(*depth);
}

void CheckOptions(const ZooOptions& o) {
  std::vector<std::string> messages;
  const auto check = [&messages](const char* what, std::int64_t value, std::int64_t min, std::int64_t max) {
    if (value >= min && value <= max) return;
    messages.push_back(std::string(what) + " " + std::to_string(value) + " is not between " + std::to_string(min) +
                       " and " + std::to_string(max));
  };
  check("batch", o.batch, 1, 1000000);
  check("image", o.image, 0, 100000);
  check("width", o.width, 0, 100000);
  check("frames", o.frames, 0, 100000);
  check("classes", o.classes, 0, 10000000);
  if (!messages.empty()) throw UserError(std::move(messages));
}

}  // namespace

Shape ImageInput(const ZooOptions& options, std::int64_t usual_size) {
  const std::int64_t height = options.image != 0 ? options.image : usual_size;
  return {.n = options.batch, .c = 3, .h = height, .w = options.width != 0 ? options.width : height};
}

std::int64_t ClassesOr(const ZooOptions& options, std::int64_t usual) {
  return options.classes != 0 ? options.classes : usual;
}

const std::vector<ZooEntry>& Zoo() {
  static const std::vector<ZooEntry> table = {
      {"alexnet", "5 convolutions, one tower, 227x227", "Krizhevsky et al. 2012; Chainer examples/imagenet/alex.py",
       BuildAlexNet},
      {"overfeat", "5 convolutions, the fast model, 231x231", "Sermanet et al. 2014, arXiv 1312.6229, table 1",
       BuildOverFeat},
      {"vgg16", "13 convolutions, 224x224", "Simonyan and Zisserman 2015, arXiv 1409.1556, column D", Vgg<16>},
      {"vgg116", "VGG-16 with 20 more convolutions in each group", "Rhu et al. 2016 (vDNN), arXiv 1602.08124",
       Vgg<116>},
      {"vgg216", "VGG-16 with 40 more convolutions in each group", "Rhu et al. 2016 (vDNN), arXiv 1602.08124",
       Vgg<216>},
      {"vgg316", "VGG-16 with 60 more convolutions in each group", "Rhu et al. 2016 (vDNN), arXiv 1602.08124",
       Vgg<316>},
      {"vgg416", "VGG-16 with 80 more convolutions in each group", "Rhu et al. 2016 (vDNN), arXiv 1602.08124",
       Vgg<416>},
      {"googlenet", "9 inception modules, 224x224, no auxiliary classifiers", "Szegedy et al. 2015, arXiv 1409.4842",
       BuildGoogLeNet},
      {"googlenet-bn", "10 inception modules with batch norm, no auxiliary classifiers",
       "Ioffe and Szegedy 2015, arXiv 1502.03167; Chainer examples/imagenet/googlenetbn.py", BuildGoogLeNetBn},
      {"inception-v4", "17 modules, 299x299", "Szegedy et al. 2017, arXiv 1602.07261", BuildInceptionV4},
      {"resnet18", "8 basic blocks, 224x224", "He et al. 2016, arXiv 1512.03385, table 1", ResNet<18>},
      {"resnet34", "16 basic blocks, 224x224", "He et al. 2016, arXiv 1512.03385, table 1", ResNet<34>},
      {"resnet50", "16 bottleneck blocks, 224x224, stride in the first 1x1",
       "He et al. 2016, arXiv 1512.03385, table 1", ResNet<50>},
      {"resnet101", "33 bottleneck blocks, 224x224", "He et al. 2016, arXiv 1512.03385, table 1", ResNet<101>},
      {"resnet152", "50 bottleneck blocks, 224x224", "He et al. 2016, arXiv 1512.03385, table 1", ResNet<152>},
      {"densenet121", "58 dense layers, 224x224", "Huang et al. 2017, arXiv 1608.06993, table 1", BuildDenseNet121},
      {"resnext101-3d", "3-D, blocks 3-24-36-3, 224x224x128, as published with PoocH",
       "Ito et al. 2019 (PoocH), public model file; Hara et al. 2018, arXiv 1711.09577", BuildResNext101Pooch},
      {"resnext101-3d-usual", "3-D, blocks 3-4-23-3, 112x112x16", "Hara et al. 2018, arXiv 1711.09577",
       BuildResNext101},
      {"cifar-resnet20", "9 basic blocks, 32x32, projection shortcuts", "He et al. 2016, arXiv 1512.03385, section 4.2",
       BuildCifarResNet20},
      {"cifar-vgg", "6 convolutions, 32x32", "after Simonyan and Zisserman 2015, for small machines", BuildCifarVgg},
      {"cifar-alexnet", "2 convolutions with LRN and dropout, 32x32",
       "after Krizhevsky et al. 2012, for small machines", BuildCifarAlexNet},
  };
  return table;
}

Network BuildZooNetwork(const std::string& name, const ZooOptions& options) {
  CheckOptions(options);
  std::vector<std::string> names;
  for (const ZooEntry& entry : Zoo()) {
    if (name == entry.name) return entry.build(options);
    names.emplace_back(entry.name);
  }
  if (const auto depth = DepthIn(name, "resnet"); depth && *depth >= 26 && (*depth - 2) % 3 == 0) {
    return BuildResNet(*depth, options);
  }
  if (const auto depth = DepthIn(name, "vgg"); depth && *depth >= 16 && (*depth - 16) % 5 == 0) {
    return BuildVgg(*depth, options);
  }
  throw UserError("unknown network '" + name + "'" + DidYouMean(name, names) +
                  " (also resnet<3n+2> from 26 on and vgg<16+5k>)");
}

}  // namespace spillway
