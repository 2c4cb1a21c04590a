#include "calibrate/validate/rounding.h"

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "model/util/hash.h"

namespace spillway {

namespace {

// So many units of its last place up, or down below 0.
float Moved(float value, int places) {
  for (int i = 0; i < std::abs(places); ++i) value = std::nextafter(value, places > 0 ? HUGE_VALF : -HUGE_VALF);
  return value;
}

}  // namespace

void RoundedValues::Fill(int iteration, TensorId tensor, std::span<std::byte> bytes) {
  values_.Fill(iteration, tensor, bytes);
  const Tensor& filled = step_.tensors[static_cast<std::size_t>(tensor)];
  if (!filled.Traits().on_host && !filled.Traits().resident) return;
  const std::uint64_t of_tensor = Identity(iteration, tensor);
  for (std::size_t i = 0; (i + 1) * sizeof(float) <= bytes.size(); ++i) {
    float value = 0;
    std::memcpy(&value, &bytes[i * sizeof(float)], sizeof(float));
    const std::uint64_t drawn = Hasher(of_tensor).Add(static_cast<std::uint64_t>(i)).Value();
    if (value == 0) continue;
    value = Moved(value, static_cast<int>(drawn % (2 * kMostPlaces + 1)) - kMostPlaces);
    std::memcpy(&bytes[i * sizeof(float)], &value, sizeof(float));
  }
}

std::uint64_t RoundedValues::Identity(int iteration, TensorId tensor) const {
  return Hasher(values_.Identity(iteration, tensor)).Add(draw_).Value() | 1;
}

}  // namespace spillway
