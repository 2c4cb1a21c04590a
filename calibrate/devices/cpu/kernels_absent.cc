// Stands for the kernels where this program is built without oneDNN.
#include "calibrate/devices/cpu/kernels.h"
#include "hw/text/document.h"

namespace spillway {
namespace {

[[noreturn]] void Refuse() {
  throw UserError(
      "this program was built without oneDNN, which the CPU device computes with; install libdnnl-dev and build again");
}

}  // namespace

struct CpuKernels::State {};

bool HasCpuKernels() { return false; }
std::string CpuLibrary() { return ""; }
CpuKernels::CpuKernels(int) { Refuse(); }
CpuKernels::~CpuKernels() = default;
std::vector<CpuAlgorithm> CpuKernels::Algorithms(const OpCall&) { Refuse(); }
const CpuKernel& CpuKernels::Prepare(const OpCall&) { Refuse(); }

}  // namespace spillway
