#include "sim/plan/plan_keys.h"

#include <cassert>
#include <limits>

#include "hw/text/units.h"

namespace spillway {

namespace {

// A choice of Runtime: its words in the order of its enumeration, and which of them is made.
struct RuntimeChoiceWords {
  const char* key;
  std::vector<std::string> words;
  std::size_t (*made)(const Runtime& runtime);
};

const RuntimeChoiceWords& ChoiceUnder(std::string_view key) {
  static const std::vector<RuntimeChoiceWords> kTable = {
      {"memory",
       {"arena", "pool", "managed", "managed_prefetch"},
       [](const Runtime& r) { return static_cast<std::size_t>(r.memory); }},
      {"barrier",
       {"none", "phase", "op", "call"},
       [](const Runtime& r) { return static_cast<std::size_t>(r.barrier); }},
      {"host_syncs",
       {"none", "backward_layer"},
       [](const Runtime& r) { return static_cast<std::size_t>(r.host_syncs); }},
      {"pool", {"bytes", "addresses"}, [](const Runtime& r) { return static_cast<std::size_t>(r.pool); }},
      {"blocking_copies",
       {"none", "swap_outs", "all"},
       [](const Runtime& r) { return static_cast<std::size_t>(r.blocking_copies); }},
      {"swap_in_waits",
       {"kernel", "backward_layer"},
       [](const Runtime& r) { return static_cast<std::size_t>(r.swap_in_waits); }},
      {"backward_units",
       {"layers", "break_points"},
       [](const Runtime& r) { return static_cast<std::size_t>(r.backward_units); }},
      {"part_waits", {"none", "host"}, [](const Runtime& r) { return static_cast<std::size_t>(r.part_waits); }},
      {"workspaces", {"per_op", "held"}, [](const Runtime& r) { return static_cast<std::size_t>(r.workspaces); }}};
  for (const RuntimeChoiceWords& choice : kTable) {
    if (key == choice.key) return choice;
  }
  assert(false && "no choice of runtimes");
  return kTable.front();
}

}  // namespace

const std::vector<std::string>& RuntimeWords(std::string_view key) { return ChoiceUnder(key).words; }

const std::string& RuntimeWord(const Runtime& runtime, std::string_view key) {
  const RuntimeChoiceWords& choice = ChoiceUnder(key);
  return choice.words[choice.made(runtime)];
}

const std::vector<std::string>& GapActionNames() {
  static const std::vector<std::string> kNames{"swap", "recompute"};
  return kNames;
}

std::vector<KeyRow> RuntimeFieldKeys(const char* otherwise) {
  const Runtime usual;
  const auto without = [&](const std::string& own) { return otherwise == nullptr ? own : otherwise; };
  const auto choice = [&](const char* name, const char* meaning) {
    return KeyRow{name, OneOf(RuntimeWords(name)), without(RuntimeWord(usual, name)), meaning};
  };
  return {
      {"copy_streams", WholeNumberFrom(1, 2), without(std::to_string(usual.copy_streams)),
       "1: both directions share one stream"},
      choice("memory",
             "arena: every buffer has a fixed address before the step, and allocation costs nothing; pool: "
             "allocation blocks the host until there is room, and fails where none can come; managed: unified memory, "
             "whose pages come when kernels touch them, or (managed_prefetch) ahead of each kernel; predicted only, by "
             "assumption, and for plans that copy nothing by themselves"),
      choice("barrier",
             "phase: after forward the host waits for every copy; op: after each layer it waits for its kernels "
             "and every copy (vDNN); call: after each op"),
      choice("host_syncs",
             "backward_layer: after the backward ops of each layer (or break point) the host waits for them (PoocH)"),
      {"framework_time", kADuration, without(FormatDurationExact(usual.framework_time)),
       "of the host per op, on top of what the driver takes: an interpreter's; predicted only, no device "
       "carries it out; up to 1 s"},
      {"copy_chunk", kASize, without(FormatBytesExact(usual.copy_chunk)),
       "tensors are copied in pieces of this size, from 64 KiB on (those of ops in parts: or a little more, in whole "
       "samples); 0 B: in one piece"},
      choice("pool",
             "only with memory: pool; addresses: free bytes must lie together, and where they do not, the host "
             "waits for the device and the pool is compacted"),
      choice("blocking_copies",
             "copies whose call returns only when they are done, as from memory that is not pinned; predicted only"),
      choice("swap_in_waits",
             "who waits for what is copied in. kernel: the first kernel that uses it, on its stream; "
             "backward_layer: the host, before it issues anything of the layer's (or break point's) backward (PoocH)"),
      {"collection_time", kADuration, without(FormatDurationExact(usual.collection_time)),
       "the host's pause for a garbage collection of its interpreter, after every kernel that recomputes and every "
       "wait of a pool for a swap-out (PoocH's published code); predicted only, no device carries it out; up to 1 s"},
      choice("backward_units",
             "what backward is cut into for these waits, and for the planners' timings. break_points: a layer whose "
             "result is a feature map begins one, the others go on with it (PoocH's published code: ReLU, addition "
             "and batch norm together)"),
      choice("part_waits",
             "who waits behind each kernel of an op that the plan divides. host: the host, until it is done "
             "(micro-cuDNN's published code)"),
      choice("workspaces",
             "how long they are there. per_op: while their op runs; held: throughout, each op owns its own "
             "(micro-cuDNN's workspace division)"),
      {"host_percent", WholeNumberFrom(1, 100), without(std::to_string(usual.host_percent)),
       "of the bytes that copies out leave on the host, what it holds: a CPU that compresses them there (vDNN++), by a "
       "ratio that is stated here; copies cross the link whole, and compressing keeps up with them; predicted only"}};
}

const KeyTable& RuntimeKeys() {
  static const KeyTable kTable{
      .title = "runtime of a plan", .keys = RuntimeFieldKeys(), .note = "How the system executes what is decided."};
  return kTable;
}

const KeyTable& GapKeys() {
  static const KeyTable kTable{
      .title = "gap",
      .keys =
          {{"tensor", kAnyText, "required", "its name in the step (`spillway dump step`)"},
           {"action", OneOf(GapActionNames()), "required", "what becomes of it between two uses"},
           {"after", "the name of an op, or start", "required", "the use that the gap follows"},
           {"before", "the name of an op", "required", "the use that ends it, the next one after `after`"},
           {"out_after", "the name of an op, or start", "as `after`",
            "swap: the copy to the host may start when this op is done"},
           {"in_at", "the name of an op, or start", "as `before`",
            "swap: the copy back is issued just before this op, or later where there is no room yet"},
           {"keep_result", kTrueOrFalse, "true", "recompute: the result stays until its last use"},
           {"keep_passed", kTrueOrFalse, "true",
            "recompute: computed on the way to another tensor, the result stays too"},
           {"leaves_after", "the name of an op", "none",
            "it stays in the gap until this op is done, and for entries of `recompute` before the next op that read "
            "it; none: it leaves right behind `after`"},
           {"samples", "two whole numbers, the first sample and the one behind the last", "all",
            "swap: a section, which leaves and comes back by itself; the others stay, or have decisions of their own "
            "on the gap; arena only"},
           {"reason", kAnyText, "none", "why; nothing depends on it"}},
      .note = "A tensor that no gap names stays on the device. Each is taken once, and parameters never move."};
  return kTable;
}

const KeyTable& OpDecisionKeys() {
  static const KeyTable kTable{
      .title = "op",
      .keys =
          {{"op", kAnyText, "required", "its name in the step"},
           {"algorithm", "the name of an algorithm of the op, or 0", "0",
            "implicit_gemm, winograd, ... as `spillway estimate` has them; 0: the library's choice"},
           {"workspace", kASize, "0 B", "scratch that it is granted"},
           {"parts",
            "a list of maps",
            "none",
            "a convolution in parts along the batch, one kernel behind the other; with `streamed` most other ops too",
            {&OpPartKeys()}},
           {"again",
            "a map",
            "none",
            "how a forward op runs when it is recomputed, whole; none: as the first time",
            {&OpAgainKeys()}},
           {"tiles",
            "a map",
            "none",
            "each part cut further, along channels and rows: a kernel for each tile",
            {&OpTilesKeys()}},
           {"streamed", "a list of names of tensors", "none",
            "operands that each part copies in from the host, or out to it, by itself: the device never holds them "
            "whole while the op runs; where the use before or behind has them on the device, gaps hold a swap"},
           {"depth", WholeNumberFrom(1, kMostTilesDeep), std::to_string(kTilesDeep),
            "with streamed: memory is laid out for the tiles of so many parts, one of which runs"},
           {"fused", kTrueOrFalse, "false",
            "with streamed: it runs with the op just before it in the step, both on one part after another; what both "
            "stream stays in its tile, comes in once and goes out once, if anybody uses it later"}},
      .note = "An op without one gets the library's choice and the workspace that it asks for."};
  return kTable;
}

const KeyTable& OpAgainKeys() {
  static const KeyTable kTable{.title = "again of an op",
                               .keys = {{"algorithm", "the name of an algorithm of the op, or 0", "0", "as of an op"},
                                        {"workspace", kASize, "0 B", "scratch that it is granted then"}},
                               .note = "How the op runs when it is recomputed."};
  return kTable;
}

const KeyTable& OpPartKeys() {
  static const KeyTable kTable{
      .title = "part of an op",
      .keys = {{"samples", WholeNumberFrom(1, kAnyInteger), "required",
                "of the batch, behind those of the part before"},
               {"algorithm", "the name of an algorithm of the op, or 0", "0", "as of an op"},
               {"workspace", kASize, "0 B", "scratch that it is granted; the parts of an op share the largest"},
               {"times", WholeNumberFrom(1, kAnyInteger), "1", "so many parts of this kind in a row"}},
      .note = "All samples of the batch, in order. Of a filter's gradient each part adds to those before it."};
  return kTable;
}

const KeyTable& OpTilesKeys() {
  static const KeyTable kTable{
      .title = "tiles of an op",
      .keys = {{"in_channels", WholeNumberFrom(1, kAnyInteger), "1",
                "convolutions without groups: ranges of their input's channels, over which forward sums"},
               {"out_channels", WholeNumberFrom(1, kAnyInteger), "1",
                "ranges of the output's channels; of bias, ReLU, add, copy and pooling their channels"},
               {"rows", WholeNumberFrom(1, kAnyInteger), "1",
                "ranges of rows of what the op makes; of pooling where windows lie side by side"}},
      .note =
          "Ranges as equal as can be. Rows that two tiles read are read twice; what is summed over several tiles is "
          "written by the first, and the others add to it."};
  return kTable;
}

const KeyTable& RecomputationKeys() {
  static const KeyTable kTable{
      .title = "recomputation",
      .keys =
          {{"before", kAnyText, "required", "the name of the op that it runs before"},
           {"run", kAnyText, "required",
            "the name of the forward op that runs again, with those that finish the same "
            "results"},
           {"keep", kTrueOrFalse, "true",
            "the results stay for the use that ends their gap; false, or where no op uses them any more: freed behind "
            "the last entry of the same op that reads them"},
           {"leaves_after", "the name of an op", "none",
            "with keep: the results stay until this op is done, and for entries before the next op that read them; "
            "then "
            "they are missing again"}},
      .note =
          "Entries of a schedule, in order: a value may be computed several times within one gap. Its gap has action "
          "recompute, which by itself means: right before the use that ends it."};
  return kTable;
}

const KeyTable& PlanKeys() {
  static const KeyTable kTable{
      .title = "plan",
      .keys = {{"strategy", kAnyText, "none", "who made it, as results call it"},
               {"network", kAnyText, "required", "the network it is for, by its own name"},
               {"batch", WholeNumberFrom(1, kAnyInteger), "required", "the batch it is for"},
               {"accumulate", WholeNumberFrom(1, kAnyInteger), "1",
                "batch parts that the step runs in, one after another, gradients accumulated; a divisor of the batch. "
                "Tensors and ops of the second part are called as 'conv1:part2', 'conv1:forward:part2'"},
               {"machine", kAnyText, "none",
                "the machine it was made for, as results call it; `run --plan` leaves other machines "
                "out, and without this line none"},
               {"capacity", kASize, "0 B", "memory that it was made for"},
               {"search", kAnyText, "none", "how the decisions were found"},
               {"evaluations", WholeNumberFrom(0, kAnyInteger), "0", "simulations spent"},
               {"runtime", "a map", "our own (arena)", "how it is executed", {&RuntimeKeys()}},
               {"gaps", "a list of maps", "none", "what is swapped and recomputed", {&GapKeys()}},
               {"ops", "a list of maps", "none", "algorithms and workspaces", {&OpDecisionKeys()}},
               {"recompute", "a list of maps", "none", "when forward ops run again", {&RecomputationKeys()}}},
      .note = "What `spillway plan` writes and `--plan` reads."};
  return kTable;
}

}  // namespace spillway
