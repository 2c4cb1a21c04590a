// GoogLeNet (Szegedy et al. 2015, arXiv 1409.4842, table 1) and its batch-normalised successor (Ioffe and Szegedy
// 2015, arXiv 1502.03167, figure 5, in the sizes of Chainer's example). The auxiliary classifiers are left out.
#include "model/zoo/network_builder.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

// Output channels of the columns of table 1: 1x1; 3x3 reduce, 3x3; 5x5 reduce, 5x5; pool projection.
struct Module {
  const char* name;
  std::int64_t one, reduce3, three, reduce5, five, project;
};

LayerId AddModule(NetworkBuilder& b, const Module& m, LayerId x) {
  const std::string name = std::string("inception_") + m.name;
  const LayerId one = b.ConvolutionRelu(name + "_1x1", x, Square(m.one, 1));
  LayerId three = b.ConvolutionRelu(name + "_3x3_reduce", x, Square(m.reduce3, 1));
  three = b.ConvolutionRelu(name + "_3x3", three, Square(m.three, 3, 1, 1));
  LayerId five = b.ConvolutionRelu(name + "_5x5_reduce", x, Square(m.reduce5, 1));
  five = b.ConvolutionRelu(name + "_5x5", five, Square(m.five, 5, 1, 2));
  LayerId pool = b.MaxPool(name + "_pool", x, Square(0, 3, 1, 1));
  pool = b.ConvolutionRelu(name + "_pool_proj", pool, Square(m.project, 1));
  return b.Concat(name, {one, three, five, pool});
}

// The 5x5 column is two 3x3 convolutions here; a module without 1x1 column halves the image.
struct NormModule {
  const char* name;
  std::int64_t one, reduce3, three, reduce33, three33;
  bool max;  // the pooling
  std::int64_t project;
  std::int64_t Stride() const { return one == 0 ? 2 : 1; }
};

LayerId AddNormModule(NetworkBuilder& b, const NormModule& m, LayerId x) {
  const std::string name = std::string("inception_") + m.name;
  std::vector<LayerId> columns;
  if (m.one != 0) columns.push_back(b.ConvolutionNormRelu(name + "_1x1", x, Square(m.one, 1)));
  LayerId y = b.ConvolutionNormRelu(name + "_3x3_reduce", x, Square(m.reduce3, 1));
  columns.push_back(b.ConvolutionNormRelu(name + "_3x3", y, Square(m.three, 3, m.Stride(), 1)));
  y = b.ConvolutionNormRelu(name + "_33_reduce", x, Square(m.reduce33, 1));
  y = b.ConvolutionNormRelu(name + "_33a", y, Square(m.three33, 3, 1, 1));
  columns.push_back(b.ConvolutionNormRelu(name + "_33b", y, Square(m.three33, 3, m.Stride(), 1)));
  const LayerAttributes window = Square(0, 3, m.Stride(), 1);
  y = m.max ? b.MaxPool(name + "_pool", x, window) : b.AveragePool(name + "_pool", x, window);
  if (m.project != 0) y = b.ConvolutionNormRelu(name + "_pool_proj", y, Square(m.project, 1));
  columns.push_back(y);
  return b.Concat(name, std::move(columns));
}

}  // namespace

Network BuildGoogLeNet(const ZooOptions& options) {
  NetworkBuilder b("googlenet", ImageInput(options, 224));
  const LayerAttributes pool = WithCeil(Square(0, 3, 2));  // Caffe's rounding, which gives the paper's sizes
  LayerId x = b.ConvolutionRelu("conv1", kNetworkInput, Square(64, 7, 2, 3));
  x = b.Lrn("norm1", b.MaxPool("pool1", x, pool));
  x = b.ConvolutionRelu("conv2_reduce", x, Square(64, 1));
  x = b.Lrn("norm2", b.ConvolutionRelu("conv2", x, Square(192, 3, 1, 1)));
  x = b.MaxPool("pool2", x, pool);
  x = AddModule(b, {"3a", 64, 96, 128, 16, 32, 32}, x);
  x = AddModule(b, {"3b", 128, 128, 192, 32, 96, 64}, x);
  x = b.MaxPool("pool3", x, pool);
  x = AddModule(b, {"4a", 192, 96, 208, 16, 48, 64}, x);
  x = AddModule(b, {"4b", 160, 112, 224, 24, 64, 64}, x);
  x = AddModule(b, {"4c", 128, 128, 256, 24, 64, 64}, x);
  x = AddModule(b, {"4d", 112, 144, 288, 32, 64, 64}, x);
  x = AddModule(b, {"4e", 256, 160, 320, 32, 128, 128}, x);
  x = b.MaxPool("pool4", x, pool);
  x = AddModule(b, {"5a", 256, 160, 320, 32, 128, 128}, x);
  x = AddModule(b, {"5b", 384, 192, 384, 48, 128, 128}, x);
  x = b.Dropout("drop", b.GlobalAveragePool("pool5", x), 0.4);
  return b.Loss(b.Linear("fc", x, ClassesOr(options, 1000)));
}

Network BuildGoogLeNetBn(const ZooOptions& options) {
  NetworkBuilder b("googlenet-bn", ImageInput(options, 224));
  LayerId x = b.ConvolutionNormRelu("conv1", kNetworkInput, Square(64, 7, 2, 3));
  x = b.MaxPool("pool1", x, Square(0, 3, 2, 1));
  x = b.ConvolutionNormRelu("conv2", x, Square(192, 3, 1, 1));
  x = b.MaxPool("pool2", x, Square(0, 3, 2, 1));
  x = AddNormModule(b, {"3a", 64, 64, 64, 64, 96, false, 32}, x);
  x = AddNormModule(b, {"3b", 64, 64, 96, 64, 96, false, 64}, x);
  x = AddNormModule(b, {"3c", 0, 128, 160, 64, 96, true, 0}, x);
  x = AddNormModule(b, {"4a", 224, 64, 96, 96, 128, false, 128}, x);
  x = AddNormModule(b, {"4b", 192, 96, 128, 96, 128, false, 128}, x);
  x = AddNormModule(b, {"4c", 160, 128, 160, 128, 160, false, 128}, x);
  x = AddNormModule(b, {"4d", 96, 128, 192, 160, 192, false, 128}, x);
  x = AddNormModule(b, {"4e", 0, 128, 192, 192, 256, true, 0}, x);
  x = AddNormModule(b, {"5a", 352, 192, 320, 160, 224, false, 128}, x);
  x = AddNormModule(b, {"5b", 352, 192, 320, 192, 224, true, 128}, x);
  return b.Loss(b.Linear("fc", b.GlobalAveragePool("pool5", x), ClassesOr(options, 1000)));
}

}  // namespace spillway
