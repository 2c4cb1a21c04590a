// spillway estimate as a user meets it.
#include <catch2/catch.hpp>

#include "model/kernels/kernel_form.h"
#include "model/profile/machine.h"
#include "tests/scenarios/fit_run.h"

namespace spillway {
namespace {

TEST_CASE("estimate: to standard output or to a file, the same") {
  const TemporaryFolder folder("estimate");
  const std::string ops = folder.Write("ops.csv", "op,pass,n,c\nrelu,forward,1,1000\n");
  const Outcome outcome = Spillway({"estimate", ops, "--machine", "unit"});
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK(outcome.err.empty());
  // 4000 B in, 4000 B out at 1 B/ns.
  CHECK(outcome.out ==
        "op,pass,n,c,predicted_us,predicted_algorithm,predicted_workspace_bytes,how,source,error,predicted_menu\n"
        "relu,forward,1,1000,8.000,,0,roofline,assumed,0.500,\n");
  const Outcome written = Spillway({"estimate", ops, "--machine", "unit", "-o", folder.Path("out.csv")});
  CHECK(written.status == 0);
  CHECK(written.out.empty());
  CHECK(folder.Read("out.csv") == outcome.out);
  CHECK(Spillway({"estimate", ops, "--machine", "unit", "-o", "-"}).out == outcome.out);
}

TEST_CASE("estimate: several tables of the same columns make one, others are refused") {
  const TemporaryFolder folder("estimate-several");
  const std::string a = folder.Write("a.csv", "op,pass,n,c\nrelu,forward,1,1000\n");
  const std::string b = folder.Write("b.csv", "op,pass,n,c\nrelu,forward,2,1000\n");
  const std::string c = folder.Write("c.csv", "op,pass,c,n\nrelu,forward,2,1000\n");
  const std::vector<std::string> lines = LinesOf(Spillway({"estimate", a, b, "--machine", "unit"}).out);
  REQUIRE(lines.size() == 3);
  CHECK_THAT(lines[1], Catch::StartsWith("relu,forward,1,1000,8.000,"));
  CHECK_THAT(lines[2], Catch::StartsWith("relu,forward,2,1000,16.000,"));
  const Outcome refused = Spillway({"estimate", a, c, "--machine", "unit", "-o", folder.Path("out.csv")});
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, Catch::Contains("c.csv: error: its columns are not those of") && Catch::Contains("a.csv"));
  CHECK_FALSE(Exists(folder.Path("out.csv")));
}

TEST_CASE("estimate: --workspace limits what rows do not limit themselves") {
  const TemporaryFolder folder("estimate-workspace");
  Machine machine = LoadMachine("unit");
  for (const char* form : {"implicit_gemm", "winograd_nonfused"}) {
    KernelModel model;
    model.form = model.algorithm = form;
    model.op = OpKind::kConvolution;
    model.pass = Pass::kForward;
    for (const FormParameter& p : FindKernelForm(form)->parameters) model.parameters.push_back({p.name, p.start});
    // Without workspace ten seconds: longer than anything else here.
    for (KernelModel::Parameter& p : model.parameters) {
      if (p.name == "fixed" && model.form == "implicit_gemm") p.value = 1e10;
    }
    model.source = {Source::Kind::kAssumed, "test"};
    machine.devices[0].models.push_back(model);
  }
  const std::string profile = folder.Write("m.yaml", MachineToYaml(machine));
  const std::string ops = folder.Write("ops.csv", "op,pass,n,c,h,w,k,r,pad\nconv,forward,8,16,12,12,16,3,1\n");
  const auto estimate = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"estimate", ops, "--machine", profile};
    words.insert(words.end(), more.begin(), more.end());
    return Spillway(words);
  };
  CHECK_THAT(estimate({}).out, Catch::Contains(",winograd_nonfused,"));
  CHECK_THAT(estimate({"--workspace", "8MiB"}).out, Catch::Contains(",winograd_nonfused,"));
  CHECK_THAT(estimate({"--workspace", "0B"}).out, Catch::Contains(",implicit_gemm,0,"));
  const Outcome wrong = estimate({"--workspace", "8"});
  CHECK(wrong.status == 2);
  CHECK_THAT(wrong.err, Catch::Contains("--workspace: expected a size with a unit"));
}

TEST_CASE("estimate: mistakes are status 2 and leave no output, columns not read are told") {
  const TemporaryFolder folder("estimate-wrong");
  const std::string bad = folder.Write("bad.csv", "op,pass,n,c\nrely,forward,1,1000\nrelu,forward,0,1000\n");
  const Outcome outcome = Spillway({"estimate", bad, "--machine", "unit", "-o", folder.Path("out.csv")});
  CHECK(outcome.status == 2);
  CHECK_THAT(outcome.err, Catch::Contains("bad.csv:2:1: error: op: unknown 'rely'") &&
                              Catch::Contains("bad.csv:3:14: error: n:") && Catch::Contains("2 errors"));
  CHECK_FALSE(Exists(folder.Path("out.csv")));
  CHECK_THAT(Spillway({"estimate", bad, "--machine", "unti"}).err, Catch::Contains("did you mean 'unit'?"));
  CHECK(Spillway({"estimate", folder.Path("none.csv"), "--machine", "unit"}).status == 2);
  CHECK(Spillway({"estimate", bad}).status == 2);
  const std::string wide = folder.Write("wide.csv", "op,pass,n,c,strid\nrelu,forward,1,1000,2\n");
  const Outcome warned = Spillway({"estimate", wide, "--machine", "unit"});
  CHECK(warned.status == 0);
  CHECK_THAT(warned.err, Catch::Contains("column 'strid'") && Catch::Contains("did you mean 'stride'?"));
}

TEST_CASE("estimate: a profile with a model unknown to this program is refused") {
  const TemporaryFolder folder("estimate-model");
  Machine machine = LoadMachine("unit");
  KernelModel model;
  model.form = "elementwize";
  model.op = OpKind::kRelu;
  model.pass = Pass::kForward;
  model.source = {Source::Kind::kAssumed, "test"};
  machine.devices[0].models = {model};
  const std::string profile = folder.Write("m.yaml", MachineToYaml(machine));
  const std::string ops = folder.Write("ops.csv", "op,pass,n,c\nrelu,forward,1,1000\n");
  const Outcome outcome = Spillway({"estimate", ops, "--machine", profile});
  CHECK(outcome.status == 2);
  CHECK_THAT(outcome.err, Catch::Contains("machine 'unit', device 'gpu0': unknown kernel form 'elementwize'; did you "
                                          "mean 'elementwise'?"));
}

}  // namespace
}  // namespace spillway
