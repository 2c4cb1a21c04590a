// The probe's sections on what the device does: launches, copies, paced copies, a convolution by every algorithm.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>

#include "calibrate/devices/cuda/emulation.h"
#include "calibrate/devices/cuda/known_launches.h"
#include "calibrate/devices/cuda/probe_internal.h"
#include "hw/text/document.h"
#include "model/kernels/kernel_form.h"
#include "model/stats/quantile.h"
#include "sim/execute/device.h"

namespace spillway {
namespace {

constexpr double kPerMicrosecond = 1000;
constexpr int kTimings = 9;

// Operands of a launch by itself, bytes of each: what it reads, then what it writes.
struct OperandBytes {
  std::vector<Bytes> reads, writes;
};

OperandBytes OperandsOf(const Launch& launch) {
  constexpr Bytes kFloat = sizeof(float);
  const Bytes in = kFloat * launch.shape.in.Elements(), out = kFloat * launch.shape.out.Elements();
  if (!HasWeights(launch.kind)) return {{in}, {out}};
  const auto& window = launch.shape.window;
  const Bytes weight = kFloat * launch.shape.in.c * launch.shape.out.c * window[0] * window[1] * window[2];
  if (launch.pass == Pass::kBackwardData) return {{out, weight}, {in}};
  if (launch.pass == Pass::kBackwardFilter) return {{in, out}, {weight}};
  return {{in, weight}, {out}};
}

double TimeOnce(CudaTimer& timer, const std::function<void()>& run, int runs, bool hold) {
  if (hold) timer.Hold(2);
  timer.Start();
  timer.Stop();
  timer.Start();
  for (int k = 0; k < runs; ++k) run();
  timer.Stop();
  timer.Finish();
  return std::max(0.0, timer.times()[1] - timer.times()[0]) / runs;
}

}  // namespace

ProbeKernel::ProbeKernel(CudaCalls& calls, const Launch& launch, CudaStream* stream)
    : calls_(calls),
      stream_(stream),
      kernel_(calls.Prepare(CallOf(launch))),
      workspace_(NewDeviceMemory(calls, kernel_->workspace())) {
  const OperandBytes operands = OperandsOf(launch);
  const auto take = [&](const std::vector<Bytes>& sizes, std::vector<void*>* list) {
    for (const Bytes bytes : sizes) {
      memory_.push_back(NewDeviceMemory(calls, bytes));
      calls.Fill(memory_.back().get(), 0, bytes, stream);
      list->push_back(memory_.back().get());
    }
  };
  take(operands.reads, &reads_);
  take(operands.writes, &writes_);
}

ProbeKernel::~ProbeKernel() {
  try {
    calls_.Synchronize(stream_);
  } catch (const std::exception&) {  // whoever caused it has been told
  }
}

double TimeOfRuns(CudaTimer& timer, const std::function<void()>& run, int runs) {
  TimeOnce(timer, run, 1, false);  // loads what it needs
  std::vector<double> times;
  for (int k = 0; k < kTimings; ++k) {
    const double time = TimeOnce(timer, run, runs, true);
    times.push_back(timer.ran_out() ? TimeOnce(timer, run, runs, false) : time);
  }
  return Median(std::move(times));
}

bool ProbeLaunches(const Probe& probe) {
  constexpr int kMany = 20;
  CudaTimer timer(probe.calls);
  const DrainAtEnd drain(timer);
  for (const std::int64_t elements : {1L << 10, 1L << 16, 1L << 20, 1L << 24}) {
    ProbeKernel relu(probe.calls, ReluOf(elements), timer.stream());
    const auto run = [&] { relu.Run(); };
    const double one = TimeOfRuns(timer, run, 1), many = TimeOfRuns(timer, run, kMany);
    probe.tell(fmt::format("ReLU of {}: {:.2f} us between a pair of events, {:.2f} us each of {} between one: {:+.2f}",
                           FormatBytes(4 * elements), one / kPerMicrosecond, many / kPerMicrosecond, kMany,
                           (one - many) / kPerMicrosecond));
  }
  return true;
}

bool ProbeCopies(const Probe& probe) {
  const Bytes bytes = probe.options.copy;
  const OwnedDeviceMemory device = NewDeviceMemory(probe.calls, 2 * bytes);
  const OwnedPinnedMemory host = NewPinnedMemory(probe.calls, 2 * bytes);
  const OwnedCudaStream other = NewStream(probe.calls);
  const OwnedCudaEvent go = NewEvent(probe.calls, false), end = NewEvent(probe.calls, false);
  CudaTimer timer(probe.calls);
  const DrainAtEnd drain(timer);
  const auto in = [&] { probe.calls.Copy(device.get(), host.get(), bytes, Direction::kHostToDevice, timer.stream()); };
  const auto out = [&](CudaStream* stream) {
    probe.calls.Copy(host.get() + bytes, device.get() + bytes, bytes, Direction::kDeviceToHost, stream);
  };
  const auto both = [&] {
    probe.calls.Record(go.get(), timer.stream());
    probe.calls.Wait(other.get(), go.get());
    out(other.get());
    in();
    probe.calls.Record(end.get(), other.get());
    probe.calls.Wait(timer.stream(), end.get());
  };
  const auto rate = [&](const std::function<void()>& run) {
    return static_cast<double>(bytes) / TimeOfRuns(timer, run, 1);
  };
  const double to = rate(in), from = rate([&] { out(timer.stream()); }), each = rate(both);
  probe.tell(fmt::format("{} pinned: {:.2f} GB/s to the device, {:.2f} from it, {:.2f} each way at once",
                         FormatBytes(bytes), to, from, each));
  return true;
}

bool ProbePacing(const Probe& probe) {
  constexpr int kProducts = 100;
  const Bytes bytes = probe.options.copy;
  const LinkTimes pieces = MeasurePieces(probe.calls);
  const OwnedDeviceMemory device = NewDeviceMemory(probe.calls, bytes);
  const OwnedPinnedMemory host = NewPinnedMemory(probe.calls, bytes);
  const OwnedCudaStream busy = NewStream(probe.calls);
  ProbeKernel product(probe.calls, ProductOf(2048), busy.get());
  CudaTimer timer(probe.calls);
  const DrainAtEnd drain(timer);
  const double wanted = static_cast<double>(bytes) / probe.options.paced;
  const auto copy = [&] {
    PacedCopy(probe.calls, probe.options.paced, pieces, device.get(), host.get(), bytes, Direction::kHostToDevice,
              timer.stream());
  };
  const double alone = TimeOfRuns(timer, copy, 1);
  for (int k = 0; k < kProducts; ++k) product.Run();
  const double beside = TimeOnce(timer, copy, 1, false);
  probe.calls.Synchronize(busy.get());
  probe.tell(fmt::format("{} at {:g} GB/s by spins: {:+.1f} % of the time alone, {:+.1f} % beside products",
                         FormatBytes(bytes), probe.options.paced, 100 * (alone / wanted - 1),
                         100 * (beside / wanted - 1)));
  return true;
}

bool ProbeConvolution(const Probe& probe) {
  bool all = true;
  CudaTimer timer(probe.calls);
  const DrainAtEnd drain(timer);
  for (const Pass pass : {Pass::kForward, Pass::kBackwardData, Pass::kBackwardFilter}) {
    Launch launch = ConvolutionOf(pass);
    int ran = 0;
    for (const CudaAlgorithm& algorithm : probe.calls.Algorithms(CallOf(launch))) {
      launch.algorithm = algorithm.algorithm;
      launch.workspace = algorithm.workspace;
      const std::string what =
          fmt::format("{} by {}", PassName(pass), AlgorithmText(launch.kind, pass, algorithm.algorithm));
      try {
        ProbeKernel kernel(probe.calls, launch, timer.stream());
        const double time = TimeOfRuns(
            timer, [&] { kernel.Run(); }, 1);
        probe.tell(fmt::format("{}: {:.1f} us, workspace {}{}", what, time / kPerMicrosecond,
                               FormatBytes(kernel.workspace()), algorithm.deterministic ? "" : ", sums vary"));
        ++ran;
      } catch (const DeviceError& error) {
        timer.Release();
        if (error.fault() != Fault::kRefused && error.fault() != Fault::kNoMemory) throw;
        probe.tell(fmt::format("{}: refused: {}", what, error.what()));
      }
    }
    if (ran == 0) probe.tell(fmt::format("{}: no algorithm ran", PassName(pass)));
    all = all && ran > 0;
  }
  return all;
}

}  // namespace spillway
