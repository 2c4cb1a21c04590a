#include "calibrate/devices/backend.h"

#include "calibrate/host/host_facts.h"

namespace spillway {

Bytes DeviceBackend::HostMemory() { return ReadHostMemory(); }

double DeviceBackend::Load() { return ReadLoad(); }

}  // namespace spillway
