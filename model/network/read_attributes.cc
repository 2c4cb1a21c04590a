// Attributes of a layer in YAML, and those that exclude or need each other.
#include <fmt/format.h>

#include <array>
#include <optional>

#include "model/network/network_keys.h"

namespace spillway {
namespace {

class Reader {
 public:
  Reader(MapReader& map, Diagnostics& diagnostics, bool has_depth)
      : map_(&map), diagnostics_(&diagnostics), has_depth_(has_depth) {}

  void Read(const LayerKind& kind, LayerAttributes& attributes) {
    for (const AttributeReader& row : Scalars()) {
      if ((kind.keys & row.bit) != 0) row.read(*map_, row.key.name, (kind.required & row.bit) != 0, attributes);
    }
    for (const ExtentReader& row : kExtents) {
      if ((kind.keys & row.bit) == 0) continue;
      const bool required = (kind.required & row.bit) != 0;
      const Node* node = required ? map_->Required(row.key) : map_->Optional(row.key);
      if (node != nullptr) ReadExtents(*node, row, attributes.*row.field);
    }
    if ((kind.keys & kGlobalKey) != 0) CheckGlobal(attributes.global);
    if ((kind.keys & kWindowShiftKey) != 0) CheckWindows(attributes.fused);
  }

 private:
  bool Given(const char* key) { return map_->Optional(key) != nullptr; }
  void Error(const char* key, const std::string& message) { diagnostics_->Error(map_->MarkOf(key), message); }

  void CheckGlobal(bool global) {
    for (const char* key : {"window", "stride"}) {
      if (!global && !Given(key)) {
        diagnostics_->Error(map_->mark(), fmt::format("missing key '{}' (or 'global: true')", key));
      }
    }
    for (const char* key : {"window", "stride", "pad", "pad_after", "ceil"}) {
      if (global && Given(key)) Error(key, fmt::format("global pooling takes no '{}'", key));
    }
  }

  void CheckWindows(bool fused) {
    if (Given("image") && !Given("shift")) {
      Error("image", "'image' without 'shift': expected both, or neither where no image was moved");
    }
    if (fused && Given("fused") && Given("window")) {
      Error("fused", "'fused: true' besides 'window': attention within windows is written out");
    }
  }

  // A number stands for height and width, and for depth where the input has one; a list is [height, width] or
  // [depth, height, width].
  void ReadExtents(const Node& node, const ExtentReader& row, std::array<std::int64_t, 3>& extents) {
    if (node.IsScalar()) {
      const std::int64_t value = ReadExtent(node, row);
      extents = {has_depth_ ? value : extents[0], value, value};
    } else if (node.IsSequence() && (node.items.size() == 2 || node.items.size() == 3)) {
      const std::size_t skip = 3 - node.items.size();
      for (std::size_t i = skip; i < 3; ++i) extents[i] = ReadExtent(node.items[i - skip], row);
    } else {
      diagnostics_->Error(node.mark,
                          fmt::format("{}: expected a number, [height, width] or [depth, height, width]", row.key));
    }
  }

  std::int64_t ReadExtent(const Node& node, const ExtentReader& row) {
    const std::optional<std::int64_t> value = node.IsScalar() ? ParseInteger(node.scalar) : std::nullopt;
    if (value && *value >= row.min && *value <= kMaxExtent) return *value;
    diagnostics_->Error(node.mark, fmt::format("{}: expected a whole number between {} and {}, found '{}'", row.key,
                                               row.min, kMaxExtent, node.scalar));
    return row.min;
  }

  MapReader* map_;
  Diagnostics* diagnostics_;
  bool has_depth_;
};

}  // namespace

void ReadAttributes(MapReader& reader, Diagnostics& diagnostics, const LayerKind& kind, bool has_depth,
                    LayerAttributes& attributes) {
  Reader(reader, diagnostics, has_depth).Read(kind, attributes);
}

}  // namespace spillway
