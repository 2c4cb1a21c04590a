#include "hw/text/synonyms.h"

#include <algorithm>
#include <array>

namespace spillway {

namespace {

struct Synonym {
  std::string_view theirs;  // as Plain() writes it
  std::string_view ours;
};

// A word may stand for several names: which one, the candidates say.
constexpr std::array kSynonyms = {
    // Kinds of layers.
    Synonym{"conv", "convolution"},
    Synonym{"convolution", "convolution"},
    Synonym{"convolutional", "convolution"},
    Synonym{"depthwiseconv", "convolution"},
    Synonym{"convtranspose", "transposed_convolution"},
    Synonym{"convolutiontranspose", "transposed_convolution"},
    Synonym{"convtransposed", "transposed_convolution"},
    Synonym{"deconv", "transposed_convolution"},
    Synonym{"deconvolution", "transposed_convolution"},
    Synonym{"upconv", "transposed_convolution"},
    Synonym{"dense", "linear"},
    Synonym{"fc", "linear"},
    Synonym{"fullyconnected", "linear"},
    Synonym{"innerproduct", "linear"},
    Synonym{"connected", "linear"},
    Synonym{"linear", "linear"},
    Synonym{"batchnorm", "batch_norm"},
    Synonym{"batchnormalization", "batch_norm"},
    Synonym{"bn", "batch_norm"},
    Synonym{"instancenorm", "instance_norm"},
    Synonym{"layernorm", "layer_norm"},
    Synonym{"layernormalization", "layer_norm"},
    Synonym{"groupnormalization", "group_norm"},
    Synonym{"rmsnormalization", "rms_norm"},
    Synonym{"upsample", "resize"},
    Synonym{"upsampling", "resize"},
    Synonym{"upsamplingnearest", "resize"},
    Synonym{"upsamplingbilinear", "resize"},
    Synonym{"interpolate", "resize"},
    Synonym{"interp", "resize"},
    Synonym{"concat", "concat"},
    Synonym{"concatenate", "concat"},
    Synonym{"cat", "concat"},
    Synonym{"route", "concat"},
    Synonym{"eltwise", "add"},
    Synonym{"shortcut", "add"},
    Synonym{"sum", "add"},
    Synonym{"residual", "add"},
    Synonym{"mul", "multiply"},
    Synonym{"maxpool", "max_pool"},
    Synonym{"maxpooling", "max_pool"},
    Synonym{"pooling", "max_pool"},
    Synonym{"avgpool", "average_pool"},
    Synonym{"averagepooling", "average_pool"},
    Synonym{"adaptiveavgpool", "average_pool"},
    Synonym{"globalaveragepooling", "average_pool"},
    Synonym{"globalavgpool", "average_pool"},
    Synonym{"dropout", "dropout"},
    Synonym{"droppath", "depth_drop"},
    Synonym{"stochasticdepth", "depth_drop"},
    Synonym{"localresponsenorm", "lrn"},
    Synonym{"swish", "silu"},
    Synonym{"centercrop", "crop"},
    Synonym{"cropping", "crop"},
    Synonym{"multiheadattention", "attention"},
    Synonym{"scaleddotproductattention", "attention"},
    Synonym{"layerscale", "scale"},
    Synonym{"softmaxwithloss", "softmax_loss"},
    Synonym{"crossentropy", "softmax_loss"},
    Synonym{"crossentropyloss", "softmax_loss"},
    Synonym{"bcewithlogitsloss", "bce_loss"},
    Synonym{"bce", "bce_loss"},
    Synonym{"sigmoidcrossentropyloss", "bce_loss"},
    Synonym{"mse", "mse_loss"},
    Synonym{"euclideanloss", "mse_loss"},
    Synonym{"split", "slice"},
    Synonym{"chunk", "slice"},
    Synonym{"view", "reshape"},
    Synonym{"flatten", "reshape"},
    Synonym{"transpose", "permute"},
    Synonym{"depthtospace", "pixel_shuffle"},
    Synonym{"spacetodepth", "pixel_unshuffle"},
    Synonym{"positionembedding", "position"},
    Synonym{"positionalencoding", "position"},
    Synonym{"clstoken", "class_token"},
    // Keys of layers.
    Synonym{"labelsmoothing", "smoothing"},
    Synonym{"type", "kind"},
    Synonym{"bottom", "from"},
    Synonym{"input", "from"},
    Synonym{"inputs", "from"},
    Synonym{"inchannels", "from"},
    Synonym{"infeatures", "from"},
    Synonym{"top", "name"},
    Synonym{"kernelsize", "window"},
    Synonym{"kernel", "window"},
    Synonym{"poolsize", "window"},
    Synonym{"size", "window"},
    Synonym{"strides", "stride"},
    Synonym{"padding", "pad"},
    Synonym{"dilationrate", "dilation"},
    Synonym{"outputpadding", "output_pad"},
    Synonym{"outchannels", "out"},
    Synonym{"outfeatures", "out"},
    Synonym{"numoutput", "out"},
    Synonym{"filters", "out"},
    Synonym{"units", "out"},
    Synonym{"embeddingdim", "out"},
    Synonym{"numembeddings", "vocabulary"},
    Synonym{"vocabsize", "vocabulary"},
    Synonym{"group", "groups"},
    Synonym{"numgroups", "groups"},
    Synonym{"usebias", "bias"},
    Synonym{"biasterm", "bias"},
    Synonym{"p", "rate"},
    Synonym{"dropoutratio", "rate"},
    Synonym{"negativeslope", "slope"},
    Synonym{"alpha", "slope"},
    Synonym{"localsize", "size"},
    Synonym{"scalefactor", "scale"},
    Synonym{"outputsize", "image"},
    Synonym{"mode", "method"},
    Synonym{"ceilmode", "ceil"},
    Synonym{"numheads", "heads"},
    Synonym{"nhead", "heads"},
    Synonym{"nheads", "heads"},
    Synonym{"numkeyvalueheads", "kv_heads"},
    Synonym{"iscausal", "causal"},
    Synonym{"dropoutp", "dropout"},
    // Keys and values elsewhere.
    Synonym{"imagesize", "image"},
    Synonym{"resolution", "image"},
    Synonym{"inchannels", "channels"},
    Synonym{"sequencelength", "tokens"},
    Synonym{"seqlen", "tokens"},
    Synonym{"batchsize", "batch"},
    Synonym{"model", "network"},
    Synonym{"dtype", "precision"},
    Synonym{"bilinear", "linear"},
    Synonym{"trilinear", "linear"},
    Synonym{"yes", "true"},
    Synonym{"on", "true"},
    Synonym{"1", "true"},
    Synonym{"no", "false"},
    Synonym{"off", "false"},
    Synonym{"0", "false"},
};

std::string Plain(std::string_view word) {
  std::string plain;
  for (const char c : word.substr(word.rfind('.') + 1)) {
    if (c != '_' && c != '-') plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  // At the end, or as in Conv2DTranspose.
  for (const std::string_view dimensions : {"1d", "2d", "3d"}) {
    const std::size_t at = plain.find(dimensions);
    if (at != plain.npos && at > 0) plain.erase(at, dimensions.size());
  }
  return plain;
}

}  // namespace

std::string SynonymIn(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string plain = Plain(word);
  for (const Synonym& synonym : kSynonyms) {
    if (synonym.theirs != plain) continue;
    const auto found = std::find(candidates.begin(), candidates.end(), synonym.ours);
    if (found != candidates.end()) return *found;
  }
  return "";
}

}  // namespace spillway
