// What a verb can be asked about: `list machines`, `show network`, `dump plan`. A verb has a table of these.
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
  Function* answer;
};

// The one that is called `name`. Throws UserError with the nearest name and all of them.
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
