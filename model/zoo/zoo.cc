#include "model/zoo/zoo.h"

#include <algorithm>
#include <optional>

#include "hw/text/lists.h"
#include "model/network/layer_kind.h"

namespace spillway {

#define NETWORK(NAME, DESCRIPTION, SOURCE, BUILD) Network BUILD(const ZooOptions& options);
#define NETWORK_OF_DEPTH(NAME, DESCRIPTION, SOURCE, BUILD, DEPTH) Network BUILD(int depth, const ZooOptions& options);
#include "model/zoo/table.inc"
#undef NETWORK
#undef NETWORK_OF_DEPTH

namespace {

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

const std::vector<ZooEntry>& Zoo() {
#define NETWORK(NAME, DESCRIPTION, SOURCE, BUILD) {NAME, DESCRIPTION, SOURCE, BUILD},
#define NETWORK_OF_DEPTH(NAME, DESCRIPTION, SOURCE, BUILD, DEPTH) \
  {NAME, DESCRIPTION, SOURCE, [](const ZooOptions& options) { return BUILD(DEPTH, options); }},
  static const std::vector<ZooEntry> table = {
#include "model/zoo/table.inc"
  };
#undef NETWORK
#undef NETWORK_OF_DEPTH
  return table;
}

namespace {

Network Named(const std::string& name, const ZooOptions& options) {
  for (const ZooEntry& entry : Zoo()) {
    if (name == entry.name) return entry.build(options);
  }
  if (const auto depth = DepthIn(name, "resnet"); depth && *depth >= 26 && (*depth - 2) % 3 == 0) {
    return BuildResNet(*depth, options);
  }
  if (const auto depth = DepthIn(name, "vgg"); depth && *depth >= 16 && (*depth - 16) % 5 == 0) {
    return BuildVgg(*depth, options);
  }
  if (const auto stages = DepthIn(name, "nnunet-3d-"); stages && *stages >= 2 && *stages <= 8) {
    return BuildNnUNet3d(*stages, options);
  }
  if (const auto features = DepthIn(name, "swin-unetr-"); features && *features >= 12 && *features % 12 == 0) {
    return BuildSwinUnetr(*features, options);
  }
  throw UserError("unknown network '" + name + "'" + DidYouMean(name, NamesOf(Zoo())) +
                  " (also resnet<3n+2> from 26 on, vgg<16+5k>, nnunet-3d-<stages> and swin-unetr-<12k>; others are "
                  "files, `file: ...`, or recorded steps, `graph: ...`)");
}

bool Takes(const std::string& name, ZooOptions options, std::int64_t image) {
  options.image = image;
  try {
    Named(name, options);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

// Says which sizes of image are taken below and above the one that is not; "" where none is found.
std::string SizesBeside(const std::string& name, const ZooOptions& options) {
  for (std::int64_t step = 2; step <= 128 && step < options.image; step *= 2) {
    const std::int64_t below = options.image / step * step;
    if (!Takes(name, options, below) || !Takes(name, options, below + step)) continue;
    return "image " + std::to_string(options.image) + ": '" + name + "' takes sizes such as " + std::to_string(below) +
           " and " + std::to_string(below + step);
  }
  return "";
}

Network OfSizeAsked(const std::string& name, const ZooOptions& options) {
  try {
    return Named(name, options);
  } catch (const UserError&) {
    const std::string sizes = SizesBeside(name, options);
    if (sizes.empty()) throw;
    throw UserError(sizes);
  }
}

// An option that the network has no place for is a mistake.
void CheckMeant(const std::string& name, const ZooOptions& options, const Network& network) {
  if (options.frames != 0 && network.input.d != options.frames) throw UserError("frames: '" + name + "' has none");
  const auto has_classes = [&](const Layer& layer) {
    return layer.kind->loss && network.layers[static_cast<std::size_t>(layer.inputs[0])].shape.c == options.classes;
  };
  if (options.classes != 0 && std::none_of(network.layers.begin(), network.layers.end(), has_classes)) {
    throw UserError("classes: '" + name + "' has none to choose");
  }
}

}  // namespace

Network BuildZooNetwork(const std::string& name, const ZooOptions& options) {
  CheckOptions(options);
  Network network = OfSizeAsked(name, options);
  CheckMeant(name, options, network);
  return network;
}

}  // namespace spillway
