// A bound that can be checked without believing who found it: one instant and the multipliers under which it proves the
// bound, or no instant where the work alone proves as much. What checks it shares no code with sim/bounds, where such
// multipliers are sought, nor with any strategy: it has its own reading of the step, its own graph and its own maximum flow.
// The argument is that of sim/bounds/cut_bound.h.
//
// Tested by certify_test (tests/).
#ifndef SPILLWAY_SIM_CERTIFY_CERTIFICATE_H_
#define SPILLWAY_SIM_CERTIFY_CERTIFICATE_H_

#include <string>

#include "hw/text/document.h"
#include "model/cost/cost_model.h"
#include "sim/bounds/scope.h"

namespace spillway {

// Says that no plan in scope takes less than `bound` in `capacity` bytes.
struct BoundCertificate {
  Scope scope{};
  Bytes capacity = 0;
  OpId op = kNoOp;    // before which the instant is; kNoOp: none, the least time of every op and the first upload
  double before = 1;  // in [0, 1]: weight of the ops before the instant, beside copies, against the copies out
  double after = 1;   // in [0, 1]: weight of the ops behind it, beside copies, against the copies back
  double price = 0;   // nanoseconds for a byte that is kept, at least 0
  Nanos bound = 0;
  bool operator==(const BoundCertificate&) const = default;
};

// What the instant and the multipliers prove, whatever the certificate claims. 0: nothing, as an instant that a group of ops
// may go across where operands are streamed, and anything of unified memory. `step`: the one in batch parts where the scope
// accumulates.
Nanos ProvenBound(const TrainingStep& step, const CostModel& costs, const BoundCertificate& certificate,
                  int device = 0);

// Says that no plan of whole ops runs in `capacity` bytes: what has to be there while one op runs.
struct NoRoomCertificate {
  OpId op = kNoOp;
  Bytes capacity = 0;
  Bytes needed = 0;  // its operands, what stays on the device throughout, and the least workspace of any of its ways
};
// What an op needs, and the certificate of the op that needs most; nothing is too much there where needed <= capacity.
Bytes LeastBytes(const TrainingStep& step, const CostModel& costs, OpId op, int device = 0);
NoRoomCertificate MostNeeded(const TrainingStep& step, const CostModel& costs, Bytes capacity, int device = 0);
bool Holds(const TrainingStep& step, const CostModel& costs, const NoRoomCertificate& certificate, int device = 0);

// Of a plan file's certificate, beside it: "plan.yaml.certificate". Reading refuses what names no op of the step and
// numbers out of range (UserError with all mistakes).
std::string CertificateToYaml(const BoundCertificate& certificate, const TrainingStep& step);
BoundCertificate ParseCertificate(const Document& document, const TrainingStep& step);

}  // namespace spillway

#endif  // SPILLWAY_SIM_CERTIFY_CERTIFICATE_H_
