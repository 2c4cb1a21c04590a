// From a scope to a certificate for it: where the search for bounds ends and what can be checked begins. The one file of the
// folder that knows both sides.
#ifndef SPILLWAY_SIM_CERTIFY_FIND_CERTIFICATE_H_
#define SPILLWAY_SIM_CERTIFY_FIND_CERTIFICATE_H_

#include <optional>

#include "sim/certify/certificate.h"
#include "sim/evaluate/oracle.h"

namespace spillway {

// The best instant for all plans in `scope`, or their work where that says more; its bound is no more than what the check
// proves. nullopt: unified memory. `facts`: of the step in batch parts where the scope accumulates.
std::optional<BoundCertificate> FindCertificate(const StepFacts& facts, Bytes capacity, const Scope& scope);

}  // namespace spillway

#endif  // SPILLWAY_SIM_CERTIFY_FIND_CERTIFICATE_H_
