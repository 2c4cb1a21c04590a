// Costs of single operations, many at once: a table of operations in, the same table with predictions out.
#ifndef SPILLWAY_CALIBRATE_FIT_ESTIMATE_H_
#define SPILLWAY_CALIBRATE_FIT_ESTIMATE_H_

#include <string>
#include <vector>

#include "model/cost/cost_model.h"

namespace spillway {

// `text` is CSV with the columns of a samples file (sample.h), results not needed; `file` is for messages. Every row
// comes back as it was, with these columns added:
//   predicted_us                  the call's kernels; with a `harness` that the profile knows, as that harness sees it;
//                                 with a software stack (harness, driver, cuda, cudnn) that the profile knows for the
//                                 operation, at that stack's rates
//   predicted_algorithm           empty where there is no choice
//   predicted_workspace_bytes
//   how, source                   Cost::how; measured, published or assumed
//   error                         relative, one standard deviation, on a software stack that the profile knows; another
//                                 driver or library adds Device::stack_error
//   predicted_menu                of a convolution, what runs it: algorithm:us:workspace_bytes, the fastest first, then
//                                 what needs less workspace than all faster ones
// A row with an `algorithm` is answered for that one, others for the fastest in `workspace_bytes` where the row grants
// some, else in the cost model's limit. What the profile knows nothing about has an empty prediction and says so in
// `how`. Columns that are not of the format come back unread; `warnings` gets a sentence for each, and for each harness
// and device of the rows that is not the profile's (estimate_doubts.h).
// Throws UserError with all mistakes of the table.
std::string EstimateCsv(const std::string& text, const std::string& file, const CostModel& costs,
                        std::vector<std::string>* warnings = nullptr);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_FIT_ESTIMATE_H_
