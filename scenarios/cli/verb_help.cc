// spillway help: the keys of the files that Spillway reads, from the tables that their readers go by; and what goes with
// the options of each verb: examples, and what its exit status means.
#include <fmt/format.h>

#include "hw/text/lists.h"
#include "model/network/network_keys.h"
#include "model/profile/machine_keys.h"
#include "model/recorded/graph_keys.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/help.h"
#include "scenarios/file/scenario_keys.h"
#include "sim/plan/plan_keys.h"

namespace spillway {

namespace {

constexpr VerbExit kDone{kExitDone, "done"};
constexpr VerbExit kWrong{kExitWrongInput, "the input is wrong: every mistake is told, and nothing is written"};
constexpr VerbExit kNothingFits{kExitNothingFits, "no strategy fits somewhere"};
constexpr VerbExit kInterrupted{kExitInterrupted, "interrupted; what was done is kept"};
constexpr VerbExit kRunInterrupted{kExitInterrupted, "interrupted; rows that are done are kept in the folder of --out"};
constexpr VerbExit kNothingKept{kExitInterrupted, "interrupted; nothing is kept"};

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

const std::vector<VerbGuide>& VerbGuides() {
  static const std::vector<VerbGuide> kTable = {
      {"run",
       {"spillway run scenarios/resnet50-pcie-vs-nvlink.yaml --out out/",
        "spillway run my.yaml --strategies pooch,swap-all --memory 12GiB --format csv",
        "spillway run my.yaml --plan plan.yaml", "spillway run my.yaml --check"},
       {kDone,
        {kExitExpectationFailed, "--check: an expectation that is a gate failed"},
        kWrong,
        {kExitNothingFits, "no strategy fits somewhere, and no expectation says `feasible: false` of it"},
        kRunInterrupted}},
      {"compare",
       {"spillway compare my.yaml --machines v100-x86-pcie3,v100-power9-nvlink2 --out out/both",
        "spillway compare my.yaml --machine v100-x86-pcie3 --batch 256 --plan original.yaml --plan mine.yaml"},
       {kDone, kWrong, kNothingFits, kRunInterrupted}},
      {"plan",
       {"spillway plan my.yaml --machine v100-x86-pcie3 --batch 256 -o plan.yaml",
        "spillway plan my.yaml --batch 256 --strategy pooch"},
       {kDone, kWrong, kNothingFits}},
      {"certify",
       {"spillway certify my.yaml --plan plan.yaml"},
       {kDone, {kExitExpectationFailed, "the certificate does not hold"}, kWrong, kNothingFits}},
      {"list", {"spillway list machines", "spillway list layers"}, {kDone, kWrong}},
      {"show",
       {"spillway show network resnet50 --batch 256", "spillway show machine v100-x86-pcie3",
        "spillway show strategy pooch", "spillway show menu vgg16 --batch 32 --machine v100-x86-pcie3",
        "spillway show floor vgg16 --batch 256 --machine p100-x86-pcie3",
        "spillway show shares resnet18 --batch 128 --machine v100-x86-pcie3,p100-x86-pcie3"},
       {kDone, kWrong}},
      {"dump",
       {"spillway dump step my.yaml --machine v100-x86-pcie3 --batch 256 -o step.json",
        "spillway dump program my.yaml --batch 256 --strategy pooch", "spillway dump plan my.yaml --plan plan.yaml"},
       {kDone, kWrong, kNothingFits}},
      {"calibrate",
       {"spillway calibrate --device cpu --quick -o hw/mine.yaml",
        "spillway calibrate --device cuda:0 --budget 300s --networks resnet50:64 -o hw/mine.yaml",
        "spillway calibrate --device cpu --resume -o hw/mine.yaml"},
       {kDone, kWrong, kInterrupted}},
      {"probe",
       {"spillway probe --device cuda:0"},
       {kDone, {kExitExpectationFailed, "something that measuring relies on is not so"}, kWrong}},
      {"fit",
       {"spillway fit samples.csv --base v100-x86-pcie3 -o hw/mine.yaml --report accuracy",
        "spillway fit samples.csv --base hw/mine.yaml --links-only --copies myhost -o hw/mine.yaml"},
       {kDone, kWrong}},
      {"validate",
       {"spillway validate scenarios/validate-cpu-resnet.yaml --device cpu --machine hw/mine.yaml",
        "spillway validate my.yaml --device cuda:0 --steps 50 --out out/mine"},
       {kDone,
        {kExitExpectationFailed, "a strategy could not be carried out, or an expectation that is a gate failed"},
        kWrong,
        kNothingFits,
        kInterrupted}},
      {"claims",
       {"spillway claims", "spillway claims vdnn"},
       {kDone, {kExitExpectationFailed, "--check: a claim that is a gate does not hold"}, kWrong, kNothingKept}},
      {"estimate",
       {"spillway estimate --machine v100-x86-pcie3 calibrate/example-ops.csv",
        "spillway estimate --machine hw/mine.yaml --workspace 8MiB ops.csv -o times.csv"},
       {kDone, kWrong}},
      {"explain",
       {"spillway explain out/default/timelines/resnet50_b512_v100-x86-pcie3_pooch.trace.json --map conv1",
        "spillway explain out/default/timelines/resnet50_b512_v100-x86-pcie3_pooch.trace.json --op conv1:forward"},
       {kDone, kWrong}},
      {"report", {"spillway report out/default", "spillway report out/mine -o mine.html"}, {kDone, kWrong}},
      {"help", {"spillway help run", "spillway help scenario"}, {kDone, kWrong}},
  };
  return kTable;
}

std::string GuideText(const VerbGuide& guide) {
  std::string text = "\nExamples:\n";
  for (const char* example : guide.examples) text += fmt::format("  {}\n", example);
  text += "\nExit status:\n";
  for (const VerbExit& exit : guide.exits)
    text += fmt::format("  {:<3} {}\n", static_cast<int>(exit.code), exit.meaning);
  return text + fmt::format("  {:<3} a bug of ours\n", static_cast<int>(kExitInternalError));
}

std::vector<std::string> HelpPageNames() { return NamesOf(kPages); }

std::string HelpPage(const std::string& name) {
  for (const Page& page : kPages) {
    if (name == page.name) return fmt::format("# {}\n\n{}", page.title, page.text());
  }
  return "";
}

// Help on verbs is the parser's to give (arguments.cc): what comes here is none.
ExitCode HelpVerb(const Command& command, Console& console) {
  const std::string page = HelpPage(command.topic);
  if (page.empty()) {
    std::vector<std::string> names = HelpPageNames();
    for (const Verb& verb : Verbs()) names.emplace_back(verb.name);
    throw UserError(fmt::format("help: unknown topic '{}'{} (a verb, or {})", command.topic,
                                DidYouMean(command.topic, names), fmt::join(HelpPageNames(), ", ")));
  }
  console.out << page;
  return kExitDone;
}

}  // namespace spillway
