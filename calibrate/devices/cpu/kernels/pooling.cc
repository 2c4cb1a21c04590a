// Pooling by oneDNN on the plain layout, but for the backward of max pooling: oneDNN's needs the positions that its own
// forward saved, which no tensor of the step holds. As cuDNN does, it is found again from input and result.
//
// Averages are over the whole window: padding counts as zeros (cuDNN's COUNT_INCLUDE_PADDING).
#include <algorithm>

#include "calibrate/devices/cpu/kernels/dnnl_kernel.h"
#include "calibrate/devices/cpu/kernels/makers.h"

namespace spillway::cpu {
namespace {

struct Problem {
  bool deep;
  Desc in, out;
  Dims window, stride, before, after;  // padding on either side
};

// Where sizes were rounded up, the last window reaches beyond the padding.
std::int64_t PadAfter(std::int64_t in, std::int64_t out, std::int64_t window, std::int64_t stride, Padding pad) {
  return std::max(pad.end, (out - 1) * stride + window - in - pad.begin);
}

Problem ProblemOf(const OpShape& s) {
  const bool deep = s.in.d != 1 || s.out.d != 1 || s.window[0] != 1;
  const std::array<std::int64_t, 3> after{PadAfter(s.in.d, s.out.d, s.window[0], s.stride[0], s.pad[0]),
                                          PadAfter(s.in.h, s.out.h, s.window[1], s.stride[1], s.pad[1]),
                                          PadAfter(s.in.w, s.out.w, s.window[2], s.stride[2], s.pad[2])};
  return {.deep = deep,
          .in = Dense(DimsOf(s.in, deep)),
          .out = Dense(DimsOf(s.out, deep)),
          .window = Spatial(s.window, deep),
          .stride = Spatial(s.stride, deep),
          .before = Spatial(s.PadBegin(), deep),
          .after = Spatial(after, deep)};
}

dnnl::primitive_desc Forward(const Problem& p, dnnl::prop_kind kind, dnnl::algorithm method) {
  const dnnl::pooling_forward::desc operation(kind, method, p.in, p.out, p.stride, p.window, p.before, p.after);
  return FirstImplementation(operation);
}

// One axis of a window: positions [begin, end) of the input.
struct Extent {
  std::int64_t begin, end;
};
Extent ExtentOf(const OpShape& s, std::size_t axis, std::int64_t size, std::int64_t position) {
  const std::int64_t begin = position * s.stride[axis] - s.pad[axis].begin;
  return {std::max<std::int64_t>(begin, 0), std::min(begin + s.window[axis], size)};
}

// Where each window lies, in the order of the outputs of one plane: body(d, h, w).
template <typename Body>
void ForEachWindow(const OpShape& s, Body body) {
  for (std::int64_t z = 0; z < s.out.d; ++z) {
    const Extent d = ExtentOf(s, 0, s.in.d, z);
    for (std::int64_t row = 0; row < s.out.h; ++row) {
      const Extent h = ExtentOf(s, 1, s.in.h, row);
      for (std::int64_t column = 0; column < s.out.w; ++column) body(d, h, ExtentOf(s, 2, s.in.w, column));
    }
  }
}

// Index of the first element of the window that equals `value`; -1: none does (NaN).
std::int64_t Find(const Shape& in, const float* x, Extent d, Extent h, Extent w, float value) {
  for (std::int64_t z = d.begin; z < d.end; ++z) {
    for (std::int64_t y = h.begin; y < h.end; ++y) {
      const std::int64_t row = (z * in.h + y) * in.w;
      for (std::int64_t i = row + w.begin; i < row + w.end; ++i) {
        if (x[i] == value) return i;
      }
    }
  }
  return -1;
}

// The gradient of one image of one channel.
void MaxPlaneBackward(const OpShape& s, const float* x, const float* y, const float* dy, float* dx) {
  ForEachWindow(s, [&](Extent d, Extent h, Extent w) {
    const std::int64_t at = Find(s.in, x, d, h, w, *y++);
    if (at >= 0) dx[at] += *dy;
    ++dy;
  });
}

// Places of maxima are counted within the part of the window that lies in the image, so that they hold for any tile.
std::int64_t IndexAt(const Shape& in, Extent d, Extent h, Extent w, std::int64_t place) {
  const std::int64_t width = w.end - w.begin, height = h.end - h.begin;
  const std::int64_t z = d.begin + place / (height * width), y = h.begin + place / width % height;
  return (z * in.h + y) * in.w + w.begin + place % width;
}

void IndexedPlane(const OpShape& s, const float* x, float* y, std::int64_t* places) {
  ForEachWindow(s, [&](Extent d, Extent h, Extent w) {
    const std::int64_t count = (d.end - d.begin) * (h.end - h.begin) * (w.end - w.begin);
    *places = 0;
    *y = x[IndexAt(s.in, d, h, w, 0)];
    for (std::int64_t k = 1; k < count; ++k) {
      const float value = x[IndexAt(s.in, d, h, w, k)];
      if (value <= *y) continue;
      *y = value;
      *places = k;
    }
    ++y, ++places;
  });
}

void IndexedPlaneBackward(const OpShape& s, const std::int64_t* places, const float* dy, float* dx) {
  ForEachWindow(s, [&](Extent d, Extent h, Extent w) { dx[IndexAt(s.in, d, h, w, *places++)] += *dy++; });
}

// Forward writes {result, places}; backward reads {input, places, gradient}.
KernelPtr MakeIndexed(const OpCall& call) {
  const OpShape s = call.launch.shape;
  const std::int64_t planes = s.in.n * s.in.c, in = s.in.Spatial(), out = s.out.Spatial();
  if (call.launch.pass == Pass::kForward) {
    return std::make_unique<LoopKernel>([=](const CpuArguments& a) {
      auto* const places = static_cast<std::int64_t*>(a.writes[1]);
      for (std::int64_t p = 0; p < planes; ++p)
        IndexedPlane(s, Read(a, 0) + p * in, Write(a, 0) + p * out, places + p * out);
    });
  }
  return std::make_unique<LoopKernel>([=, accumulate = call.launch.accumulate](const CpuArguments& a) {
    const auto* const places = static_cast<const std::int64_t*>(a.reads[1]);
    if (!accumulate) std::fill_n(Write(a, 0), s.in.Elements(), 0.0f);
    for (std::int64_t p = 0; p < planes; ++p) {
      IndexedPlaneBackward(s, places + p * out, Read(a, 2) + p * out, Write(a, 0) + p * in);
    }
  });
}

}  // namespace

// Backward reads {input, result, gradient}.
KernelPtr MakeMaxPool(const OpCall& call) {
  if (call.details.saved_indices) return MakeIndexed(call);
  const OpShape& s = call.launch.shape;
  if (call.launch.pass == Pass::kForward) {
    const Problem p = ProblemOf(s);
    const std::vector<Binding> bindings{Reads(DNNL_ARG_SRC, 0, p.in), Writes(DNNL_ARG_DST, 0, p.out)};
    return std::make_unique<DnnlKernel>(Forward(p, dnnl::prop_kind::forward_inference, dnnl::algorithm::pooling_max),
                                        bindings, false);
  }
  return std::make_unique<LoopKernel>([s, accumulate = call.launch.accumulate](const CpuArguments& a) {
    const float *x = Read(a, 0), *y = Read(a, 1), *dy = Read(a, 2);
    float* dx = Write(a, 0);
    if (!accumulate) std::fill_n(dx, s.in.Elements(), 0.0f);
    for (std::int64_t plane = 0; plane < s.in.n * s.in.c; ++plane) {
      const std::int64_t in = plane * s.in.Spatial(), out = plane * s.out.Spatial();
      MaxPlaneBackward(s, x + in, y + out, dy + out, dx + in);
    }
  });
}

KernelPtr MakeAveragePool(const OpCall& call) {
  const Problem p = ProblemOf(call.launch.shape);
  const auto method = dnnl::algorithm::pooling_avg_include_padding;
  const dnnl::primitive_desc forward = Forward(p, dnnl::prop_kind::forward_training, method);
  if (call.launch.pass == Pass::kForward) {
    const std::vector<Binding> bindings{Reads(DNNL_ARG_SRC, 0, p.in), Writes(DNNL_ARG_DST, 0, p.out)};
    return std::make_unique<DnnlKernel>(forward, bindings, false);
  }
  const dnnl::pooling_backward::desc backward(method, p.in, p.out, p.stride, p.window, p.before, p.after);
  const std::vector<Binding> bindings{Reads(DNNL_ARG_DIFF_DST, 0, p.out), Writes(DNNL_ARG_DIFF_SRC, 0, p.in)};
  return std::make_unique<DnnlKernel>(FirstImplementation(backward, &forward), bindings, call.launch.accumulate);
}

}  // namespace spillway::cpu
