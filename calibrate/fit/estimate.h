// Costs of single operations, many at once: a table of operations in, the same table with predictions out.
#ifndef SPILLWAY_CALIBRATE_FIT_ESTIMATE_H_
#define SPILLWAY_CALIBRATE_FIT_ESTIMATE_H_

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hw/machine/chips.h"
#include "hw/text/document.h"
#include "model/cost/cost_model.h"
#include "model/profile/machine.h"
#include "model/samples/sample.h"

namespace spillway {

// `document` is CSV with the columns of a samples file (sample.h), results not needed. CheckOperations throws UserError
// with all mistakes of the table and returns warnings: a sentence for each unread column, and for each harness and device
// of the rows that is not the profile's (DoubtsAbout). EstimateLines takes a document without mistakes and passes line by
// line on, each with its line feed. Every row comes back as it was, with these columns added:
//   predicted_us                  the call's kernels; with a `harness` that the profile knows, as that harness sees it;
//                                 with a software stack (harness, driver, cuda, cudnn) that the profile knows for the
//                                 operation, at that stack's rates;
//                                 of a copy, the host's call and the copy itself
//   predicted_algorithm           empty where there is no choice
//   predicted_workspace_bytes
//   how, source                   Cost::how; measured, published or assumed
//   error                         relative, one standard deviation, on a software stack that the profile knows; another
//                                 driver or library adds Device::stack_error
//   predicted_menu                of a convolution, what runs it: algorithm:us:workspace_bytes, the fastest first, then
//                                 what needs less workspace than all faster ones
// A row with an `algorithm` is answered for that one, others for the fastest in `workspace_bytes` where the row grants
// some, else in the cost model's limit. What the profile knows nothing about has an empty prediction and says so in
// `how`. Columns that are not of the format come back unread.
// `within_device`: a row that grants none has what its operands leave of the device's usable memory, if that is less than
// the cost model's limit. `how` says where they leave too little, and where the library refuses the call for its size
// (model/cost/library_limits.h).
std::vector<std::string> CheckOperations(const Document& document, const CostModel& costs);
void EstimateLines(const Document& document, const CostModel& costs, bool within_device,
                   const std::function<void(std::string_view)>& line);

// Why an estimate may be less than its rows ask for: a sentence, "file:line: warning: ...", for each harness of a kernel that no call floor of the profile is of, and for
// each device that is not the profile's: one of hw/chips/chips.yaml whose figures are others, or one unknown there by
// another name than the profile's. Each once, at the first row that names it.
std::vector<std::string> DoubtsAbout(std::span<const Sample> operations, const std::string& file,
                                     const Machine& machine, std::span<const ChipFigures> chips);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_FIT_ESTIMATE_H_
