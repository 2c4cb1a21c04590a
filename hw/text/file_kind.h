// Which kind of input file a document is, by keys that no other kind has: one kind given where another is expected is one
// mistake, not one for every key.
//
// Tested by file_kind_test.
#ifndef SPILLWAY_HW_TEXT_FILE_KIND_H_
#define SPILLWAY_HW_TEXT_FILE_KIND_H_

#include <string>
#include <vector>

#include "hw/text/document.h"

namespace spillway {

enum class FileKind { kScenario, kPlan, kNetwork, kGraph, kMachine };

// What it is called: "scenario", "plan", "network", "recorded step", "machine profile".
const char* FileKindName(FileKind kind);
// Keys at its root that files of no other kind have.
const std::vector<std::string>& KeysOfKind(FileKind kind);
// Those of files that this program writes and that are none of these kinds: certificates, results, plans for PyTorch.
std::vector<std::string> KeysOfWritten();

// Throws UserError where the document has such a key of another kind and none of `expected`, or one of a written file, with
// the key's place. What is neither is left to the reader.
void MustBeOfKind(FileKind expected, const Document& document);

}  // namespace spillway

#endif  // SPILLWAY_HW_TEXT_FILE_KIND_H_
