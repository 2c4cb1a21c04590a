// A recorded step planned without a scenario: its own machine or another one, and the memory of a card.
//
// Tested by cli_step_test (tests/).
#ifndef SPILLWAY_SCENARIOS_RUN_RECORDED_PLAN_H_
#define SPILLWAY_SCENARIOS_RUN_RECORDED_PLAN_H_

#include <memory>
#include <string>
#include <vector>

#include "scenarios/run/prepare.h"

namespace spillway {

struct RecordingAsked {
  std::string file;
  std::string machine{};  // a profile in place of the recording's machine; "" = that one
  std::string memory{};   // of the card, with its unit; "" = the machine's
  std::string link{};     // "25GB/s" in each direction in place of the measured one
  double margin = 0.1;    // part of the card that is left free
  std::vector<std::string> strategies{};
  std::string runtime{};
};

// What is left of a card for the tensors of a step.
struct CardMemory {
  Bytes card = 0, context = 0, workspace = 0, margin = 0;
  Bytes Left() const { return card - context - workspace - margin; }
};

struct PreparedRecording {
  PreparedRun run;  // one place
  std::shared_ptr<const RecordedStep> recorded;
  CardMemory memory;
  bool swaps = true;              // false: no link is known, and nothing is swapped
  std::vector<std::string> said;  // lines for the user: memory, link, times, what differs on a GPU
};

// Whether the file is a recorded step and no scenario, by its keys.
bool IsRecording(const Document& document);

// Of `asked.file`, which is `document`. UserError: mistakes of the recording, the machine, a unit or a name; a card without
// room for a step.
PreparedRecording PrepareRecording(const RecordingAsked& asked, const Document& document);

// Of points on the runtime torch: a call costs what the recording measured of its carrier, and what the recording does
// not see stays on the device. Returns what a user should know.
std::vector<std::string> FitTorch(PreparedRun& run);

// What is left on `machine` of a card of `memory` ("" = the machine's). UserError: no unit, or nothing is left.
CardMemory CardMemoryOf(const std::string& memory, double margin, const Machine& machine, const RecordedStep& recorded,
                        bool profile);
std::string CardText(const CardMemory& memory);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_RUN_RECORDED_PLAN_H_
