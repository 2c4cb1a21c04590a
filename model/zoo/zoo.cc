#include "model/zoo/zoo.h"

#include <optional>

#include "hw/text/lists.h"

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

Network BuildZooNetwork(const std::string& name, const ZooOptions& options) {
  CheckOptions(options);
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

}  // namespace spillway
