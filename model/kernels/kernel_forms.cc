#include <algorithm>

#include "model/kernels/kernel_form.h"

namespace spillway {

const std::vector<KernelForm>& KernelForms() {
#define KERNEL_FORM(FORM) FORM(),
  static const std::vector<KernelForm> kForms = {
#include "model/kernels/table.inc"
  };
#undef KERNEL_FORM
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
