#include "calibrate/validate/link.h"

#include <fmt/format.h>

#include <algorithm>

#include "hw/text/document.h"
#include "model/stats/quantile.h"

namespace spillway {

namespace {

constexpr StreamId kIn = 1, kOut = 2;  // 0: the compute stream, which every device has
constexpr Bytes kSmall = kMiB;         // copies below it are noisier, and cheap

struct CopyList {
  Program program;
  std::vector<Direction> direction;  // by instruction
  std::vector<Bytes> bytes;          // by instruction; 0: no copy

  CopyList() {
    program.streams = {{0, StreamKind::kCompute}, {0, StreamKind::kHostToDevice}, {0, StreamKind::kDeviceToHost}};
  }
  // A buffer on the device at `offset`, then one on the host.
  BufferId Pair(Bytes size, Bytes offset) {
    program.buffers.push_back({.bytes = size, .offset = offset});
    program.buffers.push_back({.bytes = size, .kind = BufferKind::kHost});
    return static_cast<BufferId>(program.buffers.size() - 2);
  }
  void Copies(int count, BufferId pair, Bytes size, Direction way) {
    const bool in = way == Direction::kHostToDevice;
    for (int k = 0; k < count; ++k) {
      Add({.opcode = Opcode::kCopy,
           .stream = in ? kIn : kOut,
           .arg = static_cast<std::uint32_t>(program.copies.size())},
          way, size);
      const BufferId host = pair + 1;
      program.copies.push_back({.from = in ? host : pair, .to = in ? pair : host, .bytes = size, .direction = way});
    }
  }
  // What follows on `later` starts after what there is on `earlier`.
  void Then(StreamId earlier, StreamId later) {
    Add({.opcode = Opcode::kRecord, .stream = earlier, .arg = program.events}, Direction::kHostToDevice, 0);
    Add({.opcode = Opcode::kWait, .stream = later, .cause = Cause::kData, .arg = program.events},
        Direction::kHostToDevice, 0);
    ++program.events;
  }

 private:
  void Add(const Instruction& instruction, Direction way, Bytes size) {
    program.code.push_back(instruction);
    direction.push_back(way);
    bytes.push_back(size);
  }
};

std::vector<Span> SpansOf(const CopyList& list, ExecutionDevice& device, const Clock& clock) {
  ExecuteResult run = Execute(list.program, nullptr, device, clock, {.warm_up = 1, .instrumented = true});
  if (run.failure) throw UserError("measuring the link: " + run.failure->message);
  return std::move(run.timeline.spans);
}

double MedianTime(const std::vector<Span>& spans, const CopyList& list, Direction way, Bytes size) {
  std::vector<double> times;
  for (const Span& span : spans) {
    if (list.direction[span.instruction] != way || list.bytes[span.instruction] != size) continue;
    times.push_back(static_cast<double>(span.end - span.start));
  }
  return times.empty() ? 0 : Median(std::move(times));
}

// Each size alone, one direction after the other.
CopyList Alone(const MeasureLinkOptions& options) {
  CopyList list;
  for (const Bytes size : options.sizes) {
    const BufferId pair = list.Pair(size, 0);
    const int count = size < kSmall ? options.copies + (options.copies + 1) / 2 : options.copies;
    list.Copies(count, pair, size, Direction::kHostToDevice);
    list.Then(kIn, kOut);
    list.Copies(count, pair, size, Direction::kDeviceToHost);
    list.Then(kOut, kIn);
  }
  return list;
}

CopyList Both(const MeasureLinkOptions& options) {
  CopyList list;
  const Bytes size = options.duplex_size;
  const BufferId in = list.Pair(size, 0), out = list.Pair(size, size);
  list.Copies(options.duplex_copies, in, size, Direction::kHostToDevice);
  list.Copies(options.duplex_copies, out, size, Direction::kDeviceToHost);
  return list;
}

// Those during all of which the other direction is busy too.
std::vector<Span> Overlapped(const std::vector<Span>& spans, const CopyList& list) {
  std::array<Nanos, 2> first{}, last{};
  std::array<bool, 2> any{};
  for (const Span& span : spans) {
    const auto way = static_cast<std::size_t>(list.direction[span.instruction]);
    first[way] = any[way] ? std::min(first[way], span.start) : span.start;
    last[way] = std::max(last[way], span.end);
    any[way] = true;
  }
  std::vector<Span> inside;
  for (const Span& span : spans) {
    if (span.start >= std::max(first[0], first[1]) && span.end <= std::min(last[0], last[1])) inside.push_back(span);
  }
  return inside;
}

std::array<double, 2> DuplexFactors(const LinkCurves& measured, const MeasureLinkOptions& options,
                                    ExecutionDevice& device, const Clock& clock) {
  const CopyList both = Both(options);
  const std::vector<Span> spans = Overlapped(SpansOf(both, device, clock), both);
  std::array<double, 2> factors = {1, 1};
  for (const Direction way : {Direction::kHostToDevice, Direction::kDeviceToHost}) {
    const double beside = MedianTime(spans, both, way, options.duplex_size);
    if (beside <= 0) continue;  // the faster direction had ended before one of these had
    const auto alone = static_cast<double>(measured.curves[static_cast<std::size_t>(way)].Time(options.duplex_size));
    factors[static_cast<std::size_t>(way)] = std::min(1.0, alone / beside);
  }
  return factors;
}

void ScaleSlowdowns(double factor, Device& device) {
  const auto scale = [factor](double& slowdown) { slowdown = 1 + (slowdown - 1) * factor; };
  for (CostLaw& law : device.laws) scale(law.copy_slowdown);
  for (KernelModel& model : device.models) scale(model.copy_slowdown);
  for (MeasuredOp& op : device.measured) scale(op.copy_slowdown);
}

}  // namespace

MeasuredLink LinkCurves::Summary(double stated_rate) const {
  return {.stated_rate = stated_rate,
          .in_rate = curves[0].Rate(),
          .out_rate = curves[1].Rate(),
          .in_latency = curves[0].points.front().time,
          .out_latency = curves[1].points.front().time,
          .in_duplex = duplex_factor[0],
          .out_duplex = duplex_factor[1]};
}

LinkCurves MeasureLink(ExecutionDevice& device, const Clock& clock, const MeasureLinkOptions& options) {
  LinkCurves measured;
  const CopyList alone = Alone(options);
  const std::vector<Span> spans = SpansOf(alone, device, clock);
  for (const Direction way : {Direction::kHostToDevice, Direction::kDeviceToHost}) {
    TransferCurve& curve = measured.curves[static_cast<std::size_t>(way)];
    Nanos least = 0;
    for (const Bytes size : options.sizes) {
      least = std::max(least, static_cast<Nanos>(MedianTime(spans, alone, way, size)));
      curve.points.push_back({size, least});
    }
    curve.source = {Source::Kind::kMeasured,
                    fmt::format("at the start of the validation, median of {} copies or more", options.copies)};
  }
  measured.duplex_factor = DuplexFactors(measured, options, device, clock);
  return measured;
}

Machine WithMeasuredLink(Machine machine, const LinkCurves& measured, double stated_rate, double profile_rate) {
  for (Link& link : machine.links) {
    if (link.device != 0) continue;
    link.curves = measured.curves;
    link.duplex_factor = measured.duplex_factor;
    link.duplex_source = measured.curves[0].source;
    link.host_error = 0;
    link.other_memory.clear();
    break;
  }
  const double rate = (measured.curves[0].Rate() + measured.curves[1].Rate()) / 2;
  if (profile_rate > 0) ScaleSlowdowns(rate / profile_rate, machine.devices[0]);
  const std::string limit = stated_rate > 0 ? fmt::format("limited to {:g} GB/s", stated_rate) : "not limited";
  machine.notes.push_back(fmt::format("validate: link {}, curves measured then; slowdowns by copies scaled by {:.3g}",
                                      limit, profile_rate > 0 ? rate / profile_rate : 1));
  return machine;
}

}  // namespace spillway
