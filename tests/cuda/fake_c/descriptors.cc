#include "tests/cuda/fake_c/descriptors.h"

#include <algorithm>

namespace cuda_fake {
namespace {

template <typename T>
cudnnStatus_t Create(T** value) {
  *value = new T;
  ++TheState().objects;
  return CUDNN_STATUS_SUCCESS;
}
template <typename T>
cudnnStatus_t Destroy(T* value) {
  if (value == nullptr) return CUDNN_STATUS_BAD_PARAM;
  delete value;
  --TheState().objects;
  return CUDNN_STATUS_SUCCESS;
}

bool AllAtLeast(const int* values, int count, int least) {
  for (int i = 0; i < count; ++i) {
    if (values[i] < least) return false;
  }
  return true;
}

}  // namespace

Grid GridOf(cudnnTensorDescriptor_t tensor) {
  Grid grid;
  const bool deep = tensor->dims.size() == 5;
  for (std::size_t i = 0, k = 0; i < 5; ++i) {
    const bool missing = i == 2 && !deep;
    grid.size[i] = missing ? 1 : tensor->dims[k];
    grid.stride[i] = missing ? 0 : tensor->strides[k];
    if (!missing) ++k;
  }
  return grid;
}

std::size_t Grid::At(std::int64_t i) const {
  std::int64_t at = 0;
  for (std::size_t k = 5; k-- > 0; i /= size[k]) at += i % size[k] * stride[k];
  return static_cast<std::size_t>(at);
}

std::size_t Grid::At(std::int64_t n, std::int64_t c, std::int64_t position) const {
  return At((n * size[1] + c) * Spatial() + position);
}

std::size_t BytesOf(cudnnTensorDescriptor_t tensor) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < tensor->dims.size(); ++i) last += (tensor->dims[i] - 1) * tensor->strides[i];
  return sizeof(float) * static_cast<std::size_t>(last + 1);
}

bool SameSizes(cudnnTensorDescriptor_t a, cudnnTensorDescriptor_t b) { return a->dims == b->dims; }

bool Broadcasts(cudnnTensorDescriptor_t b, cudnnTensorDescriptor_t a) {
  if (a->dims.size() != b->dims.size()) return false;
  for (std::size_t i = 0; i < a->dims.size(); ++i) {
    if (b->dims[i] != a->dims[i] && b->dims[i] != 1) return false;
  }
  return true;
}

bool IsVector(cudnnTensorDescriptor_t vector, cudnnTensorDescriptor_t x) {
  return Broadcasts(vector, x) && vector->dims[1] == x->dims[1] && BytesOf(vector) == 4u * std::size_t(x->dims[1]);
}

bool Holds(cudnnTensorDescriptor_t tensor, const void* memory) {
  return tensor->dims.size() >= 4 && OnDevice(memory, BytesOf(tensor));
}
bool AllHold(cudnnTensorDescriptor_t tensor, std::initializer_list<const void*> places) {
  return std::all_of(places.begin(), places.end(), [&](const void* place) { return Holds(tensor, place); });
}

std::array<std::int64_t, 3> Triple(const std::vector<std::int64_t>& values, std::int64_t missing) {
  if (values.size() == 3) return {values[0], values[1], values[2]};
  return {missing, values[0], values[1]};
}

}  // namespace cuda_fake

using namespace cuda_fake;

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* d) { return Create(d); }
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t d) { return Destroy(d); }
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* d) { return Create(d); }
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t d) { return Destroy(d); }
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* d) { return Create(d); }
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t d) { return Destroy(d); }
cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* d) { return Create(d); }
cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t d) { return Destroy(d); }
cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t* d) { return Create(d); }
cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t d) { return Destroy(d); }
cudnnStatus_t cudnnCreateLRNDescriptor(cudnnLRNDescriptor_t* d) { return Create(d); }
cudnnStatus_t cudnnDestroyLRNDescriptor(cudnnLRNDescriptor_t d) { return Destroy(d); }
cudnnStatus_t cudnnCreateOpTensorDescriptor(cudnnOpTensorDescriptor_t* d) { return Create(d); }
cudnnStatus_t cudnnDestroyOpTensorDescriptor(cudnnOpTensorDescriptor_t d) { return Destroy(d); }

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) { return Create(handle); }
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) { return Destroy(handle); }
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
std::size_t cudnnGetVersion() { return CUDNN_VERSION; }
const char* cudnnGetErrorString(cudnnStatus_t status) {
  if (status == CUDNN_STATUS_NOT_SUPPORTED) return "CUDNN_STATUS_NOT_SUPPORTED";
  return status == CUDNN_STATUS_BAD_PARAM ? "CUDNN_STATUS_BAD_PARAM" : "another status of cuDNN";
}
#if CUDNN_MAJOR >= 9
void cudnnGetLastErrorString(char* message, std::size_t size) {
  if (size > 0) *message = '\0';
}
#endif

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int count,
                                         const int dims[], const int strides[]) {
  // cuDNN: at least 4 dimensions, at most 8; a tensor has at most 2^31 - 1 elements.
  if (type != CUDNN_DATA_FLOAT || count < 4 || count > 8) return CUDNN_STATUS_BAD_PARAM;
  if (!AllAtLeast(dims, count, 1) || !AllAtLeast(strides, count, 1)) return CUDNN_STATUS_BAD_PARAM;
  std::int64_t elements = 1;
  for (int i = 0; i < count; ++i) elements *= dims[i];
  if (elements > 0x7fffffff) return CUDNN_STATUS_NOT_SUPPORTED;
  tensor->dims.assign(dims, dims + count);
  tensor->strides.assign(strides, strides + count);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int n, int c, int h,
                                           int w, int n_stride, int c_stride, int h_stride, int w_stride) {
  const std::array<int, 4> dims{n, c, h, w}, strides{n_stride, c_stride, h_stride, w_stride};
  return cudnnSetTensorNdDescriptor(tensor, type, 4, dims.data(), strides.data());
}

cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int count, const int dims[]) {
  const bool known = type == CUDNN_DATA_FLOAT && format == CUDNN_TENSOR_NCHW;
  if (!known || count < 4 || !AllAtLeast(dims, count, 1)) return CUDNN_STATUS_BAD_PARAM;
  filter->dims.assign(dims, dims + count);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t c, int count, const int pad[],
                                              const int stride[], const int dilation[], cudnnConvolutionMode_t mode,
                                              cudnnDataType_t type) {
  if (count < 2 || mode != CUDNN_CROSS_CORRELATION || type != CUDNN_DATA_FLOAT) return CUDNN_STATUS_BAD_PARAM;
  if (!AllAtLeast(pad, count, 0) || !AllAtLeast(stride, count, 1)) return CUDNN_STATUS_BAD_PARAM;
  if (!AllAtLeast(dilation, count, 1)) return CUDNN_STATUS_BAD_PARAM;
  c->dilation.assign(dilation, dilation + count);
  c->pad.assign(pad, pad + count);
  c->stride.assign(stride, stride + count);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t c, int groups) {
  c->groups = groups;
  return groups > 0 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t c, cudnnMathType_t math) {
  c->math = math;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t p, const cudnnPoolingMode_t mode,
                                          const cudnnNanPropagation_t, int count, const int window[], const int pad[],
                                          const int stride[]) {
  for (int i = 0; i < count; ++i) {
    if (window[i] < 1 || stride[i] < 1 || pad[i] < 0 || pad[i] >= window[i]) return CUDNN_STATUS_BAD_PARAM;
  }
  p->mode = mode;
  p->window.assign(window, window + count);
  p->pad.assign(pad, pad + count);
  p->stride.assign(stride, stride + count);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t activation, cudnnActivationMode_t mode,
                                           cudnnNanPropagation_t, double) {
  activation->set = mode == CUDNN_ACTIVATION_RELU;
  return activation->set ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t cudnnSetLRNDescriptor(cudnnLRNDescriptor_t lrn, unsigned size, double alpha, double beta, double k) {
  // The bounds of cudnn_ops.h: CUDNN_LRN_MIN_N and its neighbours.
  if (size < 1 || size > 16 || k < 1e-5 || beta < 0.01) return CUDNN_STATUS_BAD_PARAM;
  lrn->size = size;
  lrn->alpha = alpha;
  lrn->beta = beta;
  lrn->k = k;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetOpTensorDescriptor(cudnnOpTensorDescriptor_t d, cudnnOpTensorOp_t op, cudnnDataType_t type,
                                         cudnnNanPropagation_t) {
  d->set = op == CUDNN_OP_TENSOR_ADD && type == CUDNN_DATA_FLOAT;
  return d->set ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t cudnnDeriveBNTensorDescriptor(cudnnTensorDescriptor_t derived, const cudnnTensorDescriptor_t x,
                                            cudnnBatchNormMode_t mode) {
  if (mode != CUDNN_BATCHNORM_SPATIAL) return CUDNN_STATUS_NOT_SUPPORTED;
  derived->dims.assign(x->dims.size(), 1);
  derived->strides.assign(x->dims.size(), 1);
  derived->dims[1] = x->dims[1];
  derived->strides[0] = x->dims[1];
  return CUDNN_STATUS_SUCCESS;
}
