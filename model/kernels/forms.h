// The forms that kernel_forms.cc lists, one file each.
#ifndef SPILLWAY_MODEL_KERNELS_FORMS_H_
#define SPILLWAY_MODEL_KERNELS_FORMS_H_

#include "model/cost/kernel_form.h"

namespace spillway {

// Convolution, library algorithms by pass.
KernelForm ImplicitPrecompGemmForm();  // forward implicit_precomp_gemm; backward data algo_1; backward filter algo_1, 3
KernelForm ImplicitGemmForm();         // forward implicit_gemm; backward data algo_0; backward filter algo_0
KernelForm ExplicitGemmForm();         // forward gemm
KernelForm WinogradForm();             // fused
KernelForm WinogradNonfusedForm();
KernelForm FftForm();
KernelForm FftTilingForm();
// Matrix product of a linear layer, all three passes.
KernelForm LinearForm();
// Everything that memory bounds.
KernelForm ElementwiseForm();  // ReLU, add, dropout, concat, bias, copy, update
KernelForm BatchNormForm();
KernelForm PoolingForm();
KernelForm LrnForm();
KernelForm SoftmaxForm();

// Of processors (Platform::kCpu), as calibrate/run/cpu/ runs oneDNN and loops of its own on plain NCHW buffers.
KernelForm CpuDirectForm();     // convolution, all passes: generated code on blocked layouts
KernelForm CpuWinogradForm();   // F(4x4, 3x3)
KernelForm CpuGemmForm();       // unfolded image and matrix product
KernelForm CpuLinearForm();     // all passes
KernelForm CpuStreamingForm();  // everything that memory bounds

}  // namespace spillway

#endif  // SPILLWAY_MODEL_KERNELS_FORMS_H_
