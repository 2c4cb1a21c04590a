// Reads a value that may also be a list of such values: the swept axes of a scenario.
#ifndef SPILLWAY_SCENARIOS_FILE_LIST_READER_H_
#define SPILLWAY_SCENARIOS_FILE_LIST_READER_H_

#include <algorithm>
#include <concepts>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hw/text/document.h"

namespace spillway {

// The nodes of `key`: the items of a list, or the one value itself. Reports an empty list, and a value listed twice,
// which would only give every result twice. Empty when the key is absent.
inline std::vector<const Node*> ItemsOf(MapReader& reader, std::string_view key, bool required,
                                        Diagnostics& diagnostics) {
  const Node* node = required ? reader.Required(key) : reader.Optional(key);
  if (node == nullptr) return {};
  if (!node->IsSequence()) return {node};
  if (node->items.empty()) diagnostics.Error(node->mark, std::string(key) + ": the list is empty");
  std::vector<const Node*> items;
  std::set<std::string> seen;
  for (const Node& item : node->items) {
    if (item.IsScalar() && !seen.insert(item.scalar).second) {
      diagnostics.Error(item.mark, std::string(key) + ": '" + item.scalar + "' is listed twice");
      continue;
    }
    items.push_back(&item);
  }
  return items;
}

// Reads one item as if it were the value of `key` in the map of `reader`, so that messages name the key.
// `read` is called with a MapReader and the key.
template <typename Read>
auto ReadItem(const MapReader& reader, std::string_view key, const Node& item, Read read) {
  Node map;
  map.kind = Node::Kind::kMap;
  map.mark = item.mark;
  map.entries.push_back({std::string(key), item.mark, item});
  MapReader of_item = reader.ItemReader(map, key);
  return read(of_item, key);
}

// All values of an axis, in the order given; none when the key is absent and not required. `read` gets the reader of one
// item and the key, and reports to the reader's diagnostics; a value that it could not read is in the list all the same, so
// that whoever goes on asks the diagnostics first.
template <typename Read>
auto ReadAxis(MapReader& reader, std::string_view key, bool required, Diagnostics& diagnostics, Read read) {
  std::vector<decltype(read(reader, key))> values;
  for (const Node* item : ItemsOf(reader, key, required, diagnostics)) {
    auto value = ReadItem(reader, key, *item, read);
    // The same in other words: "8 GiB" and "8192 MiB". What could not be read is all the same.
    if constexpr (std::equality_comparable<decltype(value)>) {
      if (value != decltype(value){} && std::find(values.begin(), values.end(), value) != values.end()) {
        diagnostics.Error(item->mark, std::string(key) + ": '" + item->scalar + "' is listed twice, in other words");
      }
    }
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_FILE_LIST_READER_H_
