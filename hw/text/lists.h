// What is asked of lists everywhere: whether something is in one, where, how its members are called, and which one a name
// means.
//
// Every answer takes a look at the whole list: for short ones, whose order means something.
#ifndef SPILLWAY_HW_TEXT_LISTS_H_
#define SPILLWAY_HW_TEXT_LISTS_H_

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hw/text/document.h"

namespace spillway {

// The index of the first that is equal to `value`; nullopt: there is none.
template <typename List, typename Value>
std::optional<std::size_t> IndexIn(const List& list, const Value& value) {
  const auto found = std::find(std::begin(list), std::end(list), value);
  if (found == std::end(list)) return std::nullopt;
  return static_cast<std::size_t>(found - std::begin(list));
}

template <typename List, typename Value>
bool Contains(const List& list, const Value& value) {
  return IndexIn(list, value).has_value();
}

// The index of `value`, which is put behind the others where it is new.
template <typename Value>
std::size_t AddOnce(std::vector<Value>& list, const Value& value) {
  const std::size_t index = IndexIn(list, value).value_or(list.size());
  if (index == list.size()) list.push_back(value);
  return index;
}

// The member `name` of each: what DidYouMean (document.h) chooses from.
template <typename List>
std::vector<std::string> NamesOf(const List& list) {
  std::vector<std::string> names;
  for (const auto& item : list) {
    if constexpr (requires { item->name; }) {
      names.emplace_back(item->name);
    } else {
      names.emplace_back(item.name);
    }
  }
  return names;
}

// The row whose member `name` is `name`; nullptr: there is none.
template <typename Row>
const Row* FindByName(const std::vector<Row>& table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const Row& row) { return row.name == name; });
  return found == table.end() ? nullptr : &*found;
}

// The same; throws UserError, `complaint`, the name and the nearest one, where there is none.
template <typename Row>
const Row& ByName(const std::vector<Row>& table, const std::string& name, const std::string& complaint) {
  if (const Row* const row = FindByName(table, name)) return *row;
  throw UserError(complaint + " '" + name + "'" + DidYouMean(name, NamesOf(table)));
}

}  // namespace spillway

#endif  // SPILLWAY_HW_TEXT_LISTS_H_
