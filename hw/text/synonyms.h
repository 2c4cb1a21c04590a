// What other tools call the things that our input files name: a word of PyTorch, Keras, Caffe or Darknet leads to ours.
//
// NearestName (document.h) asks here first. A word is compared without case, `_`, `-`, what stands in front of its last
// dot, and a number of dimensions at its end: `nn.Conv2d`, `conv_2d` and `Conv3D` are one.
#ifndef SPILLWAY_HW_TEXT_SYNONYMS_H_
#define SPILLWAY_HW_TEXT_SYNONYMS_H_

#include <string>
#include <string_view>
#include <vector>

namespace spillway {

// The first candidate that the word stands for; "": there is none.
std::string SynonymIn(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace spillway

#endif  // SPILLWAY_HW_TEXT_SYNONYMS_H_
