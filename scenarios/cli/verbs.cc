// The table of verbs, and what is said of each below its options.
#include <fmt/format.h>

#include "scenarios/cli/command.h"

namespace spillway {

#define VERB(FUNCTION) Verb FUNCTION();
#include "scenarios/cli/table.inc"
#undef VERB

const std::vector<Verb>& Verbs() {
#define VERB(FUNCTION) FUNCTION(),
  static const std::vector<Verb> kTable = {
#include "scenarios/cli/table.inc"
  };
#undef VERB
  return kTable;
}

std::string GuideText(const Verb& verb) {
  std::string text = "\nExamples:\n";
  for (const char* example : verb.examples) text += fmt::format("  {}\n", example);
  text += "\nExit status:\n";
  for (const VerbExit& exit : verb.exits)
    text += fmt::format("  {:<3} {}\n", static_cast<int>(exit.code), exit.meaning);
  return text + fmt::format("  {:<3} a bug of ours\n", static_cast<int>(kExitInternalError));
}

}  // namespace spillway
