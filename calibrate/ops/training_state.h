// The state of training besides tensors: labels of the iteration, running statistics, the loss, and random numbers. The
// same for the same seed on every device.
#ifndef SPILLWAY_CALIBRATE_OPS_TRAINING_STATE_H_
#define SPILLWAY_CALIBRATE_OPS_TRAINING_STATE_H_

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "model/network/network.h"

namespace spillway {

// The class of sample (and position) `index` of an iteration's batch, in [0, classes).
std::int32_t LabelOf(std::uint64_t seed, std::uint64_t iteration, std::uint64_t index, std::int64_t classes);

// For dropout's masks: a number of its own for each iteration and dropout layer, the same for a recomputation.
// `first_element`: of the batch, that the op begins with; a batch in parts draws what the whole one does.
std::uint64_t RandomStream(std::uint64_t seed, std::uint64_t iteration, LayerId layer, std::int64_t first_element = 0);

// Mean of -log(probability of the label); what training minimises. Sums in double. Labels: class per sample and
// position, batch outermost.
double CrossEntropy(const Shape& shape, std::span<const float> probabilities, std::span<const std::int32_t> labels,
                    double smoothing = 0);

// The loss of one op, from its first result of that shape; the mean over what the op works on. Sums in double. REQUIRES:
// a kind with OpTraits::loss; labels where the kind reads them.
double LossOf(OpKind kind, const LossRule& rule, const Shape& shape, std::span<const float> result,
              std::span<const std::int32_t> labels);

// Rows of the probabilities' shape: 1 at the class of each sample and position, 0 elsewhere.
std::vector<float> OneHot(const Shape& shape, std::span<const std::int32_t> labels);

struct TrainingOptions {
  std::uint64_t seed = 1;  // of labels and dropout
  float learning_rate = 0.01f;
  float momentum = 0.9f;
};

// The state of one session. Not thread-safe: kernels that read or write it run one at a time.
class TrainingState {
 public:
  explicit TrainingState(const TrainingOptions& options) : options_(options) {}

  void StartIteration(std::uint64_t iteration);  // draws labels
  // Adds the loss of a share of the batch; shares of an iteration add up.
  void NoteLoss(double loss, double share);
  double loss() const { return loss_; }  // of this iteration; NaN: none was computed
  std::uint64_t iteration() const { return iteration_; }
  const TrainingOptions& options() const { return options_; }

  // Both hold as long as this; of the same layer the same. Labels: of the batch, from `first` on. Statistics: means, then
  // variances of all channels.
  std::span<const std::int32_t> Labels(std::int64_t first, std::int64_t count, std::int64_t classes);
  std::span<float> Statistics(LayerId layer, std::int64_t channels);
  std::map<LayerId, std::vector<float>> TakeStatistics() { return std::move(statistics_); }

 private:
  TrainingOptions options_;
  std::uint64_t iteration_ = 0;
  double loss_ = 0;
  std::map<std::array<std::int64_t, 3>, std::vector<std::int32_t>> labels_;  // by first, count and classes
  std::map<LayerId, std::vector<float>> statistics_;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_OPS_TRAINING_STATE_H_
