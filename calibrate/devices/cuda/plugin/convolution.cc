// Convolution by cuDNN's legacy interface. Its three enumerations of algorithms are the first names of
// AlgorithmNames (model/kernels/kernel_form.h), one later: 0 there stands for the library's choice.
#include <algorithm>

#include "calibrate/devices/cuda/plugin/descriptors.h"
#include "calibrate/devices/cuda/plugin/kernel.h"
#include "model/kernels/kernel_form.h"

namespace spillway::cuda {
namespace {

// The calls and operands in which the passes differ. The calls of all passes take their descriptors in one order: both
// operands, as in Op::reads, with the convolution behind them, then the result. `kVaries`: algorithms that NVIDIA lists as
// not deterministic.
struct ForwardPass {
  using Algorithm = cudnnConvolutionFwdAlgo_t;
  using Answer = cudnnConvolutionFwdAlgoPerf_t;
  static constexpr Pass kPass = Pass::kForward;
  static constexpr int kCount = CUDNN_CONVOLUTION_FWD_ALGO_COUNT;
  static constexpr std::array<int, 0> kVaries{};
  static constexpr auto kWorkspace = cudnnGetConvolutionForwardWorkspaceSize;
  static constexpr auto kRank = cudnnGetConvolutionForwardAlgorithm_v7;
  static constexpr auto kRun = cudnnConvolutionForward;
  static constexpr const char* kRunText = "cudnnConvolutionForward(...)";
  static auto First(const ConvolutionProblem& p) { return p.in.get(); }
  static auto Second(const ConvolutionProblem& p) { return p.weight.get(); }
  static auto Result(const ConvolutionProblem& p) { return p.out.get(); }
};

struct DataPass {
  using Algorithm = cudnnConvolutionBwdDataAlgo_t;
  using Answer = cudnnConvolutionBwdDataAlgoPerf_t;
  static constexpr Pass kPass = Pass::kBackwardData;
  static constexpr int kCount = CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT;
  static constexpr std::array kVaries{static_cast<int>(CUDNN_CONVOLUTION_BWD_DATA_ALGO_0)};
  static constexpr auto kWorkspace = cudnnGetConvolutionBackwardDataWorkspaceSize;
  static constexpr auto kRank = cudnnGetConvolutionBackwardDataAlgorithm_v7;
  static constexpr auto kRun = cudnnConvolutionBackwardData;
  static constexpr const char* kRunText = "cudnnConvolutionBackwardData(...)";
  static auto First(const ConvolutionProblem& p) { return p.weight.get(); }
  static auto Second(const ConvolutionProblem& p) { return p.out.get(); }
  static auto Result(const ConvolutionProblem& p) { return p.in.get(); }
};

struct FilterPass {
  using Algorithm = cudnnConvolutionBwdFilterAlgo_t;
  using Answer = cudnnConvolutionBwdFilterAlgoPerf_t;
  static constexpr Pass kPass = Pass::kBackwardFilter;
  static constexpr int kCount = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT;
  static constexpr std::array kVaries{static_cast<int>(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0),
                                      static_cast<int>(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3)};
  static constexpr auto kWorkspace = cudnnGetConvolutionBackwardFilterWorkspaceSize;
  static constexpr auto kRank = cudnnGetConvolutionBackwardFilterAlgorithm_v7;
  static constexpr auto kRun = cudnnConvolutionBackwardFilter;
  static constexpr const char* kRunText = "cudnnConvolutionBackwardFilter(...)";
  static auto First(const ConvolutionProblem& p) { return p.in.get(); }
  static auto Second(const ConvolutionProblem& p) { return p.out.get(); }
  static auto Result(const ConvolutionProblem& p) { return p.weight.get(); }
};

// The library's own opinion of its algorithms.
template <typename P>
std::vector<typename P::Answer> Ranking(const Libraries& libraries, const ConvolutionProblem& problem) {
  std::vector<typename P::Answer> answers(2 * static_cast<std::size_t>(P::kCount));  // some are listed by math mode
  int count = 0;
  const cudnnStatus_t status =
      P::kRank(libraries.cudnn(), P::First(problem), P::Second(problem), problem.convolution.get(), P::Result(problem),
               static_cast<int>(answers.size()), &count, answers.data());
  answers.resize(status == CUDNN_STATUS_SUCCESS ? static_cast<std::size_t>(count) : 0);
  return answers;
}

// Algorithms in the order of their numbers. One that the library ranks as impossible is left out even if it names a
// workspace for it.
template <typename P>
std::vector<CudaAlgorithm> AskAlgorithms(const Libraries& libraries, const ConvolutionProblem& problem) {
  const std::vector<typename P::Answer> answers = Ranking<P>(libraries, problem);
  std::vector<CudaAlgorithm> algorithms;
  for (int number = 0; number < P::kCount; ++number) {
    const auto algorithm = static_cast<typename P::Algorithm>(number);
    std::size_t bytes = 0;
    const cudnnStatus_t status = P::kWorkspace(libraries.cudnn(), P::First(problem), P::Second(problem),
                                               problem.convolution.get(), P::Result(problem), algorithm, &bytes);
    if (status != CUDNN_STATUS_SUCCESS) continue;
    const bool varies = std::find(P::kVaries.begin(), P::kVaries.end(), number) != P::kVaries.end();
    CudaAlgorithm found{.algorithm = number + 1, .workspace = static_cast<Bytes>(bytes), .deterministic = !varies};
    const auto listed = [&](const auto& answer) { return answer.algo == algorithm; };
    const auto possible = [&](const auto& answer) { return listed(answer) && answer.status == CUDNN_STATUS_SUCCESS; };
    const auto answer = std::find_if(answers.begin(), answers.end(), possible);
    if (answer == answers.end() && std::any_of(answers.begin(), answers.end(), listed)) continue;
    if (answer != answers.end()) {
      found.rank = static_cast<int>(answer - answers.begin());
      found.deterministic = answer->determinism == CUDNN_DETERMINISTIC;
    }
    algorithms.push_back(found);
  }
  return algorithms;
}

// Asked once of each problem. What the library ranks nothing of is asked again: it may have lacked memory to tell.
template <typename P>
std::vector<CudaAlgorithm> Algorithms(Libraries& libraries, const OpCall& call, const ConvolutionProblem& problem) {
  if (const auto* const known = libraries.algorithms().Find(call.launch)) return *known;
  const std::vector<CudaAlgorithm> told = AskAlgorithms<P>(libraries, problem);
  const bool ranked = std::any_of(told.begin(), told.end(), [](const CudaAlgorithm& a) { return a.rank >= 0; });
  return ranked ? libraries.algorithms().Keep(call.launch, told) : told;
}

[[noreturn]] void RefuseAll(const Launch& launch, const std::vector<CudaAlgorithm>& algorithms) {
  std::string text = "no convolution";
  if (launch.algorithm != 0) text += " by " + AlgorithmText(OpKind::kConvolution, launch.pass, launch.algorithm);
  if (launch.workspace != kUsualWorkspace) text += " in " + std::to_string(launch.workspace) + " bytes of workspace";
  text += algorithms.empty() ? "; cuDNN offers none for this shape" : "; cuDNN offers";
  for (const CudaAlgorithm& a : algorithms) {
    text += (&a == algorithms.data() ? " " : ", ") + AlgorithmText(OpKind::kConvolution, launch.pass, a.algorithm) +
            " (" + std::to_string(a.workspace) + " bytes)";
  }
  Refuse(text);
}

// The algorithm asked for, else the best-ranked one that fits; those without a rank come last.
CudaAlgorithm Choose(const Launch& launch, const std::vector<CudaAlgorithm>& algorithms) {
  const CudaAlgorithm* chosen = nullptr;
  const auto place = [](const CudaAlgorithm& a) { return static_cast<unsigned>(a.rank); };  // -1 is the largest
  for (const CudaAlgorithm& a : algorithms) {
    const bool wanted = launch.algorithm == 0 || launch.algorithm == a.algorithm;
    if (!wanted || (launch.workspace != kUsualWorkspace && a.workspace > launch.workspace)) continue;
    if (chosen == nullptr || place(a) < place(*chosen)) chosen = &a;
  }
  if (chosen == nullptr) RefuseAll(launch, algorithms);
  return *chosen;
}

template <typename P>
class Convolution : public Kernel {
 public:
  Convolution(const LibrariesPtr& libraries, const OpCall& call)
      : Kernel(libraries, ""), problem_(call), beta_(BetaOf(call.launch.accumulate)) {
    const CudaAlgorithm chosen = Choose(call.launch, Algorithms<P>(*libraries, call, problem_));
    algorithm_ = static_cast<typename P::Algorithm>(chosen.algorithm - 1);
    workspace_ = chosen.workspace;
    implementation_ = AlgorithmText(OpKind::kConvolution, P::kPass, chosen.algorithm);
    if (call.launch.math == MathMode::kTf32) implementation_ += ", tf32";
  }

 protected:
  void Launch(const CudaArguments& a) const override {
    Check(P::kRun(libraries().cudnn(), &kOne, P::First(problem_), Read(a, 0), P::Second(problem_), Read(a, 1),
                  problem_.convolution.get(), algorithm_, a.workspace, static_cast<std::size_t>(workspace_), beta_,
                  P::Result(problem_), Write(a, 0)),
          P::kRunText, __FILE__, __LINE__);
  }

 private:
  ConvolutionProblem problem_;
  const float* beta_;
  typename P::Algorithm algorithm_{};
};

}  // namespace

KernelPtr MakeConvolution(const LibrariesPtr& libraries, const OpCall& call) {
  if (call.launch.pass == Pass::kForward) return std::make_unique<Convolution<ForwardPass>>(libraries, call);
  if (call.launch.pass == Pass::kBackwardData) return std::make_unique<Convolution<DataPass>>(libraries, call);
  return std::make_unique<Convolution<FilterPass>>(libraries, call);
}

KernelPtr MakeTransposedConvolution(const LibrariesPtr& libraries, const OpCall& call) {
  return MakeConvolution(libraries, {AsConvolution(call.launch), call.details});
}

std::vector<CudaAlgorithm> ConvolutionAlgorithms(const LibrariesPtr& libraries, const OpCall& asked) {
  const OpCall call{AsConvolution(asked.launch), asked.details};
  const ConvolutionProblem problem(call);
  if (call.launch.pass == Pass::kForward) return Algorithms<ForwardPass>(*libraries, call, problem);
  if (call.launch.pass == Pass::kBackwardData) return Algorithms<DataPass>(*libraries, call, problem);
  return Algorithms<FilterPass>(*libraries, call, problem);
}

}  // namespace spillway::cuda
