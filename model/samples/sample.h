// Samples: measured times of single operations, ours or published ones, in one CSV format.
//
// One row per measured operation. Columns are found by name, in any order; unknown columns are ignored with a warning,
// absent optional ones are empty. An empty field means "does not apply" or "not known". Times are microseconds, sizes
// bytes, rates follow from both. README.md of this folder is the reference: names of ops, passes and algorithms,
// defaults, ranges.
//
//   identity   device, host, driver, cuda, cudnn               device is required
//   operation  op, pass, algorithm, math, precision, layout    op is required
//   shape      n, c, h, w, k, r, s, pad, stride, groups        forward input n,c,h,w; k output channels; r x s window
//              d, t, pad_d, stride_d, pad_w, stride_w          depth and its window; depth and width where they differ
//              operands, out_d, out_h, out_w, accumulate       from height
//   transfer   bytes, row_bytes, pitch_bytes, direction, kind, link
//   state      contention, kind                                "none", or what ran beside
//   result     median_us, p10_us, p90_us, samples, host_us, workspace_bytes, workspace_limit, status,
//              deterministic, heuristic_rank, sm_clock_mhz
//   origin     harness, source, network, note, date
//
// `algorithm`: a name of AlgorithmNames; or "best": the fastest of all, which one is not known; or "best:NAME": NAME,
// which an autotuner found to be the fastest of all; or empty: not known.
// `harness` names what took the times, where its own time per call is in them ("pytorch-2.1-events"): a fit finds that
// floor apart and keeps it out of the kernel. `network`: where the shape comes from, for folds that leave one out.
#ifndef SPILLWAY_MODEL_SAMPLES_SAMPLE_H_
#define SPILLWAY_MODEL_SAMPLES_SAMPLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "hw/machine/chips.h"
#include "model/kernels/kernel_form.h"
#include "model/profile/machine.h"
#include "model/step/launch.h"

namespace spillway {

// The direction of the word "h2d" or "d2h".
inline Direction DirectionOf(const std::string& word) {
  return word == "h2d" ? Direction::kHostToDevice : Direction::kDeviceToHost;
}

enum class SampleKind : std::uint8_t { kKernel, kCopy, kOther };  // kOther: read, kept, not fitted (overheads, memory)

struct Sample {
  SampleKind what = SampleKind::kOther;
  std::string device, host, driver, cuda, cudnn;
  // Kernel. `workspace` of the launch is the limit that was set, kUsualWorkspace where none is known.
  Launch launch;          // algorithm as in the model, 0 where not known
  bool best = false;      // the fastest of all algorithms
  std::string algorithm;  // as written, without "best"; also of ops whose variants the model does not tell apart
  // Copy.
  Bytes bytes = 0, row_bytes = 0, pitch_bytes = 0;
  std::string direction;  // "h2d", "d2h", "d2d"
  std::string kind;  // "pinned", "pageable", "managed_prefetch", "managed_touch", "pitched"; kernels: "cold", "warm"
  std::string link;  // "local", "remote", or a link's name; "cuda0-cuda1" from one device to another
  std::string contention = "none";
  // Result.
  double microseconds = 0;            // median
  double p10 = 0, p90 = 0;            // microseconds; 0 = not known
  double spread = 0;                  // (p90 - p10) / median; 0 = not known
  double host_microseconds = 0;       // of the issuing call; 0 = not known
  int repetitions = 0;                // 0 = not known
  Bytes workspace = kUsualWorkspace;  // asked for; negative: not known
  // The library's facts on an algorithm: 1 if it gives the same bits each time, else 0; its place in the library's
  // order, from 0, its first choice; and the clock during the measurement. -1: unknown.
  int deterministic = -1, heuristic_rank = -1, sm_clock_mhz = -1;
  std::string op;  // as written
  std::string harness, source, network, note, date;
  // Calibrations only: the round of the measurement from 1 (0 = unknown), flags ("noisy"), and the host's load
  // meanwhile, the one-minute average of runnable processes (0 = unknown).
  int round = 0;
  std::vector<std::string> flags;
  double load = 0;
  int rows = 1;            // of the files that it stands for: an operation that a network has often comes often
  int file = 0, line = 0;  // where it stands: index into the files read, line from 1
  bool operator==(const Sample&) const = default;
};

// The layer of a kernel sample: its op and shape without batch, pass, precision and algorithm. All samples of one layer
// stay in one fold of a cross-validation: they are near copies of each other. Of a copy: what is copied which way;
// of anything else the op.
std::string LayerKey(const Sample& sample);

// A known device as the cost laws see it.
Chip ChipOf(const ChipFigures& figures);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_SAMPLES_SAMPLE_H_
