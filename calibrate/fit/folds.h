// Which samples are predicted from which: splits that keep near copies together (a layer with all its batches, passes,
// precisions, algorithms and library versions), and splits that ask for more than interpolation.
#ifndef SPILLWAY_CALIBRATE_FIT_FOLDS_H_
#define SPILLWAY_CALIBRATE_FIT_FOLDS_H_

#include <span>
#include <string>
#include <vector>

#include "model/samples/sample.h"

namespace spillway {

// The fold of a layer, 0 .. folds - 1, by a hash of its key (FNV-1a): the same whatever else is in the data.
int FoldOf(const std::string& key, int folds);

struct FoldItem {
  std::string key;  // LayerKey
  double batch = 0;
  std::string window;   // "3x3"; "" where there is none
  std::string network;  // "" = not known
  std::string source;   // who measured: Sample::harness
};
FoldItem FoldItemOf(const Sample& sample);

struct Split {
  std::string kind;              // "layer", "batch", "window", "network", "source"
  std::string left_out;          // "fold 3", "batch >= 64 from <= 8", "window 5x5", "network vgg16"
  std::vector<int> train, test;  // indices, ascending
};

// One split per fold; folds without a test or a training item are left out.
std::vector<Split> LayerFolds(std::span<const FoldItem> items, int folds);

// Splits of three kinds, each with at least `least` items on either side and not more than four fifths left out:
//   batch    train on batches up to b, predict those of at least 8 b, b being the one that leaves most on the smaller
//            side, training counted half
//   window   one window size left out
//   network  one network left out, all others and those of unknown origin trained on; layers that are in both are
//            taken out of the training. Of more than forty networks bundles of them, by a hash of their names
std::vector<Split> ExtrapolationSplits(std::span<const FoldItem> items, int least = 12);

// What a network that nobody measured, timed by somebody new, is like: the networks of above left out, then whole
// sources, where others have at least as many items, layers that are in both taken out of the training.
std::vector<Split> OutsideSplits(std::span<const FoldItem> items, int least = 12);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_FIT_FOLDS_H_
