#include "calibrate/devices/cpu/kernels.h"

#include <array>
#include <dnnl.hpp>

#include "calibrate/devices/cpu/kernels/makers.h"
#include "hw/text/document.h"

// Of libgomp, which Debian's oneDNN is built with. It sets the number for the calling thread only; omp.h is the
// compiler's and clang's is a package of its own.
extern "C" void omp_set_num_threads(int threads);

namespace spillway {
namespace {

// By OpKind.
#define OP_KIND(KIND, ...) cpu::Make##KIND,
constexpr std::array kMakers = {
#include "model/step/op_kinds.inc"
};
#undef OP_KIND

std::string Text(const Launch& launch) {
  return std::string(OpKindName(launch.kind)) + " " + PassName(launch.pass) + " " + ShapeText(launch.shape.in) +
         " to " + ShapeText(launch.shape.out);
}

void CheckFormat(const Launch& launch) {
  if (launch.type == DataType::kFp32 && launch.layout == Layout::kNchw && launch.math == MathMode::kFp32) return;
  throw UserError("the CPU device computes in fp32 on NCHW tensors, not " + std::string(DataTypeName(launch.type)) +
                  " with " + MathModeName(launch.math) + " arithmetic on " + LayoutName(launch.layout) + ": " +
                  Text(launch));
}

// Calls `function`; what oneDNN refuses becomes a UserError that names the op.
template <typename Function>
auto Guarded(const Launch& launch, Function function) {
  try {
    return function();
  } catch (const dnnl::error& error) {
    throw UserError("oneDNN refuses " + Text(launch) + ": " + error.what());
  }
}

bool Fits(const CpuAlgorithm& algorithm, const Launch& launch) {
  return launch.workspace == kUsualWorkspace || algorithm.workspace <= launch.workspace;
}

[[noreturn]] void Refuse(const Launch& launch, const std::vector<CpuAlgorithm>& algorithms) {
  std::string text = Text(launch) + " in " + std::to_string(launch.workspace) + " bytes of workspace";
  if (launch.workspace == kUsualWorkspace) text = Text(launch);
  if (launch.algorithm != 0) text += " by algorithm " + std::to_string(launch.algorithm);
  text += ": the CPU device has";
  for (const CpuAlgorithm& a : algorithms) {
    text += std::string(&a == algorithms.data() ? " " : ", ") + std::to_string(a.algorithm) + " (" + a.implementation +
            ", " + std::to_string(a.workspace) + " bytes)";
  }
  throw UserError(text);
}

// The call with algorithm 0 replaced by the first one that fits.
OpCall Chosen(const OpCall& call, const std::vector<CpuAlgorithm>& algorithms) {
  OpCall chosen = call;
  for (const CpuAlgorithm& a : algorithms) {
    const bool wanted = call.launch.algorithm == 0 || call.launch.algorithm == a.algorithm;
    if (!wanted || !Fits(a, call.launch)) continue;
    chosen.launch.algorithm = a.algorithm;
    return chosen;
  }
  Refuse(call.launch, algorithms);
}

cpu::KernelPtr Make(const OpCall& call) { return kMakers[static_cast<std::size_t>(call.launch.kind)](call); }

// Sets oneDNN's threads before the kernel runs, on whichever thread that is.
class Threaded : public CpuKernel {
 public:
  Threaded(cpu::KernelPtr kernel, int threads) : kernel_(std::move(kernel)), threads_(threads) {
    workspace_ = kernel_->workspace();
    implementation_ = kernel_->implementation();
  }
  void Run(const CpuArguments& arguments) const override {
    omp_set_num_threads(threads_);
    kernel_->Run(arguments);
  }

 private:
  cpu::KernelPtr kernel_;
  int threads_;
};

}  // namespace

struct CpuKernels::State {
  struct Entry {
    OpCall call;
    std::unique_ptr<CpuKernel> kernel;
  };
  int threads;
  std::vector<Entry> entries;
};

bool HasCpuKernels() { return true; }
std::string CpuLibrary() {
  const dnnl_version_t* const version = dnnl_version();
  return "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch);
}

CpuKernels::CpuKernels(int threads) : state_(new State{.threads = threads, .entries = {}}) {
  if (threads < 1) throw UserError("the CPU device needs at least one thread, not " + std::to_string(threads));
}
CpuKernels::~CpuKernels() = default;

std::vector<CpuAlgorithm> CpuKernels::Algorithms(const OpCall& call) {
  CheckFormat(call.launch);
  omp_set_num_threads(state_->threads);  // scratch depends on it
  return Guarded(call.launch, [&]() -> std::vector<CpuAlgorithm> {
    if (HasAlgorithms(call.launch.kind)) return cpu::ConvolutionAlgorithms({AsConvolution(call.launch), call.details});
    const cpu::KernelPtr kernel = Make(call);
    return {{.algorithm = 0, .workspace = kernel->workspace(), .implementation = kernel->implementation()}};
  });
}

const CpuKernel& CpuKernels::Prepare(const OpCall& call) {
  for (const State::Entry& entry : state_->entries) {
    if (entry.call == call) return *entry.kernel;
  }
  CheckFormat(call.launch);
  const bool choice = HasAlgorithms(call.launch.kind);
  const OpCall chosen = choice ? Chosen(call, Algorithms(call)) : call;
  omp_set_num_threads(state_->threads);
  cpu::KernelPtr kernel = Guarded(call.launch, [&] { return Make(chosen); });
  state_->entries.push_back({call, std::make_unique<Threaded>(std::move(kernel), state_->threads)});
  return *state_->entries.back().kernel;
}

}  // namespace spillway
