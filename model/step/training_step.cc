#include "model/step/training_step.h"

namespace spillway {

Bytes TrainingStep::MapBytes() const {
  Bytes sum = 0;
  for (const TensorId id : maps) sum += tensors[static_cast<std::size_t>(id)].bytes;
  return sum;
}

Bytes TrainingStep::BytesOf(TensorClass use) const {
  Bytes sum = 0;
  for (const Tensor& tensor : tensors) sum += tensor.use == use ? tensor.bytes : 0;
  return sum;
}

}  // namespace spillway
