// Several kinds of one training step in a recording, such as the first micro batch and later ones: the file is the most
// frequent kind, and `more` lists the others, each a recording of its own.
//
// Tested by cli_carry_test (tests/).
#ifndef SPILLWAY_MODEL_RECORDED_RECORDED_KINDS_H_
#define SPILLWAY_MODEL_RECORDED_RECORDED_KINDS_H_

#include <vector>

#include "hw/text/document.h"

namespace spillway {

// One document for each kind, the file's own first. All documents have the text of the file. UserError: `more` is no list of maps.
std::vector<Document> RecordedKinds(const Document& document);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_RECORDED_RECORDED_KINDS_H_
