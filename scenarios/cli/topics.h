// The topics of a verb, such as `machines` in `list machines` or `plan` in `dump plan`. Each of these verbs has a table
// of topics, with the function that answers each.
#ifndef SPILLWAY_SCENARIOS_CLI_TOPICS_H_
#define SPILLWAY_SCENARIOS_CLI_TOPICS_H_

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <vector>

#include "hw/text/document.h"
#include "hw/text/lists.h"

namespace spillway {

template <typename Function>
struct Topic {
  const char* name;
  Function* answer;  // prints or returns the answer; its type is the verb's own
};

// The answer of the topic called `name`. For an unknown name it throws a UserError with `verb`, the nearest name and
// all names.
template <typename Function, std::size_t kCount>
Function* AnswerTo(const std::string& name, const Topic<Function> (&topics)[kCount], const char* verb) {
  for (const Topic<Function>& topic : topics) {
    if (name == topic.name) return topic.answer;
  }
  const std::vector<std::string> names = NamesOf(topics);
  throw UserError(
      fmt::format("{}: unknown topic '{}'{} ({})", verb, name, DidYouMean(name, names), fmt::join(names, ", ")));
}

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CLI_TOPICS_H_
