#include "reports/trace/trace.h"

#include <malloc.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "reports/reports.h"
#include "reports/tables/text.h"
#include "tests/long_timeline.h"
#include "tests/trace_schema.h"

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

TEST_CASE("events are sorted and those of one thread do not overlap") { CHECK(CheckedThreads(EventsOf(Case())) == 2); }

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

// Two maps go out and one comes back twice, by copies that belong to two host buffers; the stream of copies is late in the
// second timeline.
struct Swapped : Case {
  Swapped() {
    program.streams = {{0, StreamKind::kCompute}, {0, StreamKind::kDeviceToHost}, {0, StreamKind::kHostToDevice}};
    program.copies.resize(3);
    for (Copy& copy : program.copies) copy.bytes = 4096;
    program.buffers.resize(3);
    program.copies[0] = {.from = 0, .to = 1, .bytes = 4096, .direction = Direction::kDeviceToHost};
    program.copies[1] = {.from = 0, .to = 2, .bytes = 4096, .direction = Direction::kDeviceToHost};
    program.copies[2] = {.from = 1, .to = 0, .bytes = 4096, .direction = Direction::kHostToDevice};
    program.code = {{Opcode::kKernel, 0, Cause::kNone, 0, 0}, {Opcode::kCopy, 1, Cause::kNone, 0, 0},
                    {Opcode::kCopy, 1, Cause::kNone, 0, 1},   {Opcode::kCopy, 2, Cause::kNone, 0, 2},
                    {Opcode::kKernel, 0, Cause::kNone, 0, 1}, {Opcode::kCopy, 2, Cause::kNone, 0, 2}};
    timeline.spans = {{0, 0, 10}, {1, 10, 20}, {2, 20, 30}, {3, 20, 40}, {4, 40, 50}, {5, 45, 50}};
    measured.spans = {{0, 0, 12}, {1, 15, 27}, {2, 27, 39}, {3, 30, 60}, {4, 60, 66}, {5, 60, 66}};
    measured.makespan = 66;
  }
  nlohmann::json Events() const {
    return nlohmann::json::parse(TraceJson(
        {.timeline = timeline, .program = program, .machine = machine, .measured = &measured}))["traceEvents"];
  }
  Timeline measured;
};

TEST_CASE("flows lead from a swap-out to each swap-in of its piece, and from none that stays out") {
  const Swapped c;
  const auto events = EventsOf(c);
  CHECK(CheckedThreads(events) == 3);
  std::vector<int> begun, ended;
  for (const auto& e : events) {
    if (e["ph"] == "s") begun.push_back(e["id"].get<int>());
    if (e["ph"] == "f") ended.push_back(e["id"].get<int>());
  }
  CHECK(begun == std::vector<int>{3, 5});
  CHECK(ended == std::vector<int>{3, 5});
}

TEST_CASE("what was measured stands behind what was predicted, in processes of its own, with what was predicted") {
  const Swapped c;
  const auto events = c.Events();
  CHECK(CheckedThreads(events) == 6);
  std::vector<std::string> processes;
  std::map<int, std::vector<std::int64_t>> took, predicted;  // by process
  std::map<int, int> flows;
  for (const auto& e : events) {
    const int pid = e["pid"].get<int>();
    if (e["name"] == "process_name") processes.push_back(e["args"]["name"].get<std::string>());
    if (e["ph"] == "s") ++flows[pid];
    if (e["ph"] != "X") continue;
    took[pid].push_back(std::llround(1000 * e["dur"].get<double>()));
    if (e["args"].contains("predicted_ns")) predicted[pid].push_back(e["args"]["predicted_ns"].get<std::int64_t>());
  }
  CHECK(processes == std::vector<std::string>{"host (predicted)", "gpu \"0\" (predicted)", "host (measured)",
                                              "gpu \"0\" (measured)"});
  CHECK(took[1] == std::vector<std::int64_t>{10, 10, 10, 20, 10, 5});
  CHECK(took[3] == std::vector<std::int64_t>{12, 12, 12, 30, 6, 6});
  CHECK(predicted[1].empty());
  CHECK(predicted[3] == took[1]);
  CHECK(flows == std::map<int, int>{{1, 2}, {3, 2}});
}

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
std::size_t HeapInUse() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}
#else
std::size_t HeapInUse() { return 0; }
#endif

TEST_CASE("a program of a million instructions is written in pieces, and little is held meanwhile") {
  constexpr std::uint32_t kAll = 1'000'000;
  const LongTimeline c(kAll);
  std::size_t bytes = 0, largest = 0, held = 0;
  const std::size_t before = HeapInUse();
  WriteTrace(c.Subject(), [&](std::string_view piece) {
    bytes += piece.size();
    largest = std::max(largest, piece.size());
    held = std::max(held, HeapInUse() - std::min(before, HeapInUse()));
  });
  CHECK(bytes > 300'000'000);
  CHECK(largest < 100'000);
  // Four bytes an instruction and a stall, twelve a copy, a bit an instruction, and the piece: not what is written.
  CHECK(held < 4 * kAll + 4 * (kAll / 4) + 12 * (kAll / 2) + kAll / 8 + 500'000);
}

TEST_CASE("strings are escaped") {
  CHECK(JsonString("a\"b\\\n") == "\"a\\\"b\\\\\\n\"");
  CHECK(JsonString("\xff") == "\"\xEF\xBF\xBD\"");
}

}  // namespace
}  // namespace spillway
