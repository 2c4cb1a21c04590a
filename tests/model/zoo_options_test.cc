// Options of zoo networks: sizes and counts that a network has no place for are refused, and sizes beside are named.
#include <catch2/catch.hpp>
#include <string>

#include "hw/text/document.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

std::string Refused(const std::string& name, const ZooOptions& options) {
  try {
    BuildZooNetwork(name, options);
    return "";
  } catch (const UserError& error) {
    return error.messages().front();
  }
}

}  // namespace

TEST_CASE("an image that a network cannot halve often enough names the sizes beside it") {
  CHECK(Refused("swin-unetr", {.image = 100}) == "image 100: 'swin-unetr' takes sizes such as 96 and 128");
  CHECK(Refused("stable-diffusion-unet", {.image = 100}) ==
        "image 100: 'stable-diffusion-unet' takes sizes such as 96 and 104");
  CHECK(Refused("swin-unetr", {.image = 128}).empty());
}

TEST_CASE("frames and classes of a network without are refused") {
  CHECK(Refused("swin-t", {.frames = 10}) == "frames: 'swin-t' has none");
  CHECK(Refused("resnet50", {.frames = 2}) == "frames: 'resnet50' has none");
  CHECK(Refused("stable-diffusion-unet", {.classes = 10}) == "classes: 'stable-diffusion-unet' has none to choose");
  CHECK(Refused("swin-t", {.classes = 10}).empty());
  CHECK(Refused("nnunet-3d", {.frames = 64, .classes = 5}).empty());
}

}  // namespace spillway
