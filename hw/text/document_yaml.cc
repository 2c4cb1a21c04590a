// YAML text into a Document. The only file that knows yaml-cpp.
//
// yaml-cpp's own node tree accepts duplicate keys without a word, loses the difference between absent and null and
// shares aliased nodes, so the tree is built here from its parser events.
#include <fmt/format.h>
#include <yaml-cpp/anchor.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "hw/text/document.h"
#include "hw/text/text_file.h"

namespace spillway {
namespace {

constexpr std::size_t kLargestFile = 64 * static_cast<std::size_t>(kMiB);
constexpr std::size_t kDeepest = 64;
constexpr std::size_t kMostValues = 5'000'000;  // recordings of 50,000 calls have a hundred for each
// Aliases of aliases multiply; these bound what is copied.
constexpr std::size_t kMostCopied = 1'000'000;
constexpr std::size_t kMostText = 64 * static_cast<std::size_t>(kMiB);
constexpr int kMostTabMessages = 20;

Mark ToMark(const YAML::Mark& mark) { return mark.is_null() ? Mark{} : Mark{mark.line + 1, mark.column + 1}; }

// Ends parsing at a mistake after which nothing sensible follows.
struct Stop {
  Mark mark;
  std::string message;
};

struct Extent {
  std::size_t nodes = 0, text = 0, depth = 0;
};

Extent ExtentOf(const Node& node) {
  Extent all{1, node.scalar.size(), 1};
  const auto add = [&all](const Node& child) {
    const Extent extent = ExtentOf(child);
    all.nodes += extent.nodes;
    all.text += extent.text;
    all.depth = std::max(all.depth, extent.depth + 1);
  };
  for (const Node& item : node.items) add(item);
  for (const Node::Entry& entry : node.entries) {
    add(entry.value);
    all.text += entry.key.size();
  }
  return all;
}

// Receives the parser's events and keeps the path from the root to the container being filled.
class Builder : public YAML::EventHandler {
 public:
  Builder(Document& document, Diagnostics& diagnostics) : document_(document), diagnostics_(diagnostics) {}

  Node TakeRoot() { return std::move(root_); }
  Mark document_mark() const { return document_mark_; }

  void OnDocumentStart(const YAML::Mark& mark) override { document_mark_ = ToMark(mark); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node;
    node.mark = ToMark(mark);
    Add(std::move(node), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw Stop{ToMark(mark), "this alias stands inside the value it names"};
    Charge(found->second, ToMark(mark));
    Add(Node(found->second), 0);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    CheckTag(mark, tag);
    Node node;
    node.kind = Node::Kind::kScalar;
    node.mark = ToMark(mark);
    node.scalar = value;
    Add(std::move(node), anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    CheckTag(mark, tag);
    Open(Node::Kind::kSequence, mark, anchor);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    CheckTag(mark, tag);
    Open(Node::Kind::kMap, mark, anchor);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct Frame {
    Node node;
    YAML::anchor_t anchor = 0;
    bool has_key = false;  // a key was read and its value is next
    std::string key;
    Mark key_mark;
    std::map<std::string, int> first_line;  // of each key
  };

  void CheckTag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    diagnostics_.Error(ToMark(mark), fmt::format("the tag '{}' is not understood here; write the value alone", tag));
  }

  void Open(Node::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    CheckDepth(path_.size() + 1, ToMark(mark));
    Frame frame;
    frame.node.kind = kind;
    frame.node.mark = ToMark(mark);
    frame.anchor = anchor;
    path_.push_back(std::move(frame));
  }

  void Close() {
    Frame frame = std::move(path_.back());
    path_.pop_back();
    Add(std::move(frame.node), frame.anchor);
  }

  static void CheckDepth(std::size_t depth, Mark mark) {
    if (depth > kDeepest) throw Stop{mark, fmt::format("nested deeper than {} levels", kDeepest)};
  }

  // Of all values, those that are copied.
  void SpendCopied(std::size_t nodes, std::size_t text, Mark mark) {
    copied_ += nodes;
    text_ += text;
    if (copied_ > kMostCopied) throw Stop{mark, fmt::format("more than {} values", kMostCopied)};
    if (text_ > kMostText) throw Stop{mark, "more than 64 MiB of text"};
  }

  // Before a subtree is copied.
  void Charge(const Node& node, Mark mark) {
    const Extent extent = ExtentOf(node);
    CheckDepth(path_.size() + extent.depth - 1, mark);
    SpendCopied(extent.nodes, extent.text, mark);
  }

  // A completed value takes its place in the container that is open.
  void Add(Node node, YAML::anchor_t anchor) {
    if (++values_ > kMostValues) throw Stop{node.mark, fmt::format("more than {} values", kMostValues)};
    if (anchor != 0) {
      Charge(node, node.mark);
      anchors_[anchor] = node;
    }
    if (path_.empty()) {
      root_ = std::move(node);
    } else if (path_.back().node.kind == Node::Kind::kSequence) {
      path_.back().node.items.push_back(std::move(node));
    } else if (!path_.back().has_key) {
      SetKey(path_.back(), std::move(node));
    } else {
      AddEntry(path_.back(), std::move(node));
    }
  }

  void SetKey(Frame& frame, Node key) {
    frame.has_key = true;
    frame.key_mark = key.mark;
    frame.key = std::move(key.scalar);
    if (key.kind != Node::Kind::kScalar) {
      diagnostics_.Error(key.mark, "a key must be a plain name");
    } else if (frame.key == "<<") {
      diagnostics_.Error(key.mark, "merge keys ('<<') are not supported; write the entries out");
    }
  }

  void AddEntry(Frame& frame, Node value) {
    frame.has_key = false;
    const auto [first, is_new] = frame.first_line.emplace(frame.key, frame.key_mark.line);
    if (is_new) {
      frame.node.entries.push_back({std::move(frame.key), frame.key_mark, std::move(value)});
      return;
    }
    document_.mistakes.emplace_back(frame.key_mark,
                                    fmt::format("duplicate key '{}' (first at line {})", frame.key, first->second));
  }

  Document& document_;  // for its mistakes
  Diagnostics& diagnostics_;
  Node root_;
  Mark document_mark_;
  std::vector<Frame> path_;
  std::map<YAML::anchor_t, Node> anchors_;
  std::size_t values_ = 0;             // in the file
  std::size_t copied_ = 0, text_ = 0;  // of aliases
};

void CheckIndentation(std::string_view text, Diagnostics& diagnostics) {
  int line = 1;
  for (int messages = 0; !text.empty() && messages < kMostTabMessages; ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view content = text.substr(0, end);
    const std::size_t first = content.find_first_not_of(" \t\r");
    const std::size_t tab = content.find('\t');
    if (first != std::string_view::npos && tab < first) {
      diagnostics.Error({line, static_cast<int>(tab) + 1}, "tab used for indentation; YAML needs spaces");
      ++messages;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void CheckRoot(const Node& root, Diagnostics& diagnostics) {
  if (root.IsMap()) return;
  if (root.kind == Node::Kind::kNull) {
    diagnostics.Error({}, "the file is empty");
  } else {
    diagnostics.Error(root.mark, fmt::format("expected a map of 'key: value' entries, found {}",
                                             root.IsSequence() ? "a list" : "a single value"));
  }
}

// As in `memory: [8, 16] GB`, where a word follows and ends the line; not where a comma is missing or a bracket too many.
bool WordFollowsList(std::string_view text, Mark mark) {
  for (int line = 1; line < mark.line; ++line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  const std::size_t place = std::min(text.size(), static_cast<std::size_t>(std::max(mark.column, 1)) - 1);
  const std::string_view before = text.substr(0, place), after = text.substr(place);
  const std::size_t last = before.find_last_not_of(" ");
  return last != std::string_view::npos && before[last] == ']' && !after.empty() &&
         after.find_first_of(":]}") == std::string_view::npos;
}

void BuildTree(Document& document, Diagnostics& diagnostics) {
  Builder builder(document, diagnostics);
  try {
    std::istringstream stream(document.text);
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    document.root = builder.TakeRoot();
    if (diagnostics.empty()) CheckRoot(document.root, diagnostics);
    if (diagnostics.empty() && parser.HandleNextDocument(builder)) {
      diagnostics.Error(builder.document_mark(), "a second document begins here; one file holds one");
    }
  } catch (const Stop& stop) {
    diagnostics.Error(stop.mark, stop.message);
  } catch (const YAML::Exception& error) {
    const Mark mark = ToMark(error.mark);
    diagnostics.Error(mark, WordFollowsList(document.text, mark)
                                ? std::string("text behind a list in brackets: expected units in the items, as in "
                                              "[8 GB, 16 GB]")
                                : fmt::format("not valid YAML: {}", error.msg));
  }
}

}  // namespace

Document ParseDocument(std::string text, std::string file) {
  Document document{std::move(file), std::move(text), {}, {}};
  Diagnostics diagnostics(document);
  if (document.text.size() > kLargestFile) diagnostics.Error({}, "larger than 64 MiB");
  diagnostics.ThrowIfAny();
  IsText(document.text, "a YAML text", Returns::kAnywhere, diagnostics);
  diagnostics.ThrowIfAny();
  CheckIndentation(document.text, diagnostics);
  diagnostics.ThrowIfAny();
  BuildTree(document, diagnostics);
  if (diagnostics.empty()) return document;
  for (const auto& [mark, message] : document.mistakes) diagnostics.Error(mark, message);
  diagnostics.ThrowIfAny();
  return document;
}

Document LoadDocument(const std::string& path) {
  return ParseDocument(ReadTextFile(path, "a YAML file", kLargestFile), path);
}

}  // namespace spillway
