#include <fmt/format.h>
#include <sys/resource.h>

#include <catch2/catch.hpp>

#include "hw/text/document.h"
#include "hw/text/text_file.h"
#include "model/kernels/kernel_form.h"
#include "model/network/network.h"
#include "model/samples/file.h"
#include "model/samples/ops.h"
#include "model/step/launch.h"
#include "tests/temporary_folder.h"

namespace spillway {
namespace {

using Catch::Contains;

// One row below its header.
Sample One(const std::string& header, const std::string& row) {
  SampleSet set = ParseSamples(header + "\n" + row + "\n", "f.csv");
  REQUIRE(set.samples.size() == 1);
  return set.samples[0];
}

constexpr const char* kConv = "device,op,pass,algorithm,math,precision,n,c,h,w,k,r,s,pad,stride,groups,median_us";

std::string ErrorOf(const std::string& text) {
  try {
    ParseSamples(text, "f.csv");
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

std::string WithHeader(const std::string& rows) { return std::string(kConv) + "\n" + rows; }

// The columns and the kinds of row that the measuring kit writes.
constexpr const char* kKit =
    "device,driver,cuda,cudnn,op,pass,algorithm,math,precision,layout,n,c,h,w,k,r,s,pad,stride,groups,bytes,row_bytes,"
    "pitch_bytes,direction,kind,contention,workspace_bytes,deterministic,heuristic_rank,median_us,p10_us,p90_us,"
    "samples,"
    "host_us,status,sm_clock_mhz,note,date\n";
constexpr const char* kWho = "NVIDIA H200,550.54,12040,90100,";

}  // namespace

TEST_CASE("ops of pairs take one tensor or two") {
  const std::string header = "device,op,pass,n,c,h,w,operands,median_us\n";
  for (const char* op : {"pair_loss", "multiply"}) {
    const std::string row = fmt::format("X,{},forward,2,3,4,4,", op);
    CHECK(ErrorOf(header + row + "1,5\n") == "no error");
    CHECK(ErrorOf(header + row + "2,5\n") == "no error");
    CHECK_THAT(ErrorOf(header + row + "7,5\n"), Contains("f.csv:2") && Contains("from 1 to 2") && Contains("'7'"));
  }
}

TEST_CASE("the page of samples names every op") {
  const std::string page = ReadTextFile(std::string(SPILLWAY_SOURCE_DIR) + "/model/samples/README.md", "a page", kMiB);
  for (const OpWord& word : OpWords()) {
    INFO(word.name);
    CHECK_THAT(page, Contains(fmt::format("`{}`", word.name)));
  }
}

TEST_CASE("a convolution becomes a launch with its output size") {
  // (224 + 2 x 3 - 7) / 2 + 1 = 112
  const Sample sample = One(kConv, "X,conv,forward,winograd,tf32,fp16,32,4,224,112,64,7,7,3,2,2,12.5");
  CHECK(sample.what == SampleKind::kKernel);
  CHECK(sample.microseconds == 12.5);
  CHECK(sample.device == "X");
  const Launch& launch = sample.launch;
  CHECK(launch.kind == OpKind::kConvolution);
  CHECK(launch.pass == Pass::kForward);
  CHECK(launch.shape.in == Shape{.n = 32, .c = 4, .h = 224, .w = 112});
  CHECK(launch.shape.out == Shape{.n = 32, .c = 64, .h = 112, .w = 56});
  CHECK(launch.shape.window == std::array<std::int64_t, 3>{1, 7, 7});
  CHECK(launch.shape.stride == std::array<std::int64_t, 3>{1, 2, 2});
  CHECK(launch.shape.PadBegin() == std::array<std::int64_t, 3>{0, 3, 3});
  CHECK(launch.shape.groups == 2);
  CHECK(launch.type == DataType::kFp16);
  CHECK(launch.math == MathMode::kTf32);
  CHECK(launch.algorithm == 7);  // CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD = 6, counted from 1
  CHECK(launch.workspace == kUsualWorkspace);
  CHECK_FALSE(sample.best);
}

TEST_CASE("columns come in any order, and most may be absent") {
  const Sample sample = One("median_us,w,h,r,k,c,n,pass,op,device", "3,8,9,3,5,4,2,backward_filter,conv,X");
  CHECK(sample.launch.shape.out == Shape{.n = 2, .c = 5, .h = 7, .w = 6});
  CHECK(sample.launch.math == MathMode::kFp32);
  CHECK(sample.workspace < 0);
  CHECK(sample.spread == 0);
  CHECK(sample.contention == "none");
}

TEST_CASE("windows may differ by axis, and pooling may round up") {
  const std::string header = "device,op,pass,n,c,d,h,w,k,t,r,s,pad,pad_w,pad_d,stride,stride_w,stride_d,median_us";
  const Sample deep = One(header, "X,conv,forward,2,3,16,112,100,8,3,7,5,3,2,1,2,1,1,9");
  // (16 + 2 - 3) / 1 + 1, (112 + 6 - 7) / 2 + 1, (100 + 4 - 5) / 1 + 1
  CHECK(deep.launch.shape.out == Shape{.n = 2, .c = 8, .d = 16, .h = 56, .w = 100});
  const std::string pool = "device,op,pass,algorithm,n,c,h,w,r,stride,out_h,out_w,median_us";
  // (112 - 3) / 2 + 1 = 55.5: down to 55 or up to 56
  CHECK(One(pool, "X,pool,forward,max,1,8,112,112,3,2,,,9").launch.shape.out.h == 55);
  const Sample up = One(pool, "X,pool,forward,average,1,8,112,112,3,2,56,55,9");
  CHECK(up.launch.kind == OpKind::kAveragePool);
  CHECK(up.launch.shape.out == Shape{.n = 1, .c = 8, .h = 56, .w = 55});
  CHECK_THROWS_WITH(One(pool, "X,pool,forward,max,1,8,112,112,3,2,57,55,9"), Contains("gives 55 or 56, found 57"));
}

TEST_CASE("no window of pooling begins in the padding behind, none lies in padding alone") {
  const std::string pool = "device,op,pass,algorithm,n,c,h,w,r,pad,stride,out_h,out_w,median_us";
  // 5 and padding 1 on both sides: (7 - 2) / 2 + 1 = 3 and a rest; a fourth window would begin at 6, behind the 5th.
  CHECK(One(pool, "X,pool,forward,max,1,64,5,5,2,1,2,3,3,9").launch.shape.out.h == 3);
  CHECK_THROWS_WITH(One(pool, "X,pool,forward,max,1,64,5,5,2,1,2,4,4,9"), Contains("gives 3, found 4"));
  CHECK_THROWS_WITH(One(pool, "X,pool,backward,average,1,64,3,3,2,1,2,3,3,9"), Contains("gives 2, found 3"));
  // 6 and padding 1, window 3: (8 - 3) / 2 + 1 = 3, and the fourth begins at 6 of the padded 8: the 6th place is there.
  CHECK(One(pool, "X,pool,forward,max,1,64,6,6,3,1,2,4,4,9").launch.shape.out.h == 4);
  CHECK_THROWS_WITH(One(pool, "X,pool,forward,max,1,64,5,5,2,2,2,,,9"),
                    Contains("pad: 2 must be less than the window of 2"));
  const std::string conv = "device,op,pass,n,c,h,w,k,r,pad,median_us";
  CHECK(One(conv, "X,conv,forward,1,8,13,13,8,1,1,9").launch.shape.out.h == 15);
}

TEST_CASE("cells between tabs, semicolons and bars are told to be so") {
  for (const auto& [separator, name] : {std::pair{"\t", "tabs"}, {";", "semicolons"}, {"|", "bars"}, {" ", "spaces"}}) {
    std::string text = "device,op,pass,n,c,h,w,k,r,median_us\nX,conv,forward,32,64,56,56,64,3,9\n";
    for (std::size_t at = 0; (at = text.find(',')) != std::string::npos;) text.replace(at, 1, separator);
    CHECK_THAT(ErrorOf(text), Contains("f.csv:1:1: error: cells are separated by " + std::string(name) + " here"));
    CHECK_THAT(ErrorOf(text), !Contains("missing column"));
  }
  for (const char* quoted : {"\"device\";\"op\";\"median_us\"\n\"X\";\"conv\";\"9\"\n", "\"device;op;median_us\"\n",
                             "\"device\"\t\"op\"\t\"median_us\"\n", "device;op;median_us\n\"X\";\"conv\";\"1,9\"\n",
                             "\xEF\xBB\xBF\"device\"|\"op\"|\"a,b\"\n", "\"sep=;\"\n\"device\";\"op\"\n"}) {
    INFO(quoted);
    CHECK_THAT(ErrorOf(quoted), Contains("f.csv:1:1: error: cells are separated by "));
  }
  // Quotes that are wrong in a table of commas stay what they are.
  CHECK_THAT(ErrorOf("device,op,median_us\n\"X\";conv,9\n"), Contains("';conv' after the closing quote"));
  CHECK_THAT(ErrorOf("sep=;\ndevice;op;median_us\n"), Contains("separated by semicolons"));
  CHECK_THAT(ErrorOf("device;op;pass;n;c,median_us\nX;conv;forward;1;1,9\n"), Contains("separated by semicolons"));
}

TEST_CASE("usual other names of padding, stride, groups and precision are read") {
  const Sample ours = One("device,op,pass,n,c,h,w,k,r,pad,stride,groups,precision,median_us",
                          "X,conv,forward,32,64,56,56,64,3,1,2,4,fp16,9");
  const Sample other = One("device,op,pass,n,c,h,w,k,r,padding,strides,group,dtype,median_us",
                           "X,conv,forward,32,64,56,56,64,3,1,2,4,float16,9");
  CHECK(other.launch == ours.launch);
  const Sample both =
      One("device,op,pass,n,c,h,w,k,kernel_h,kernel_w,pad_h,pad_w,Stride_H,stride-w,num_groups,DataType,median_us",
          "X,conv,forward,32,64,56,56,64,3,3,1,1,2,2,4,HALF,9");
  CHECK(both.launch == ours.launch);
  const Sample pairs = One("device,op,pass,n,c,h,w,k,kernel_size,padding,stride,groups,precision,median_us",
                           "X,conv,forward,32,64,56,56,64,\"(3, 3)\",\"(1, 1)\",2x2,4,FP16,9");
  CHECK(pairs.launch == ours.launch);
  CHECK_THAT(ErrorOf("device,op,pass,n,c,h,w,k,r,pad,padding,median_us\nX,conv,forward,1,1,9,9,1,3,1,1,9\n"),
             Contains("f.csv:1:32: error: a second column 'padding', which is read as 'pad'"));
}

TEST_CASE("columns that matter and are not read are empty, or at the default") {
  const auto with = [](const std::string& column, const std::string& cell) {
    return ErrorOf("device,op,pass,n,c,h,w,k,r," + column + ",median_us\nX,conv,forward,8,512,65,65,512,3," + cell +
                   ",9\n");
  };
  for (const char* harmless : {"", "1", "1x1", "\"(1, 1)\""}) CHECK(with("dilate", harmless) == "no error");
  for (const char* name : {"dilate", "atrous_rate"}) {
    CHECK_THAT(with(name, "2"),
               Contains("f.csv:2:34: error: '2' of a column that is not read") && Contains("called dilation"));
  }
  CHECK_THAT(with("pad_top", "1"), Contains("called pad, pad_w"));
  CHECK_THAT(with("output_padding", "1"), Contains("called pad, pad_w"));
  CHECK_THAT(with("transposed", "True"), Contains("a row of op transposed_convolution"));
  CHECK_THAT(with("stride_x", "2"), Contains("called stride, stride_w"));
  CHECK(with("transposed", "False") == "no error");
  CHECK(with("pad_top", "0") == "no error");
  // The same of an op that has no window.
  CHECK(ErrorOf("device,op,pass,n,c,dilate,median_us\nX,relu,forward,1,1000,2,9\n") == "no error");
}

TEST_CASE("a dilated window reaches further, under any usual name of its column") {
  for (const char* name : {"dilation", "dilation_h", "Dilations"}) {
    const Sample sample = One(std::string("device,op,pass,n,c,h,w,k,r,pad,") + name + ",median_us",
                              "X,conv,forward,8,512,65,65,512,3,2,2,9");
    CHECK(sample.launch.shape.dilation == std::array<std::int64_t, 3>{1, 2, 2});
    CHECK(sample.launch.shape.out == Shape{.n = 8, .c = 512, .h = 65, .w = 65});
    CHECK(ParseSamples(WriteSamples({&sample, 1}), "again.csv").samples.at(0).launch == sample.launch);
  }
  CHECK_THAT(ErrorOf("device,op,pass,n,c,h,w,k,r,dilation,median_us\nX,conv,forward,1,1,9,9,1,3,5,9\n"),
             Contains("a window of 11 exceeds the padded input of 9"));
}

TEST_CASE("a transposed convolution is known by the convolution that computes it") {
  const std::string header = "device,op,pass,n,c,h,w,k,r,stride,pad,out_h,out_w,median_us";
  const Launch up = One(header, "X,transposed_convolution,forward,2,64,8,8,32,3,2,1,16,16,9").launch;
  CHECK(up == One(header, "X,conv,backward_data,2,32,16,16,64,3,2,1,8,8,9").launch);
  CHECK_THAT(ErrorOf(header + "\nX,transposed_convolution,forward,2,64,8,8,32,3,2,1,17,17,9\n"),
             Contains("out_h: a transposed window of 3 with stride 2 over 8 gives 15 to 16, found 17"));
}

TEST_CASE("best is the fastest algorithm, which may be known too") {
  const Sample best = One(kConv, "X,conv,backward_data,best,,,1,4,9,9,4,3,3,1,1,1,5");
  CHECK((best.best && best.algorithm.empty() && best.launch.algorithm == 0));
  const Sample known = One(kConv, "X,conv,backward_data,best:fft_tiling,,,1,4,9,9,4,3,3,1,1,1,5");
  CHECK((known.best && known.algorithm == "fft_tiling" && known.launch.algorithm == 4));
}

TEST_CASE("algorithms have the library's numbers") {
  CHECK(AlgorithmByName(OpKind::kConvolution, Pass::kForward, "implicit_gemm") == 1);
  CHECK(AlgorithmByName(OpKind::kConvolution, Pass::kForward, "winograd_nonfused") == 8);
  CHECK(AlgorithmByName(OpKind::kConvolution, Pass::kBackwardData, "winograd_nonfused") == 6);
  CHECK(AlgorithmByName(OpKind::kConvolution, Pass::kBackwardFilter, "algo_3") == 4);
  CHECK(AlgorithmByName(OpKind::kConvolution, Pass::kBackwardFilter, "fft_tiling") == 7);
  CHECK(AlgorithmByName(OpKind::kConvolution, Pass::kBackwardFilter, "implicit_gemm") == 0);
  CHECK(AlgorithmByName(OpKind::kRelu, Pass::kForward, "gemm") == 0);
}

TEST_CASE("the CPU device's algorithms follow those of cuDNN, where these have not the name already") {
  const auto number = [](Pass pass, const char* name) { return AlgorithmByName(OpKind::kConvolution, pass, name); };
  // Forward, cuDNN's eight: gemm 3, direct 4, winograd 7. Backward: six and seven, of these only winograd.
  CHECK(number(Pass::kForward, "direct") == 4);
  CHECK(number(Pass::kForward, "winograd") == 7);
  CHECK(number(Pass::kForward, "gemm") == 3);
  CHECK(number(Pass::kForward, "reference") == 9);
  CHECK(number(Pass::kBackwardData, "winograd") == 5);
  CHECK(number(Pass::kBackwardData, "direct") == 7);
  CHECK(number(Pass::kBackwardData, "gemm") == 8);
  CHECK(number(Pass::kBackwardData, "reference") == 9);
  CHECK(number(Pass::kBackwardFilter, "winograd") == 5);
  CHECK(number(Pass::kBackwardFilter, "direct") == 8);
  CHECK(number(Pass::kBackwardFilter, "gemm") == 9);
  CHECK(number(Pass::kBackwardFilter, "reference") == 10);
  const Sample sample = One(kConv, "X,conv,backward_data,direct,,,1,4,9,9,4,3,3,1,1,1,5");
  CHECK((sample.algorithm == "direct" && sample.launch.algorithm == 7));
}

TEST_CASE("a file of the measuring kit is read as it is") {
  const std::string who = kWho;
  const SampleSet set = ParseSamples(
      kKit + who +
          "conv,forward,gemm,fma,fp32,nchw,32,64,56,56,64,3,3,1,1,1,,,,,,none,1024,1,2,90.5,90,91,20,3.2,ok,1980,,2026-"
          "01-02\n" +
          who +
          "conv,forward,fft,fma,fp32,nchw,32,64,56,56,64,3,3,1,1,1,,,,,,none,4096,1,5,900,900,900,1,,slow,1980,,2026-"
          "01-02\n" +
          who +
          "conv,forward,direct,fma,fp32,nchw,32,64,56,56,64,3,3,1,1,1,,,,,,none,,,,,,,,,not_supported,,,2026-01-02\n" +
          who +
          "conv_bias_relu,forward,gemm,fma,fp32,nchw,32,64,56,56,64,3,3,1,1,1,,,,,,none,0,,,95,94,96,20,3,ok,1980,,"
          "2026-01-02\n" +
          who +
          "batch_norm,backward,spatial_persistent,,fp32,nchw,32,64,112,112,,,,,,,,,,,cold,none,,,,50,49,51,20,3,ok,"
          "1980,,2026-01-02\n" +
          who +
          "pool,forward,average,,fp32,nchw,32,2048,7,7,,7,7,0,1,,,,,,warm,none,,,,8,7,9,20,3,ok,1980,,2026-01-02\n" +
          who + "lrn,forward,,,fp32,nchw,32,64,55,55,,,,,,,,,,,cold,none,,,,8,7,9,20,3,ok,1980,,2026-01-02\n" + who +
          "bias,backward,,,fp32,nchw,32,64,55,55,,,,,,,,,,,cold,none,,,,8,7,9,20,3,ok,1980,,2026-01-02\n" + who +
          "linear,backward_filter,,tf32,fp32,nc,32,2048,,,1000,,,,,,,,,,,none,,,,8,7,9,20,3,ok,1980,,2026-01-02\n" +
          who + "axpy,forward,,,fp32,nchw,1,4096,1,1,,,,,,,,,,,cold,none,,,,8,7,9,20,3,ok,1980,,2026-01-02\n" + who +
          "scale,forward,,,fp32,nchw,1,4096,1,1,,,,,,,,,,,cold,none,,,,8,7,9,20,3,ok,1980,,2026-01-02\n" + who +
          "scale,forward,,,fp32,nchw,1,8192,1,1,,,,,,,,,,,cold,none,,,,16,15,17,20,3,ok,1980,,2026-01-02\n" + who +
          "copy,,,,,,,,,,,,,,,,33554432,1024,2048,h2d,pitched,none,,,,700,690,710,20,,ok,1980,,2026-01-02\n" + who +
          "copy,,,,,,,,,,,,,,,,33554432,,,d2h,pinned,conv.forward.fma.3x3+h2d,,,,,,,0,,ok,1980,,2026-01-02\n" + who +
          "allocation,,,,,,,,,,,,,,,,1048576,,,,cudaMalloc,none,,,,90,80,95,11,,ok,1980,,2026-01-02\n" + who +
          "overhead,,,,,,,,,,,,,,,,,,,,sync_idle,none,,,,0.000,0.000,0.001,10,,ok,1980,,2026-01-02\n" + who +
          "memory,,create,,,,,,,,,,,,,,,,,,cudnn,none,536870912,,,250000,250000,250000,1,,ok,1980,,2026-01-02\n",
      "samples.csv");
  REQUIRE(set.samples.size() == 15);
  CHECK(Devices(set) == std::vector<std::string>{"NVIDIA H200"});
  CHECK(set.samples[0].workspace == 1024);
  CHECK(set.samples[0].spread == Approx(1 / 90.5));
  CHECK(set.samples[0].host_microseconds == 3.2);
  CHECK(set.samples[1].repetitions == 1);
  CHECK(set.samples[2].what == SampleKind::kOther);
  CHECK(set.samples[3].algorithm == "spatial_persistent");
  CHECK(set.samples[3].kind == "cold");
  CHECK(set.samples[4].launch.shape.out == Shape{.n = 32, .c = 2048});
  CHECK(set.samples[5].launch.shape.window[0] == 5);
  CHECK(set.samples[6].launch.pass == Pass::kBackwardBias);
  CHECK(set.samples[7].launch.shape.out == Shape{.n = 32, .c = 1000});
  CHECK(set.samples[7].launch.math == MathMode::kTf32);
  CHECK(CountWork(set.samples[8].launch).bytes == 3 * 4 * 4096);  // w and g read, w written
  CHECK(set.samples[11].what == SampleKind::kCopy);
  CHECK(set.samples[11].pitch_bytes == 2048);
  CHECK(set.samples[12].bytes == 1048576);
  CHECK(set.samples[14].workspace == 536870912);
  REQUIRE(set.refused.size() == 2);
  CHECK(set.refused[0].algorithm == "direct");
  CHECK(set.refused[1].contention == "conv.forward.fma.3x3+h2d");
  REQUIRE(set.warnings.size() == 2);
  CHECK(set.warnings[0] == "samples.csv: warning: 1 row with status not_supported left out");
  CHECK(set.warnings[1] == "samples.csv: warning: 1 row without a single repetition left out");
}

TEST_CASE("every mistake is told with its place, all at once") {
  const std::string error =
      ErrorOf(WithHeader("X,conv,forward,winogard,,,1,4,9,9,4,3,3,1,1,1,5\n"
                         "X,conv,forward,,,,1,4,9,9,4,3,3,1,1,1,nan\n"
                         "X,conv,forward,,,,1,4,9,9,4,3,3,1,1,1,-2\n"
                         "X,conv,forward,,,,1,4,9,9,4,3,3,1,1,1,0\n"
                         "X,conv,forward,,,,1,4,9,9,4,3,3,1,1,1,\n"
                         "X,conv,forward,,,,1,4,9x,9,4,3,3,1,1,1,5\n"
                         "X,conv,forward,,,,1,4,,9,,3,3,1,1,1,5\n"
                         "X,convv,forward,,,,1,4,9,9,4,3,3,1,1,1,5\n"
                         "X,conv,backwards,,,,1,4,9,9,4,3,3,1,1,1,5\n"
                         "X,conv,forward,,fmaa,,1,4,9,9,4,3,3,1,1,1,5\n"
                         "X,conv,forward,,,,1,4,9,9,4,3,3,1,1,1,5,6\n"
                         "X,conv,forward,,,,1,4,9,9,4,12,3,1,1,1,5\n"
                         "X,conv,forward,,,,1,4,9,9,4,3,3,1,1,3,5\n"
                         ",conv,forward,,,,1,4,9,9,4,3,3,1,1,1,5\n"
                         "X,,forward,,,,1,4,9,9,4,3,3,1,1,1,5\n"
                         "X,relu,forward,best,,,1,4,9,9,,,,,,,5\n"
                         "X,conv,forward,,,,2000000000,2000000000,9,9,4,3,3,1,1,1,5\n"));
  CHECK_THAT(error, Contains("f.csv:2:16: error: algorithm: unknown 'winogard' of conv forward") &&
                        Contains("did you mean 'winograd'?"));
  CHECK_THAT(error, Contains("f.csv:3:39: error: median_us: expected microseconds above zero, found 'nan'"));
  CHECK_THAT(error, Contains("f.csv:4:39: error: median_us: expected microseconds above zero, found '-2'"));
  CHECK_THAT(error, Contains("f.csv:5:39: error: median_us: expected microseconds above zero, found '0'"));
  CHECK_THAT(error, Contains("f.csv:6:1: error: a sample needs median_us, empty here"));
  CHECK_THAT(error, Contains("f.csv:7:23: error: h: expected a whole number from 1 to 2147483647, found '9x'"));
  CHECK_THAT(error, Contains("f.csv:8:1: error: conv needs h, k, empty here"));
  CHECK_THAT(error, Contains("f.csv:9:3: error: op: unknown 'convv'") && Contains("did you mean 'conv'?"));
  CHECK_THAT(error, Contains("f.csv:10:8: error: pass: unknown 'backwards', expected one of forward, backward_data"));
  CHECK_THAT(error, Contains("f.csv:11:17: error: math: unknown 'fmaa'") && Contains("did you mean 'fma'?"));
  CHECK_THAT(error, Contains("f.csv:12:1: error: 18 fields under 17 columns"));
  CHECK_THAT(error, Contains("f.csv:13:29: error: a window of 12 exceeds the padded input of 11"));
  CHECK_THAT(error, Contains("f.csv:14:37: error: groups: 3 do not divide 4 input and 4 output channels"));
  CHECK_THAT(error, Contains("f.csv:15:1: error: a sample needs device, empty here"));
  CHECK_THAT(error, Contains("f.csv:16:1: error: no op in this row"));
  CHECK_THAT(error, Contains("f.csv:17:16: error: algorithm: relu has no choice of algorithms, so none is best"));
  CHECK_THAT(error, Contains("f.csv:18:19: error: more than 2^53 elements in a tensor"));
}

TEST_CASE("missing columns are named together, with what was probably meant") {
  const std::string error = ErrorOf("divice,operation,median_ms,n\nX,conv,3,4\n");
  CHECK_THAT(error, Contains("f.csv:1:1: error: missing columns 'device' (is it 'divice'?), 'op', "
                             "'median_us' (is it 'median_ms'?)"));
  CHECK_THAT(ErrorOf("device,op,median_us,op\n"), Contains("f.csv:1:21: error: a second column 'op'"));
  CHECK(ErrorOf("") == "f.csv: error: the file is empty; the first line names the columns");
  CHECK(ErrorOf("device,op,median_us\n") == "f.csv: error: no rows below the names of the columns");
  CHECK_THAT(ErrorOf("\x7f"
                     "ELF"),
             Catch::StartsWith("f.csv:1:1: error: byte 0x7f is a control character"));
  CHECK_THAT(ErrorOf(std::string("op\0", 3)),
             Catch::StartsWith("f.csv:1:3: error: byte 0x00 is a control character (NUL)"));
  CHECK_THAT(ErrorOf(std::string("\xff\xfe"
                                 "o\0p\0",
                                 6)),
             Catch::StartsWith("f.csv:1:1: error: this is a text in UTF-16"));
}

TEST_CASE("of many mistakes the first twenty are told and the others counted") {
  std::string rows;
  for (int i = 0; i < 150; ++i) rows += "X,conv,forward,,,,1,4,9,9,4,3,3,1,1,1,-1\n";
  try {
    ParseSamples(WithHeader(rows), "f.csv");
    FAIL("accepted");
  } catch (const UserError& error) {
    REQUIRE(error.messages().size() == 21);
    CHECK_THAT(error.messages()[19], Contains("f.csv:21:39: error"));
    CHECK(error.messages()[20] == "f.csv: error: 130 more errors");
  }
}

TEST_CASE("round, flags and load are columns of a calibration's rows, and notes stay notes") {
  const std::string columns = "device,op,pass,n,c,median_us,note,round,flags,load";
  const Sample row = One(columns, "X,relu,forward,1,2,3,round 7,12,noisy; own time,3.5");
  CHECK(row.round == 12);
  CHECK(row.flags == std::vector<std::string>{"noisy", "own time"});
  CHECK(row.load == 3.5);
  CHECK(row.note == "round 7");
  CHECK_THAT(ErrorOf(columns + "\nX,relu,forward,1,2,3,,1,,few\n"), Contains("load: expected a number from 0 on"));
}

TEST_CASE("what one cell says of two axes is told once") {
  const std::string error = ErrorOf("device,op,pass,n,c,h,w,k,r,pad,median_us\nX,conv,forward,32,64,2,2,64,9,1,3\n");
  CHECK(error.find("a window of 9 exceeds the padded input of 4") ==
        error.rfind("a window of 9 exceeds the padded input of 4"));
}

TEST_CASE("columns of other programs are ignored with a warning") {
  const SampleSet set =
      ParseSamples("device,op,pass,n,c,median_us,medain_us,sm_clock_mhz\nX,relu,forward,1,2,3,x,1980\n", "f.csv");
  REQUIRE(set.warnings.size() == 1);
  CHECK(set.warnings[0] ==
        "f.csv:1:30: warning: column 'medain_us' is not one of the format and not read; did you mean 'median_us'?");
}

TEST_CASE("visited rows are not kept, so that a table of any size takes little more than its text") {
  std::string text = "op,pass,n,c\n";
  constexpr int kRows = 400'000;
  for (int row = 1; row <= kRows; ++row) text += fmt::format("relu,forward,{},1000\n", row);
  const Document document{"f.csv", std::move(text), {}, {}};
  const auto kilobytes = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  const auto before = kilobytes();
  std::int64_t rows = 0, samples = 0;
  VisitOperations(document, [&](const CsvRow& cells, const Sample* operation) {
    ++rows;
    samples += operation == nullptr ? 0 : operation->launch.shape.in.n;
    CHECK_FALSE(cells.size() != 4);
  });
  CHECK(rows == kRows + 1);
  CHECK(samples == std::int64_t{kRows} * (kRows + 1) / 2);
#ifdef __SANITIZE_ADDRESS__
  constexpr bool kKeepsFreed = true;  // for a while, to find later uses
#else
  constexpr bool kKeepsFreed = false;
#endif
  const auto more = kilobytes() - before;
  CHECK((kKeepsFreed || more < 20'000));  // 400,000 samples are 365 MB
}

TEST_CASE("mistakes of a visited table throw") {
  const auto visit = [](const std::string& text) {
    VisitOperations({"f.csv", text, {}, {}}, [](const CsvRow&, const Sample*) {});
  };
  CHECK_THROWS_WITH(visit("op,pass,n,c\nrelu,forward,1,1\nrelu,sideways,1,1\n"), Contains("f.csv:3:6"));
  CHECK_THROWS_WITH(visit("op,pass,n,c\nrelu,forward,1\n"), Contains("3 fields under 4 columns"));
  CHECK_THROWS_WITH(visit("op\n"), Contains("no rows below"));
}

}  // namespace spillway
