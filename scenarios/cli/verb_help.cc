// spillway help: the keys of the files that Spillway reads, from the tables that their readers go by.
#include <fmt/format.h>

#include "hw/text/lists.h"
#include "model/network/network_keys.h"
#include "model/profile/profile_text.h"
#include "model/recorded/recorded_step.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/options.h"
#include "scenarios/file/scenario_reader.h"
#include "sim/plan/plan_keys.h"

namespace spillway {

namespace {

std::string MachinePage() { return KeyPage(MachineKeys()) + "\n" + KeyPage(SecondNameKeys()); }

struct Page {
  const char* name;
  const char* title;
  std::string (*text)();
};
constexpr Page kPages[] = {
    {"scenario", "Keys of scenario files", [] { return KeyPage(ScenarioKeys()); }},
    {"plan", "Keys of plan files", [] { return KeyPage(PlanKeys()); }},
    {"network", "Keys of network files", [] { return KeyPage(NetworkKeys()); }},
    {"graph", "Keys of recorded steps", [] { return KeyPage(GraphKeys()); }},
    {"machine", "Keys of machine profiles", MachinePage},
};

}  // namespace

std::vector<std::string> HelpPageNames() { return NamesOf(kPages); }

std::string HelpPage(const std::string& name) {
  for (const Page& page : kPages) {
    if (name == page.name) return fmt::format("# {}\n\n{}", page.title, page.text());
  }
  return "";
}

namespace {

std::vector<std::string> Topics() {
  std::vector<std::string> names = HelpPageNames();
  for (const Verb& verb : Verbs()) {
    if (!Contains(names, std::string(verb.name))) names.emplace_back(verb.name);
  }
  return names;
}

// Help on verbs is the parser's to give (arguments.cc): what comes here is none.
class HelpCommand : public Command {
 public:
  void Declare(Options& options) override {
    options.Text("TOPIC", topic_, "a verb, or a kind of file: scenario, plan, network, graph, machine").Offer(Topics);
  }
  ExitCode Run(Console& console) const override {
    const std::string page = HelpPage(topic_);
    if (page.empty()) {
      const std::vector<std::string> names = Topics();
      throw UserError(fmt::format("help: unknown topic '{}'{} (a verb, or {})", topic_, DidYouMean(topic_, names),
                                  fmt::join(HelpPageNames(), ", ")));
    }
    console.out << page;
    return kExitDone;
  }

 private:
  std::string topic_;
};

}  // namespace

Verb HelpVerb() {
  return {.name = "help",
          .description = "help on a verb, or the keys of a kind of input file",
          .examples = {"spillway help run", "spillway help scenario"},
          .exits = {kDoneExit, kWrongExit},
          .make = MakeCommand<HelpCommand>};
}

}  // namespace spillway
