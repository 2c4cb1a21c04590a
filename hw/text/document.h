// A structured text file (YAML) as a tree of our own that remembers where everything stood.
//
// All input files of Spillway go through here, so every complaint about one has the form
//   file:line:column: error: what was found, what was expected; did you mean '...'?
// and all complaints about a file are reported together. yaml-cpp is used in document_yaml.cc and nowhere else.
#ifndef SPILLWAY_HW_TEXT_DOCUMENT_H_
#define SPILLWAY_HW_TEXT_DOCUMENT_H_

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hw/text/units.h"

namespace spillway {

struct Mark {  // 1-based; 0 = the file as a whole
  int line = 0;
  int column = 0;
};

// A user's mistake in an input file or on the command line: one message per mistake, in file order.
// what() is all of them, one per line.
class UserError : public std::runtime_error {
 public:
  explicit UserError(std::vector<std::string> messages);
  explicit UserError(const std::string& message);
  const std::vector<std::string>& messages() const { return messages_; }

 private:
  std::vector<std::string> messages_;
};

// One value of the file. A scalar keeps its text; nothing is converted until a reader asks.
struct Node {
  enum class Kind { kNull, kScalar, kSequence, kMap };
  struct Entry;
  Kind kind = Kind::kNull;
  Mark mark;
  std::string scalar;          // kScalar
  std::vector<Node> items;     // kSequence
  std::vector<Entry> entries;  // kMap, in file order, keys unique

  bool IsScalar() const { return kind == Kind::kScalar; }
  bool IsSequence() const { return kind == Kind::kSequence; }
  bool IsMap() const { return kind == Kind::kMap; }
  const Node* Find(std::string_view key) const;  // kMap: the value, or nullptr
};
struct Node::Entry {
  std::string key;
  Mark mark;  // of the key
  Node value;
};

struct Document {
  std::string file;  // as it shall appear in messages
  std::string text;  // the file's text, for excerpts in messages
  Node root;         // a map
  // Mistakes that do not end reading (duplicate keys): every Diagnostics about the document starts with them.
  std::vector<std::pair<Mark, std::string>> mistakes;
};

// Reads and parses. Throws UserError for: cannot read, a directory, larger than 64 MiB, empty, root not a map,
// not text (bad UTF-8, control characters), YAML syntax, tabs in indentation, nesting deeper than 64, and what these
// files do without: tags, merge keys, several documents in one file, keys that are not plain names, anchors and aliases
// that multiply to more than a million values or 64 MiB; more than five million values in all.
// Of a key that comes twice the first value is kept and a mistake (both lines named) goes into the Document, for the
// reader to report with those it finds itself: a reader has a Diagnostics and ends with ThrowIfAny.
// An alias is a copy of the value it names, marks included.
Document LoadDocument(const std::string& path);
Document ParseDocument(std::string text, std::string file);

// Collects messages about one document. A message reads
//   file:line:column: error: message
//       7 |   memory_limits: 8 GB
//         |   ^
// with columns counted in bytes and the excerpt cut to 120 columns.
class Diagnostics {
 public:
  explicit Diagnostics(const Document& document);
  void Error(Mark mark, std::string_view message);
  bool empty() const { return messages_.empty(); }
  // UserError with everything said so far, sorted by line and column; after a hundred messages the rest is counted.
  void ThrowIfAny() const;
  const std::string& file() const { return document_->file; }

 private:
  const Document* document_;
  std::vector<std::pair<Mark, std::string>> messages_;
};

struct UnitFamily;  // hw/text/units.h
struct KeyRow;      // hw/text/keys.h
struct KeyTable;

// Reads the entries of one map. Each getter marks its key as known; Finish() reports the keys nobody asked for,
// with the nearest known name. Getters report a missing required key or a bad value once and then return the
// default, so that reading goes on and finds the other mistakes.
//
//   MapReader r(node, diagnostics, "scenario", ScenarioKeys());
//   std::string name = r.RequiredString("name");
//   Bytes limit = r.BytesOr("memory", 0);
//   r.Finish();
//
// With a table of keys (hw/text/keys.h; it must outlive the reader), known are those that it lists, and a getter or Finish()
// that does not do as its rows say throws std::logic_error: the reference printed from the table holds.
class MapReader {
 public:
  // `what` names the map in messages ("scenario", "device 'gpu0'"). A node that is not a map is reported here and
  // then read as an empty one (without further complaints about missing keys).
  MapReader(const Node& node, Diagnostics& diagnostics, std::string what, const KeyTable& keys);
  // A map whose keys are not ours to list, such as parameters.
  MapReader(const Node& node, Diagnostics& diagnostics, std::string what);
  // For one item of a list under `key`, as if it alone stood there: the same table. `map` holds just that; no Finish().
  MapReader ItemReader(const Node& map, std::string_view key) const;

  const Node* Optional(std::string_view key);  // nullptr when absent or null
  const Node* Required(std::string_view key);  // reports and returns nullptr when absent or null

  std::string RequiredString(std::string_view key);
  std::string StringOr(std::string_view key, std::string fallback);
  std::int64_t RequiredInteger(std::string_view key, std::int64_t min, std::int64_t max);
  std::int64_t IntegerOr(std::string_view key, std::int64_t fallback, std::int64_t min, std::int64_t max);
  double RequiredNumber(std::string_view key, double min, double max);
  double NumberOr(std::string_view key, double fallback, double min, double max);
  bool BoolOr(std::string_view key, bool fallback);  // true or false
  Bytes RequiredBytes(std::string_view key);
  Bytes BytesOr(std::string_view key, Bytes fallback);
  Nanos RequiredDuration(std::string_view key);
  Nanos DurationOr(std::string_view key, Nanos fallback);
  double RequiredBandwidth(std::string_view key);  // bytes per nanosecond
  double RequiredFlopRate(std::string_view key);   // operations per nanosecond
  double FlopRateOr(std::string_view key, double fallback);
  // A list of texts; {} when absent. `Required` and `Optional` serve lists of anything else.
  std::vector<std::string> StringsOrNone(std::string_view key);
  // Index of the value in `names`; a value not among them is reported with the nearest one.
  int ChoiceOr(std::string_view key, const std::vector<std::string>& names, int fallback);

  // A further condition on a value that was read: reports "key: problem" when it does not hold. Says nothing when the
  // key is absent or its value has been reported already.
  void Check(bool holds, std::string_view key, std::string_view problem);

  void Finish();
  Mark mark() const { return node_->mark; }
  Mark MarkOf(std::string_view key) const;  // of the value, for further checks on it; without the key, of the map

 private:
  const Node* Scalar(std::string_view key, bool required);
  template <typename T>
  T Quantity(std::string_view key, bool required, T fallback, std::optional<T> (*parse)(std::string_view),
             const UnitFamily& family);
  std::int64_t Integer(std::string_view key, bool required, std::int64_t fallback, std::int64_t min, std::int64_t max);
  double Number(std::string_view key, bool required, double fallback, double min, double max);
  void Report(Mark mark, std::string_view key, const std::string& message);
  void Bad(std::string_view key, const Node& value, const std::string& expected);
  void Ask(std::string_view key);
  void MustBe(std::string_view key, const std::string& value) const;  // what the key's row says of values
  // `given`: the row's words for what holds without the key as a value, if they are one.
  template <typename T>
  void MustDefaultTo(std::string_view key, const T& fallback, const std::optional<T>& given) const;
  [[noreturn]] void NotAsListed(std::string_view key, const std::string& problem) const;
  const KeyRow* Row(std::string_view key) const;
  const Node* node_;
  Diagnostics* diagnostics_;
  std::string what_;
  const KeyTable* keys_ = nullptr;
  bool is_map_;
  bool item_ = false;  // see ItemReader
  std::vector<std::string> known_;
  std::vector<std::string> demanded_;  // those that Required() was asked for
  std::vector<std::string> reported_;
};

// The candidate with the smallest edit distance (a swap of neighbours is one edit, a difference in case a quarter of
// one), when that is at most a third of the longer name; else the shortest candidate that begins with the name,
// whatever the case, when that has three letters or more; else "".
std::string NearestName(std::string_view name, const std::vector<std::string>& candidates);
// "; did you mean 'x'?" or "".
std::string DidYouMean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace spillway

#endif  // SPILLWAY_HW_TEXT_DOCUMENT_H_
