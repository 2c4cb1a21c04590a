#include "model/kernel_form.h"
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
  };
  return kForms;
}

const KernelForm* FindKernelForm(std::string_view name) {
  for (const KernelForm& form : KernelForms()) {
    if (name == form.name) return &form;
  }
  return nullptr;
}

}  // namespace spillway
