#include "reports/trace.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "reports/reports.h"
#include "reports/text.h"

namespace spillway {
namespace {

// Two streams:  compute  [k0 0..10)        [k1 15..20)
//               copies         [c0 10..15)
struct Case {
  Program program;
  Timeline timeline;
  Machine machine;
  Case() {
    program.streams = {{0, StreamKind::kCompute}, {0, StreamKind::kHostToDevice}};
    program.kernels.resize(2);
    program.kernels[1].recomputation = true;
    program.launches.resize(1);
    program.copies.resize(1);
    program.copies[0].bytes = 4096;
    program.code = {{Opcode::kKernel, 0, Cause::kNone, 0, 0},
                    {Opcode::kKernel, 0, Cause::kNone, 0, 1},
                    {Opcode::kCopy, 1, Cause::kNone, 0, 0}};
    timeline.spans = {{0, 0, 10}, {1, 15, 20}, {2, 10, 15}};  // in the order of instructions
    timeline.memory = {{0, 512}, {10, 1024}, {20, 0}};
    machine.devices.resize(1);
    machine.devices[0].name = "gpu \"0\"";
  }
};

nlohmann::json EventsOf(const Case& c) {
  return nlohmann::json::parse(TraceJson({c.timeline, c.program, c.machine}))["traceEvents"];
}

TEST_CASE("a trace is JSON with one thread per stream, named") {
  const auto events = EventsOf(Case());
  std::map<std::string, int> kinds;
  std::vector<std::string> names;
  for (const auto& e : events) {
    ++kinds[e["ph"].get<std::string>()];
    if (e["ph"] == "M" && e["name"] != "thread_sort_index") names.push_back(e["args"]["name"].get<std::string>());
  }
  CHECK(kinds["X"] == 3);
  CHECK(kinds["C"] == 3);
  CHECK(names == std::vector<std::string>{"host", "issue", "gpu \"0\"", "compute (stream 0)", "swap-in (stream 1)"});
}

TEST_CASE("events are sorted and those of one thread do not overlap") {
  double last = 0;
  std::map<std::pair<int, int>, double> end;
  for (const auto& e : EventsOf(Case())) {
    if (e["ph"] == "M") continue;
    const double start = e["ts"].get<double>();
    CHECK(start >= last);
    last = start;
    if (e["ph"] != "X") continue;
    double& thread_end = end[{e["pid"].get<int>(), e["tid"].get<int>()}];
    CHECK(start >= thread_end);
    thread_end = start + e["dur"].get<double>();
  }
  CHECK(end.size() == 2);
}

TEST_CASE("times are microseconds with whole nanoseconds") {
  Case c;
  c.timeline.spans = {{0, 1'234'567, 1'234'568}};
  const std::string text = TraceJson({c.timeline, c.program, c.machine});
  CHECK(text.find("\"ts\":1234.567,\"dur\":0.001") != std::string::npos);
}

TEST_CASE("names and bytes of events") {
  std::vector<std::string> names;
  for (const auto& e : EventsOf(Case())) {
    if (e["ph"] == "X") names.push_back(e["name"].get<std::string>() + "/" + e["cat"].get<std::string>());
    if (e["ph"] == "X" && e["cat"] == "copy") CHECK(e["args"]["bytes"] == 4096);
  }
  CHECK(names == std::vector<std::string>{"kernel 0/kernel", "swap-in 0/copy", "recompute kernel 1/recompute"});
}

TEST_CASE("with a step, events carry the names of ops and tensors") {
  Case c;
  TrainingStep step;
  step.ops.resize(1);
  step.ops[0].name = "conv1:forward";
  step.tensors.resize(1);
  step.tensors[0].name = "conv1";
  c.program.kernels[0].op = c.program.kernels[1].op = 0;
  c.program.buffers.resize(1);
  c.program.buffers[0].tensor = 0;
  c.program.copies[0].to = 0;
  const std::string text = TraceJson({c.timeline, c.program, c.machine, &step});
  CHECK(text.find("\"name\":\"conv1:forward\"") != std::string::npos);
  CHECK(text.find("\"name\":\"recompute conv1:forward\"") != std::string::npos);
  CHECK(text.find("\"name\":\"swap-in conv1\"") != std::string::npos);
}

// A million kernels and copies by turns, each with a wait for the other, as an out-of-core step of many parts has them.
TEST_CASE("a program of a million instructions is written in pieces, in seconds") {
  constexpr std::uint32_t kHalf = 500'000;
  Case c;
  c.program.kernels.resize(kHalf);
  c.program.copies.resize(kHalf);
  c.program.code.clear();
  c.timeline.spans.clear();
  for (std::uint32_t i = 0; i < kHalf; ++i) {
    c.program.code.push_back({Opcode::kKernel, 0, Cause::kNone, 0, i});
    c.program.code.push_back({Opcode::kCopy, 1, Cause::kNone, 0, i});
    c.timeline.spans.push_back({2 * i, 1000 * Nanos{i}, 1000 * Nanos{i} + 900});
    c.timeline.spans.push_back({2 * i + 1, 1000 * Nanos{i} + 10, 1000 * Nanos{i} + 700});
  }
  std::size_t bytes = 0, largest = 0;
  const auto begin = std::chrono::steady_clock::now();
  WriteTrace({c.timeline, c.program, c.machine}, [&](std::string_view piece) {
    bytes += piece.size();
    largest = std::max(largest, piece.size());
  });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  WARN("a million slices: " << took.count() << " s, " << bytes / 1'000'000 << " MB");
  CHECK(bytes > 100'000'000);
  CHECK(largest < 100'000);
  CHECK(took.count() < 20);  // 2 are wanted; sanitizers and busy machines take longer
}

TEST_CASE("strings are escaped") {
  CHECK(JsonString("a\"b\\\n") == "\"a\\\"b\\\\\\n\"");
  CHECK(JsonString("\xff") == "\"\xEF\xBF\xBD\"");
}

}  // namespace
}  // namespace spillway
