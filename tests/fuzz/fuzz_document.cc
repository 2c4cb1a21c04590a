// Any text is either refused with UserError or becomes a tree whose marks lie in the text.
#include <cstdlib>

#include "hw/text/document.h"
#include "tests/fuzz/fuzz.h"

namespace {

// Every map and list is at most as deep as the reader promises, and stands somewhere.
void Check(const spillway::Node& node, int depth) {
  if (depth > 64 || node.mark.line < 1 || node.mark.column < 1) std::abort();
  for (const spillway::Node& item : node.items) Check(item, depth + 1);
  for (const spillway::Node::Entry& entry : node.entries) {
    if (node.Find(entry.key) != &entry.value) std::abort();  // keys are unique
    Check(entry.value, depth + 1);
  }
}

}  // namespace

std::vector<std::string> spillway::fuzz::Seeds() {
  std::vector<std::string> seeds = Shortened(YamlFiles("hw"));
  seeds.emplace_back("a: [1, {b: 2}, 'c']\nd: |\n  text\n  more\ne: {f: ~, \"g\": 1 GiB}\nh:\n  - 1\n  - i: 2\n");
  return seeds;
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    spillway::Document document = spillway::ParseDocument(spillway::fuzz::Text(data, size), "fuzz.yaml");
    Check(document.root, 0);
  } catch (const spillway::UserError& error) {
    if (error.messages().empty()) std::abort();
  }
  return 0;
}
