// Words of other tools lead to ours.
#include "hw/text/synonyms.h"

#include <catch2/catch.hpp>

#include "hw/text/document.h"

namespace spillway {

TEST_CASE("kinds of layers as PyTorch, Keras, Caffe and Darknet call them lead to ours") {
  const std::vector<std::string> kinds{
      "convolution", "transposed_convolution", "batch_norm", "max_pool", "average_pool", "concat", "add", "linear",
      "resize",      "softmax_loss",           "layer_norm", "silu",     "attention",    "dropout"};
  const std::pair<const char*, const char*> words[] = {{"Conv2d", "convolution"},
                                                       {"nn.Conv3d", "convolution"},
                                                       {"torch.nn.Linear", "linear"},
                                                       {"Conv2DTranspose", "transposed_convolution"},
                                                       {"ConvTranspose2d", "transposed_convolution"},
                                                       {"Deconvolution", "transposed_convolution"},
                                                       {"BatchNorm2d", "batch_norm"},
                                                       {"BatchNormalization", "batch_norm"},
                                                       {"Dense", "linear"},
                                                       {"InnerProduct", "linear"},
                                                       {"Upsample", "resize"},
                                                       {"Concat", "concat"},
                                                       {"route", "concat"},
                                                       {"Eltwise", "add"},
                                                       {"shortcut", "add"},
                                                       {"MaxPool2d", "max_pool"},
                                                       {"AdaptiveAvgPool2d", "average_pool"},
                                                       {"GlobalAveragePooling2D", "average_pool"},
                                                       {"nn.LayerNorm", "layer_norm"},
                                                       {"MultiheadAttention", "attention"},
                                                       {"Dropout2d", "dropout"},
                                                       {"swish", "silu"},
                                                       {"SoftmaxWithLoss", "softmax_loss"}};
  for (const auto& [theirs, ours] : words) {
    INFO(theirs);
    CHECK(SynonymIn(theirs, kinds) == ours);
    CHECK(NearestName(theirs, kinds) == ours);
  }
}

TEST_CASE("keys lead to the key that the map has; a word of several meanings to the one that is there") {
  const std::vector<std::string> convolution{"name", "kind", "from",   "window", "stride",
                                             "pad",  "out",  "groups", "bias"};
  const std::pair<const char*, const char*> words[] = {
      {"kernel_size", "window"}, {"kernel", "window"},   {"padding", "pad"},    {"out_channels", "out"},
      {"filters", "out"},        {"num_output", "out"},  {"strides", "stride"}, {"in_channels", "from"},
      {"in_features", "from"},   {"use_bias", "bias"},   {"type", "kind"},      {"bottom", "from"},
      {"group", "groups"},       {"out_features", "out"}};
  for (const auto& [theirs, ours] : words) {
    INFO(theirs);
    CHECK(NearestName(theirs, convolution) == ours);
  }
  CHECK(NearestName("in_channels", {"channels", "image"}) == "channels");
  CHECK(NearestName("batch_size", {"zoo", "file", "batch"}) == "batch");
  CHECK(SynonymIn("kernel_size", {"rate"}).empty());
  CHECK(SynonymIn("", convolution).empty());
  CHECK(SynonymIn("2d", convolution).empty());
}

TEST_CASE("spellings of booleans that YAML knows lead to true and false") {
  for (const char* yes : {"True", "TRUE", "yes", "on", "1"}) CHECK(NearestName(yes, {"true", "false"}) == "true");
  for (const char* no : {"False", "no", "off", "0"}) CHECK(NearestName(no, {"true", "false"}) == "false");
}

}  // namespace spillway
