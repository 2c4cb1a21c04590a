// calibrate/published/convert_published.py on small made-up tables: what it writes is a samples file.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

#include "model/samples/file.h"
#include "model/step/launch.h"
#include "tests/temporary_folder.h"

namespace spillway {
namespace {

// REQUIRES: no quotes in the folder's path.
int Run(const TemporaryFolder& folder) {
  const std::string script = std::string(SPILLWAY_SOURCE_DIR) + "/calibrate/published/convert_published.py";
  const std::string command =
      "python3 '" + script + "' '" + folder.Path("") + "' '" + folder.Path("out") + "' > '" + folder.Path("log") + "'";
  return std::system(command.c_str());
}

SampleSet Converted(const TemporaryFolder& folder, const std::string& file) {
  REQUIRE(Run(folder) == 0);
  return ReadSamples(std::vector{folder.Path("out/" + file)});
}

bool HasPython() {
  const bool has = std::system("command -v python3 > /dev/null") == 0;
  if (!has) WARN("skipped: no python3");
  return has;
}

}  // namespace

TEST_CASE("a product counted by columns becomes a pass of a linear layer") {
  if (!HasPython()) return;
  const TemporaryFolder folder("convert-gemm");
  folder.Write("gemm_deepbench_x.csv",
               "shape_id,device,precision,M,N,K,trans_a,trans_b,time_ms,cuda,source\n"
               "1,X,fp32,10,20,30,T,N,0.5,9,s\n"
               "2,X,fp32,10,20,30,N,N,0.25,9,s\n"
               "3,X,fp16_tensorcore,10,20,30,N,T,0.125,9,s\n");
  const SampleSet set = Converted(folder, "x.csv");
  REQUIRE(set.samples.size() == 3);
  CHECK(set.samples[0].microseconds == 500);
  const auto shape = [&](std::size_t i) { return set.samples[i].launch.shape; };
  // 2 M N K = 12000 flops, whichever pass
  for (const Sample& sample : set.samples) CHECK(CountWork(sample.launch).flops == 12000);
  CHECK(set.samples[0].launch.pass == Pass::kForward);
  CHECK((shape(0).in.n == 20 && shape(0).in.c == 30 && shape(0).out.c == 10));
  CHECK(set.samples[1].launch.pass == Pass::kBackwardData);
  CHECK((shape(1).in.n == 20 && shape(1).in.c == 10 && shape(1).out.c == 30));
  CHECK(set.samples[2].launch.pass == Pass::kBackwardFilter);
  CHECK((shape(2).in.n == 30 && shape(2).in.c == 10 && shape(2).out.c == 20));
  CHECK(set.samples[2].launch.math == MathMode::kFp16);
}

TEST_CASE("each pass of a published convolution is a row, and failed algorithms are kept out") {
  if (!HasPython()) return;
  const TemporaryFolder folder("convert-conv");
  folder.Write("conv_deepbench_x.csv",
               "device,precision,app,N,C,H,W,K,kernel_h,kernel_w,pad_h,pad_w,stride_h,stride_w,fwd_ms,bwd_data_ms,"
               "bwd_filter_ms,fwd_algo_label,fwd_algo_label_check,cuda,cudnn,source\n"
               "X,fp32,OCR,4,3,161,700,32,5,20,0,1,2,3,0.1,,0.3,GEMM,ok,9,7,s\n");
  folder.Write("conv_algorithms_p100_monet.csv",
               "network,pass,n,c,h,w,k,kernel_h,kernel_w,stride,pad,groups,has_bias,cudnn_algo_name,status,time_ms,"
               "time_ms_second_profile,workspace_bytes,workspace_note,source\n"
               "net,backward_filter,8,4,9,9,4,3,3,1,1,1,1,ALGO_3,ok,2,4,512,,s\n"
               "net,forward,8,4,9,9,4,3,3,1,1,1,0,DIRECT,unavailable,,,,,s\n");
  const SampleSet best = Converted(folder, "x.csv");
  REQUIRE(best.samples.size() == 2);  // no time for backward data
  CHECK(best.samples[0].best);
  // (161 - 5) / 2 + 1 and (700 + 2 - 20) / 3 + 1
  CHECK(best.samples[0].launch.shape.out == Shape{.n = 4, .c = 32, .h = 79, .w = 228});
  CHECK(best.samples[1].launch.pass == Pass::kBackwardFilter);
  const SampleSet each = Converted(folder, "p100-16gb.csv");
  REQUIRE(each.samples.size() == 1);
  CHECK(each.samples[0].algorithm == "algo_3");
  CHECK(each.samples[0].microseconds == 3000);  // the mean of two profiles
  CHECK(each.samples[0].workspace == 512);
  CHECK(each.samples[0].network == "net");
  CHECK(each.refused.size() == 1);
}

TEST_CASE("the time of the forward pass is taken out of backward max pooling") {
  if (!HasPython()) return;
  const TemporaryFolder folder("convert-pool");
  folder.Write("ops_p100_monet.csv",
               "network,node_id,op,pass,n,in_c,in_h,in_w,out_c,out_h,out_w,kernel,stride,pad,time_ms,"
               "time_ms_second_profile,note,source\n"
               "net,7,max_pool2d,forward,2,4,9,9,4,4,4,3,2,0,1,1,,s\n"
               "net,7,max_pool2d,backward,2,4,9,9,4,4,4,3,2,0,5,5,again,s\n"
               "net,8,layer_norm,forward,2,4,9,9,4,4,4,,,,5,5,,s\n");
  const SampleSet set = Converted(folder, "p100-16gb.csv");
  REQUIRE(set.samples.size() == 2);
  CHECK(set.samples[0].microseconds == 1000);
  CHECK(set.samples[1].microseconds == 4000);
  CHECK_THAT(folder.Read("log"), Catch::Contains("left out     1 of ops_p100_monet.csv: layer_norm forward"));
}

TEST_CASE("transfers get their host, link and kind") {
  if (!HasPython()) return;
  const TemporaryFolder folder("convert-copy");
  folder.Write("transfer_commscope_curves.csv",
               "system,cpu,gpu,link,kind,direction,numa_node,gpu_id,locality,bytes,time_us_mean,time_us_stddev,source\n"
               "A,CPU,X,NVLink,unified_prefetch,D2H,0,0,remote,4096,10,1,s\n");
  folder.Write("transfer_spot_measurements.csv",
               "system,gpu,link,kind,direction,bytes,gb_per_s,concurrency,tool,note,source\n"
               "B,X,PCIe,pinned,H2D,10000000,10,while D2H runs,t,,s\n"
               "B,X,PCIe,pinned,H2D,,10,single,t,,s\n");
  const SampleSet set = Converted(folder, "x.csv");
  REQUIRE(set.samples.size() == 2);
  CHECK(set.samples[0].kind == "managed_prefetch");
  CHECK(set.samples[0].link == "remote");
  CHECK(set.samples[0].host == "A (CPU)");
  CHECK(set.samples[0].spread == Approx(2 * 1.2816 / 10).epsilon(1e-4));
  CHECK(set.samples[1].microseconds == 1000);  // 10 MB at 10 GB/s
  CHECK(set.samples[1].contention == "d2h");
}

TEST_CASE("a rate without a size is one of the tool's usual size, links are named as in profiles") {
  if (!HasPython()) return;
  const TemporaryFolder folder("convert-size");
  folder.Write("transfer_spot_measurements.csv",
               "system,gpu,link,kind,direction,bytes,gb_per_s,concurrency,tool,note,source\n"
               "B,X,PCIe4 x8 (as PCIe3 x16),pinned,H2D,,10,single,nvbandwidth CE,,s\n"
               "B,X,PCIe4 x16,pinned,H2D,,10,single,by hand,,s\n");
  const SampleSet set = Converted(folder, "x.csv");
  REQUIRE(set.samples.size() == 1);
  CHECK(set.samples[0].bytes == 512 * kMiB);
  CHECK(set.samples[0].microseconds == Approx(53687.1).epsilon(1e-5));  // 536870912 B at 10 B/ns
  CHECK(set.samples[0].link == "pcie4-x8");
  CHECK_THAT(set.samples[0].note, Catch::Contains("size not stated"));
}

TEST_CASE("a machine that is not fitted to published tables is refused before anything is converted or fitted") {
  const TemporaryFolder folder("fit-published");
  const auto run = [&](const std::string& arguments) {
    const std::string script = std::string(SPILLWAY_SOURCE_DIR) + "/calibrate/published/fit_published.sh";
    const std::string command =
        "SPILLWAY=false bash '" + script + "' " + arguments + " 2> '" + folder.Path("log") + "'";
    return WEXITSTATUS(std::system(command.c_str()));
  };
  const std::string tables = "'" + folder.Path("") + "'";
  CHECK(run(tables + " h100-sxm v100") == 2);
  CHECK_THAT(folder.Read("log"), Catch::StartsWith("v100 is none of the machines") && Catch::Contains("titanx"));
  // Its kernels are its teacher's; its links are its own.
  CHECK(run("--kernels " + tables + " v100-power9-nvlink2-x3") == 2);
  CHECK_THAT(folder.Read("log"), Catch::StartsWith("v100-power9-nvlink2-x3 is none of the machines"));
  for (const std::string& arguments : {std::string(), "'" + folder.Path("none") + "'", "--all " + tables}) {
    INFO(arguments);
    CHECK(run(arguments) == 2);
    CHECK_THAT(folder.Read("log"), Catch::Contains("fit_published.sh [--kernels|--links] FOLDER"));
  }
}

}  // namespace spillway
