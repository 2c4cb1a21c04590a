// The keys of the maps in a kind of file, as one table each: what MapReader accepts, what it suggests for a misspelt key,
// and what `spillway help scenario|plan|network|machine` prints.
//
// A reader that has a table cannot stray from it: MapReader throws std::logic_error when it is asked for a key that is not
// listed, when it ends without having asked for one that is, when a key listed as required may be left out or another
// one may not, and when the values or the default that it is asked for are not those of the row. So a test that reads
// one file of a kind holds its page.
#ifndef SPILLWAY_HW_TEXT_KEYS_H_
#define SPILLWAY_HW_TEXT_KEYS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spillway {

struct KeyTable;

// KeyRow::otherwise of a required key. "required, unless ..." states when the key may be missing.
constexpr std::string_view kRequiredKey = "required";

struct KeyRow {
  std::string name;
  // The values allowed. For a typed getter of MapReader (except texts): one of the phrases below. If other values are
  // allowed too, a comma and the rest follow ("a size such as ..., or a list of them").
  std::string value;
  // The default without the key, as it would stand in the file ("0.1", "0 ns", "false") or in words; or kRequiredKey.
  std::string otherwise;
  std::string meaning;                  // one sentence, without a full stop
  std::vector<const KeyTable*> maps{};  // keys of the map that stands there, or of each map of the list
};

struct KeyTable {
  std::string title;  // "scenario", "figures of a device"
  std::vector<KeyRow> keys;
  const KeyTable* also = nullptr;                   // further keys of the same map
  std::string note{};                               // what holds of the map as a whole
  const KeyRow* Find(std::string_view name) const;  // nullptr when there is none
};

// The phrases for allowed values, in messages and in tables.
std::string WholeNumberFrom(std::int64_t min, std::int64_t max);
std::string NumberFrom(double min, double max);
std::string OneOf(const std::vector<std::string>& names);
extern const char* const kAnyText;
extern const char* const kTrueOrFalse;
extern const char* const kASize;
extern const char* const kADuration;
extern const char* const kABandwidth;
extern const char* const kAFlopRate;

// One page of the reference: the table, and after it those of the maps in it, each once, in the order in which they are
// met. Text for a terminal that is Markdown too, at most 100 columns wide.
std::string KeyPage(const KeyTable& table);
// The tables of that page, in its order.
std::vector<const KeyTable*> TablesOf(const KeyTable& table);

}  // namespace spillway

#endif  // SPILLWAY_HW_TEXT_KEYS_H_
