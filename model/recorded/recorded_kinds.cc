#include "model/recorded/recorded_kinds.h"

namespace spillway {

std::vector<Document> RecordedKinds(const Document& document) {
  std::vector<Document> kinds{document};
  const Node* more = document.root.Find("more");
  if (more == nullptr) return kinds;
  Diagnostics diagnostics(document);
  if (!more->IsSequence()) diagnostics.Error(more->mark, "more: expected a list of recorded steps");
  for (const Node& kind : more->items) {
    if (!kind.IsMap()) diagnostics.Error(kind.mark, "more: expected a recorded step");
    kinds.push_back({.file = document.file, .text = document.text, .root = kind, .mistakes = {}});
  }
  diagnostics.ThrowIfAny();
  return kinds;
}

}  // namespace spillway
