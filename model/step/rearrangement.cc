#include "model/step/rearrangement.h"

namespace spillway {
namespace {

using Triple = std::array<std::int64_t, 3>;

std::int64_t Volume(const Triple& t) { return t[0] * t[1] * t[2]; }
Triple ImageOf(const Shape& s) { return {s.d, s.h, s.w}; }
SamplePlace SizesOf(const Shape& s) { return {s.c, s.d, s.h, s.w}; }

// Row-major number of a place, and back.
std::int64_t NumberOf(const Triple& at, const Triple& sizes) { return (at[0] * sizes[1] + at[1]) * sizes[2] + at[2]; }
Triple PlaceOf(std::int64_t number, const Triple& sizes) {
  return {number / (sizes[1] * sizes[2]), number / sizes[2] % sizes[1], number % sizes[2]};
}

std::int64_t Wrapped(std::int64_t at, std::int64_t size) { return ((at % size) + size) % size; }

SamplePlace FromStrided(const Rearrangement& r, const SamplePlace& to) {
  SamplePlace from{};
  for (std::size_t k = 0; k < kSampleAxes; ++k) from[k] = r.begin[k] + to[k] * r.step[k];
  return from;
}

SamplePlace FromRolled(const Rearrangement& r, const Shape& in, const SamplePlace& to) {
  const Triple image = ImageOf(in);
  SamplePlace from = to;
  for (std::size_t k = 0; k < 3; ++k) from[k + 1] = Wrapped(to[k + 1] - r.shift[k], image[k]);
  return from;
}

SamplePlace FromWindows(const Rearrangement& r, const Shape& in, const SamplePlace& to) {
  const Triple block = PlaceOf(to[2], ImageBlocks(in, r.block)), within = PlaceOf(to[3], r.block);
  SamplePlace from = to;
  for (std::size_t k = 0; k < 3; ++k) from[k + 1] = block[k] * r.block[k] + within[k];
  return from;
}

SamplePlace FromMerged(const Rearrangement& r, const Shape& out, const SamplePlace& to) {
  Triple block{}, within{};
  for (std::size_t k = 0; k < 3; ++k) block[k] = to[k + 1] / r.block[k], within[k] = to[k + 1] % r.block[k];
  return {to[0], 0, NumberOf(block, ImageBlocks(out, r.block)), NumberOf(within, r.block)};
}

SamplePlace FromPixelsOut(const Rearrangement& r, const SamplePlace& to) {
  Triple within{};
  SamplePlace from = to;
  for (std::size_t k = 0; k < 3; ++k) from[k + 1] = to[k + 1] / r.block[k], within[k] = to[k + 1] % r.block[k];
  from[0] = to[0] * Volume(r.block) + NumberOf(within, r.block);
  return from;
}

SamplePlace FromPixelsIn(const Rearrangement& r, const SamplePlace& to) {
  const Triple within = PlaceOf(to[0] % Volume(r.block), r.block);
  SamplePlace from{to[0] / Volume(r.block)};
  for (std::size_t k = 0; k < 3; ++k) from[k + 1] = to[k + 1] * r.block[k] + within[k];
  return from;
}

SamplePlace FromPermuted(const Rearrangement& r, const SamplePlace& to) {
  SamplePlace from{};
  for (std::size_t k = 0; k < kSampleAxes; ++k) from[r.order[k]] = to[k];
  return from;
}

SamplePlace FromChannels(const Rearrangement& r, const Shape& in, const SamplePlace& to) {
  return {to[0] % r.groups * (in.c / r.groups) + to[0] / r.groups, to[1], to[2], to[3]};
}

SamplePlace From(const Rearrangement& r, const Shape& in, const Shape& out, const SamplePlace& to) {
  switch (r.form) {
    case RearrangementForm::kInOrder:
      return to;
    case RearrangementForm::kStrided:
      return FromStrided(r, to);
    case RearrangementForm::kRolled:
      return FromRolled(r, in, to);
    case RearrangementForm::kWindows:
      return FromWindows(r, in, to);
    case RearrangementForm::kMergedWindows:
      return FromMerged(r, out, to);
    case RearrangementForm::kPixelsOut:
      return FromPixelsOut(r, to);
    case RearrangementForm::kPixelsIn:
      return FromPixelsIn(r, to);
    case RearrangementForm::kChannels:
      return FromChannels(r, in, to);
    case RearrangementForm::kPermuted:
      return FromPermuted(r, to);
  }
  return to;
}

std::int64_t ElementAt(const SamplePlace& at, const SamplePlace& sizes) {
  std::int64_t element = 0;
  for (std::size_t k = 0; k < kSampleAxes; ++k) {
    if (at[k] < 0 || at[k] >= sizes[k]) return kZeroElement;
    element = element * sizes[k] + at[k];
  }
  return element;
}

}  // namespace

std::array<std::int64_t, 3> ImageBlocks(const Shape& image, const std::array<std::int64_t, 3>& block) {
  return {image.d / block[0], image.h / block[1], image.w / block[2]};
}

std::vector<std::int64_t> SourcesOf(const Rearrangement& r, const Shape& in, const Shape& out) {
  const std::int64_t elements = out.c * out.Spatial(), all = in.c * in.Spatial();
  std::vector<std::int64_t> sources;
  sources.reserve(static_cast<std::size_t>(elements));
  if (r.form == RearrangementForm::kInOrder) {
    for (std::int64_t i = 0; i < elements; ++i) sources.push_back(i < all ? i : kZeroElement);
    return sources;
  }
  const SamplePlace sizes = SizesOf(in), ends = SizesOf(out);
  SamplePlace to{};
  for (to[0] = 0; to[0] < ends[0]; ++to[0]) {
    for (to[1] = 0; to[1] < ends[1]; ++to[1]) {
      for (to[2] = 0; to[2] < ends[2]; ++to[2]) {
        for (to[3] = 0; to[3] < ends[3]; ++to[3]) sources.push_back(ElementAt(From(r, in, out, to), sizes));
      }
    }
  }
  return sources;
}

}  // namespace spillway
