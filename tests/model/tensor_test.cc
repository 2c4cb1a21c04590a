#include "model/step/tensor.h"

#include <catch2/catch.hpp>

namespace spillway {

TEST_CASE("shapes count elements and space") {
  const Shape image{.n = 2, .c = 3, .h = 4, .w = 5};
  CHECK(image.Elements() == 120);  // 2 x 3 x 4 x 5
  CHECK(image.Spatial() == 20);
  const Shape video{.n = 1, .c = 3, .d = 7, .h = 2, .w = 2};
  CHECK(video.Elements() == 84);
  CHECK(video.Spatial() == 28);
  CHECK(Shape{}.Elements() == 1);
}

TEST_CASE("shape text leaves out a depth of one") {
  CHECK(ShapeText({.n = 128, .c = 64, .h = 112, .w = 112}) == "128x64x112x112");
  CHECK(ShapeText({.n = 1, .c = 64, .d = 16, .h = 56, .w = 28}) == "1x64x16x56x28");
}

TEST_CASE("sizes and names of types") {
  CHECK(SizeOf(DataType::kFp32) == 4);
  CHECK(SizeOf(DataType::kFp16) == 2);
  CHECK(SizeOf(DataType::kBf16) == 2);
  CHECK(SizeOf(DataType::kInt64) == 8);
  CHECK(SizeOf(DataType::kInt32) == 4);
  CHECK(SizeOf(DataType::kInt8) == 1);
  CHECK(SizeOf(DataType::kBool) == 1);
  CHECK(std::string(DataTypeName(DataType::kBf16)) == "bf16");
  CHECK(std::string(MathModeName(MathMode::kTf32)) == "tf32");
  CHECK(std::string(LayoutName(Layout::kNchw)) == "nchw");
  CHECK(std::string(LayoutName(Layout::kNhwc)) == "nhwc");
  CHECK(std::string(TensorClassName(TensorClass::kFeatureMap)) == "feature_map");
  CHECK(std::string(TensorClassName(TensorClass::kParameterGradient)) == "parameter_gradient");
}

TEST_CASE("a type is found by both of its names, and only floating point is computed in") {
  for (const TypeTraits& traits : kTypeTraits) {
    INFO(traits.name);
    CHECK(DataTypeByName(traits.name) == traits.type);
    CHECK(DataTypeByName(traits.long_name) == traits.type);
    const std::string name = traits.long_name;
    CHECK(IsFloat(traits.type) == (name.find("float") != std::string::npos));
  }
  CHECK(DataTypeByName("float64") == std::nullopt);
  CHECK(DataTypeByName("") == std::nullopt);
}

}  // namespace spillway
