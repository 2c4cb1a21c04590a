#include "calibrate/validate/step_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "hw/text/document.h"
#include "model/kernels/kernel_form.h"
#include "model/profile/launch_text.h"
#include "model/stats/quantile.h"

namespace spillway {
namespace {

constexpr const char* kStep = "step";
constexpr double kNanosInMicrosecond = 1e3;  // nanoseconds

// ---- from a step to samples

using Times = std::vector<double>;  // nanoseconds
using CopySize = std::pair<Direction, Bytes>;

bool CanBeStated(const Launch& launch) { return launch.shape.PadBegin() == launch.shape.PadEnd(); }

Sample SampleOf(const Times& times, const StepOrigin& origin) {
  Sample sample;
  sample.device = origin.device;
  sample.network = origin.network;
  sample.note = origin.note;
  sample.source = "this machine";
  sample.harness = "spillway step";
  sample.microseconds = Median(times) / kNanosInMicrosecond;
  sample.p10 = Quantile(times, 0.1) / kNanosInMicrosecond;
  sample.p90 = Quantile(times, 0.9) / kNanosInMicrosecond;
  sample.repetitions = static_cast<int>(times.size());
  return sample;
}

Sample KernelSample(const Launch& launch, const Times& times, Bytes workspace, const StepOrigin& origin) {
  Sample sample = SampleOf(times, origin);
  sample.what = SampleKind::kKernel;
  sample.kind = kStep;
  sample.launch = launch;
  sample.launch.workspace = kUsualWorkspace;
  if (launch.algorithm != 0) sample.algorithm = AlgorithmName(launch.kind, launch.pass, launch.algorithm);
  sample.workspace = workspace;
  return sample;
}

Sample CopySample(const CopySize& size, const Times& times, const StepOrigin& origin) {
  Sample sample = SampleOf(times, origin);
  sample.what = SampleKind::kCopy;
  sample.direction = size.first == Direction::kHostToDevice ? "h2d" : "d2h";
  sample.bytes = size.second;
  sample.kind = "pinned";
  sample.link = "local";
  sample.contention = kStep;
  return sample;
}

// ---- from samples to a machine

std::string Place(const SampleSet& set, const Sample& sample) {
  return fmt::format("{}:{}", set.files[static_cast<std::size_t>(sample.file)], sample.line);
}

void CheckDevice(const Machine& machine, const SampleSet& set) {
  const std::string& device = machine.devices[0].name;
  for (const Sample& sample : set.samples) {
    if (sample.device == device) continue;
    throw UserError(fmt::format("{}: error: costs of device '{}'; that of {} is '{}'", Place(set, sample),
                                sample.device, machine.name, device));
  }
  if (!set.samples.empty()) return;
  throw UserError(fmt::format("{}: error: no costs: a row per launch or copy is expected", set.files.front()));
}

double ErrorOf(const Sample& sample) {
  return std::clamp(sample.spread / 2.56, 0.005, 1.0);
}  // of 10th to 90th percentile

void TakeKernels(const SampleSet& set, Device& device) {
  std::vector<MeasuredOp> seen;
  for (const Sample& sample : set.samples) {
    if (sample.what != SampleKind::kKernel) continue;
    MeasuredOp op = MeasuredOpOf(sample.launch);
    op.time = std::llround(sample.microseconds * kNanosInMicrosecond);
    op.error = ErrorOf(sample);
    op.workspace = std::max<Bytes>(0, sample.workspace);
    seen.push_back(std::move(op));
  }
  const auto same_launch = [](const MeasuredOp& a, const MeasuredOp& b) {
    return a.op == b.op && a.pass == b.pass && a.shape == b.shape && a.math == b.math && a.precision == b.precision &&
           a.layout == b.layout && a.accumulate == b.accumulate;
  };
  std::erase_if(device.measured, [&](const MeasuredOp& known) {
    return std::any_of(seen.begin(), seen.end(), [&](const MeasuredOp& op) { return same_launch(op, known); });
  });
  device.measured.insert(device.measured.end(), seen.begin(), seen.end());
  device.measured_source = {Source::Kind::kMeasured, "a step, " + set.files.front()};
}

// The profile's curve outside of the sizes measured, scaled to meet them.
void TakeCopies(const std::map<Bytes, Nanos>& measured, const std::string& file, TransferCurve& curve) {
  if (measured.empty()) return;
  const auto scaled = [&](const TransferCurve::Point& point, const std::pair<const Bytes, Nanos>& by) {
    const double factor = static_cast<double>(by.second) / static_cast<double>(curve.Time(by.first));
    return TransferCurve::Point{point.bytes, std::llround(static_cast<double>(point.time) * factor)};
  };
  std::vector<TransferCurve::Point> points;
  for (const TransferCurve::Point& point : curve.points) {
    if (point.bytes < measured.begin()->first) points.push_back(scaled(point, *measured.begin()));
  }
  for (const auto& [bytes, time] : measured) points.push_back({bytes, time});
  const Bytes last = measured.rbegin()->first;
  for (const Bytes beyond :
       {std::max(last, curve.points.back().bytes) + kMB, std::max(last, curve.points.back().bytes) + kGB}) {
    points.push_back(scaled({beyond, curve.Time(beyond)}, *measured.rbegin()));
  }
  for (std::size_t k = 1; k < points.size(); ++k) points[k].time = std::max(points[k].time, points[k - 1].time);
  curve.points = std::move(points);
  curve.source = {Source::Kind::kMeasured, "a step, " + file};
}

}  // namespace

std::vector<Sample> SamplesOfStep(const Program& program, std::span<const Timeline> timelines, const CostModel& costs,
                                  const StepOrigin& origin) {
  std::map<std::uint32_t, Times> kernels;  // by row of launches
  std::map<CopySize, Times> copies;
  for (const Timeline& timeline : timelines) {
    for (const Span& span : timeline.spans) {
      const Instruction& in = program.code[span.instruction];
      const auto took = static_cast<double>(span.end - span.start);
      if (in.opcode == Opcode::kKernel) kernels[program.kernels[in.arg].launch].push_back(took);
      if (in.opcode != Opcode::kCopy) continue;
      const Copy& copy = program.copies[in.arg];
      if (copy.rows <= 1) copies[{copy.direction, copy.bytes}].push_back(took);
    }
  }
  std::vector<Sample> samples;
  for (const auto& [row, times] : kernels) {
    const Launch& launch = program.launches[row];
    if (!CanBeStated(launch) || Median(times) <= 0) continue;
    samples.push_back(KernelSample(launch, times, costs.Kernel(launch).workspace, origin));
  }
  for (const auto& [size, times] : copies) {
    if (Median(times) > 0) samples.push_back(CopySample(size, times, origin));
  }
  return samples;
}

Machine WithStepCosts(Machine machine, const SampleSet& set) {
  CheckDevice(machine, set);
  TakeKernels(set, machine.devices[0]);
  std::map<Bytes, Nanos> copies[2];
  for (const Sample& sample : set.samples) {
    if (sample.what != SampleKind::kCopy || sample.direction == "d2d") continue;
    copies[static_cast<std::size_t>(DirectionOf(sample.direction))][sample.bytes] =
        std::llround(sample.microseconds * kNanosInMicrosecond);
  }
  const auto link =
      std::find_if(machine.links.begin(), machine.links.end(), [](const Link& l) { return l.device == 0; });
  for (std::size_t way = 0; way < 2; ++way) TakeCopies(copies[way], set.files.front(), link->curves[way]);
  return machine;
}

}  // namespace spillway
