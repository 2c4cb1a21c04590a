// A certificate of a lower bound: the data with which a checker proves the bound, without trust in the search that
// found it.
//
// A certificate names one instant (the start of an op) and three multipliers. Without an instant, the least time of all
// ops proves the bound. The argument is that of sim/bounds/cut_bound.h. The checker shares no code with sim/bounds,
// which searches the multipliers, nor with any strategy. It has its own reading of the step, its own graph and its own
// maximum flow.
//
// Tested by certify_test (tests/).
#ifndef SPILLWAY_SIM_CERTIFY_CERTIFICATE_H_
#define SPILLWAY_SIM_CERTIFY_CERTIFICATE_H_

#include <string>

#include "hw/text/document.h"
#include "model/cost/cost_model.h"
#include "sim/bounds/scope.h"

namespace spillway {

// The claim that no plan within `scope` takes less than `bound` nanoseconds in `capacity` bytes of device memory.
struct BoundCertificate {
  Scope scope{};
  Bytes capacity = 0;
  OpId op = kNoOp;    // the instant is its start; kNoOp: no instant, the least time of every op and the first upload
  double before = 1;  // a of cut_bound.h, in [0, 1]: weight of the ops before the instant against the swap-outs
  double after = 1;   // b of cut_bound.h, in [0, 1]: weight of the ops after the instant against the swap-ins
  double price = 0;   // m of cut_bound.h: nanoseconds per byte kept, at least 0
  Nanos bound = 0;
  bool operator==(const BoundCertificate&) const = default;
};

// The bound, in nanoseconds, that the instant and the multipliers prove; `certificate.bound` is not used. 0 means that
// they prove nothing: for unified memory, and for an instant within a group of ops that may stream operands. If the
// scope accumulates gradients, `step` is the step in micro-batches.
Nanos ProvenBound(const TrainingStep& step, const CostModel& costs, const BoundCertificate& certificate,
                  int device = 0);

// The claim that no plan of whole ops runs in `capacity` bytes, because op `op` alone needs more.
struct NoRoomCertificate {
  OpId op = kNoOp;
  Bytes capacity = 0;
  Bytes needed = 0;  // its operands, what stays on the device throughout, and the least workspace of any of its ways
  bool states_leave = false;  // also of plans with gaps that end in the next step; else of all others
};
// LeastBytes: the bytes that `op` needs. MostNeeded: the certificate of the op that needs most; it proves something
// only if needed > capacity. Holds: checks a certificate.
Bytes LeastBytes(const TrainingStep& step, const CostModel& costs, OpId op, int device = 0, bool states_leave = false);
NoRoomCertificate MostNeeded(const TrainingStep& step, const CostModel& costs, Bytes capacity, int device = 0,
                             bool states_leave = false);
bool Holds(const TrainingStep& step, const CostModel& costs, const NoRoomCertificate& certificate, int device = 0);

// The text of a certificate file; the certificate of plan.yaml lies next to it as plan.yaml.certificate.
// ParseCertificate throws UserError with all mistakes: a name that is no op of the step, a number out of range.
std::string CertificateToYaml(const BoundCertificate& certificate, const TrainingStep& step);
BoundCertificate ParseCertificate(const Document& document, const TrainingStep& step);

}  // namespace spillway

#endif  // SPILLWAY_SIM_CERTIFY_CERTIFICATE_H_
