#include <algorithm>

#include "model/cost/kernel_form.h"
#include "model/kernels/forms.h"

namespace spillway {

const std::vector<KernelForm>& KernelForms() {
  static const std::vector<KernelForm> kForms = {
      ImplicitPrecompGemmForm(),
      ImplicitGemmForm(),
      ExplicitGemmForm(),
      WinogradForm(),
      WinogradNonfusedForm(),
      FftForm(),
      FftTilingForm(),
      LinearForm(),
      ElementwiseForm(),
      BatchNormForm(),
      PoolingForm(),
      LrnForm(),
      SoftmaxForm(),
      // Of processors, behind those of GPUs.
      CpuDirectForm(),
      CpuWinogradForm(),
      CpuGemmForm(),
      CpuLinearForm(),
      CpuStreamingForm(),
  };
  return kForms;
}

std::span<const KernelForm> KernelForms(Platform platform) {
  const std::vector<KernelForm>& all = KernelForms();
  const auto first_cpu =
      std::find_if(all.begin(), all.end(), [](const KernelForm& form) { return form.platform == Platform::kCpu; });
  const std::span<const KernelForm> forms(all);
  const auto gpu = static_cast<std::size_t>(first_cpu - all.begin());
  return platform == Platform::kGpu ? forms.first(gpu) : forms.subspan(gpu);
}

const KernelForm* FindKernelForm(std::string_view name) {
  for (const KernelForm& form : KernelForms()) {
    if (name == form.name) return &form;
  }
  return nullptr;
}

}  // namespace spillway
