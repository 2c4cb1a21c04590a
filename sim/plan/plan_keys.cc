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
       {"arena", "pool", "counted", "managed", "managed_prefetch"},
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
      {"workspaces", {"per_op", "held"}, [](const Runtime& r) { return static_cast<std::size_t>(r.workspaces); }},
      {"gaps", {"any", "all", "saved"}, [](const Runtime& r) { return static_cast<std::size_t>(r.gaps); }}};
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
       "1: copies of both directions share one stream"},
      choice(
          "memory",
          "arena: every buffer has a fixed address before the step, and allocation costs nothing. pool: an "
          "allocation blocks the host until there is memory, and fails if none can become free. counted: bytes are "
          "counted without addresses, as a caching allocator does. A kernel's allocation may wait for a copy, and the "
          "host never does. managed: unified "
          "memory, whose pages come when kernels touch them. managed_prefetch: pages come before each kernel. The "
          "last two are predicted only, by assumption, for plans that copy nothing"),
      choice("barrier",
             "phase: after forward the host waits for every copy. op: after each layer the host waits for the layer's "
             "kernels and every copy (vDNN). call: the host does so after each op"),
      choice("host_syncs", "backward_layer: the host waits for the backward ops of each layer, or break point (PoocH)"),
      {"framework_time", kADuration, without(FormatDurationExact(usual.framework_time)),
       "the host's time for each op besides the driver's, such as an interpreter's; up to 1 s. Predicted only: no "
       "device carries it out"},
      {"copy_chunk", kASize, without(FormatBytesExact(usual.copy_chunk)),
       "tensors are copied in pieces of this size, at least 64 KiB; tensors of ops in parts in whole samples. 0 B: in "
       "one piece"},
      choice("pool",
             "only with memory: pool. addresses: free bytes must lie together; if they do not, the host waits for the "
             "device and compacts the pool"),
      choice("blocking_copies",
             "copies whose call returns only when the copy is done, as from memory that is not pinned. Predicted only"),
      choice("swap_in_waits",
             "who waits for a swap-in. kernel: the first kernel that uses the tensor, on its stream. backward_layer: "
             "the host, before it issues any backward op of the layer, or break point (PoocH)"),
      {"collection_time", kADuration, without(FormatDurationExact(usual.collection_time)),
       "the host's pause for a garbage collection, after every recomputing kernel and every wait of a pool for a "
       "swap-out (PoocH's code); up to 1 s. Predicted only: no device carries it out"},
      choice("backward_units",
             "units of backward, for these waits and for planners. break_points: each layer whose result is a feature "
             "map begins a unit; layers without one belong to the unit before (PoocH's code: ReLU, addition and batch "
             "norm together)"),
      choice("part_waits",
             "who waits after each kernel of an op in parts. host: the host, until the kernel is done (micro-cuDNN's "
             "code)"),
      choice("workspaces",
             "lifetime of workspaces. per_op: while their op runs. held: the whole step; each op owns one "
             "(micro-cuDNN's workspace division)"),
      {"host_percent", WholeNumberFrom(1, 100), without(std::to_string(usual.host_percent)),
       "per cent of the swapped-out bytes that the host holds, where a CPU compresses them (vDNN++). The ratio is "
       "stated, not measured; copies cross the link uncompressed, and take no longer. Predicted only"},
      choice("gaps",
             "what a framework can carry out of a plan while it executes the step itself. any: everything. all: gaps "
             "of whole "
             "tensors before the update, with whole ops of the framework's algorithms (eager PyTorch). saved: of these "
             "only gaps from forward to backward, of tensors that autograd saves. Other plans do not run")};
}

const KeyTable& RuntimeKeys() {
  static const KeyTable kTable{
      .title = "runtime of a plan", .keys = RuntimeFieldKeys(), .note = "How the system executes the plan."};
  return kTable;
}

const KeyTable& GapKeys() {
  static const KeyTable kTable{
      .title = "gap",
      .keys = {{"tensor", kAnyText, "required", "the tensor's name in the step (`spillway dump step`)"},
               {"action", OneOf(GapActionNames()), "required", "what happens to the tensor between two uses"},
               {"after", "the name of an op, or start", "required", "the use that the gap follows"},
               {"before", "the name of an op, none or next_step", "required",
                "the use that ends the gap: the next one after `after`. none: `after` is the last use, and the tensor "
                "stays until `leaves_after`, for recomputations of later ops' operands. next_step: `after` is the "
                "last use of a parameter or state, which lies on the host until its first use in the next step"},
               {"out_after", "the name of an op, or start", "as `after`",
                "swap: the copy to the host may start when this op is done"},
               {"in_at", "the name of an op, or start", "as `before`",
                "swap: the copy back is issued just before this op, or later if there is no memory yet. With "
                "next_step: an op up to the tensor's first use, by default that one"},
               {"keep_result", kTrueOrFalse, "true", "recompute: the result stays until its last use"},
               {"keep_passed", kTrueOrFalse, "true",
                "recompute: the result stays, too, if it was computed on the way to another tensor"},
               {"leaves_after", "the name of an op", "none",
                "the tensor stays in the gap until this op is done. Entries of `recompute` before the next op may "
                "still read it. none: the tensor leaves right after `after`"},
               {"samples", "two whole numbers, the first sample and the one after the last", "all",
                "swap: a section of the batch that is swapped alone. Other samples stay, or have decisions of their "
                "own. Arenas only"},
               {"reason", kAnyText, "none", "the reason, for readers; nothing depends on the text"}},
      .note =
          "A tensor that no gap names stays on the device. Each gap is listed once, and parameters move "
          "only between steps."};
  return kTable;
}

const KeyTable& OpDecisionKeys() {
  static const KeyTable kTable{
      .title = "op",
      .keys =
          {{"op", kAnyText, "required", "the op's name in the step"},
           {"algorithm", "the name of an algorithm of the op, or 0", "0",
            "implicit_gemm, winograd, ... as in `spillway estimate`; 0: the library's choice"},
           {"workspace", kASize, "0 B", "workspace granted"},
           {"parts",
            "a list of maps",
            "none",
            "a convolution runs in parts along the batch, one kernel after the other; with `streamed` most other ops, "
            "too",
            {&OpPartKeys()}},
           {"again",
            "a map, or a list of maps",
            "none",
            "how a forward op runs, whole, when it is recomputed; a list: at its first recomputation, at its second, "
            "..., "
            "the last also for all after it; none: as the first time",
            {&OpAgainKeys()}},
           {"tiles",
            "a map",
            "none",
            "each part is cut further, along channels and rows; each tile has a kernel",
            {&OpTilesKeys()}},
           {"streamed", "a list of names of tensors", "none",
            "operands that each part copies in from the host, or out to the host. The device never holds them whole "
            "while the op runs. If the use before or after has them on the device, the gap needs a swap"},
           {"depth", WholeNumberFrom(1, kMostTilesDeep), std::to_string(kTilesDeep),
            "with `streamed`: number of parts that hold tiles in memory at the same time; one of them runs"},
           {"fused", kTrueOrFalse, "false",
            "with `streamed`: the op runs with the op just before it in the step, both on one part after another. A "
            "tensor that both stream comes in once and stays in its tile. It goes out once, if a later op uses it"}},
      .note = "An op without a decision gets the library's choice and the workspace that this choice asks for."};
  return kTable;
}

const KeyTable& OpAgainKeys() {
  static const KeyTable kTable{.title = "again of an op",
                               .keys = {{"algorithm", "the name of an algorithm of the op, or 0", "0", "as of an op"},
                                        {"workspace", kASize, "0 B", "workspace granted to the recomputation"}},
                               .note = "How the op runs when it is recomputed."};
  return kTable;
}

const KeyTable& OpPartKeys() {
  static const KeyTable kTable{
      .title = "part of an op",
      .keys = {{"samples", WholeNumberFrom(1, kAnyInteger), "required",
                "samples of the part, following those of the part before"},
               {"algorithm", "the name of an algorithm of the op, or 0", "0", "as of an op"},
               {"workspace", kASize, "0 B", "workspace granted; the parts of an op share the largest"},
               {"times", WholeNumberFrom(1, kAnyInteger), "1", "number of parts of this kind in a row"}},
      .note =
          "The parts hold all samples of the batch, in order. Each part of a filter's gradient adds to the parts "
          "before."};
  return kTable;
}

const KeyTable& OpTilesKeys() {
  static const KeyTable kTable{
      .title = "tiles of an op",
      .keys = {{"in_channels", WholeNumberFrom(1, kAnyInteger), "1",
                "convolutions without groups: ranges of the input's channels, over which forward sums"},
               {"out_channels", WholeNumberFrom(1, kAnyInteger), "1",
                "ranges of the output's channels; for bias, ReLU, add, copy and pooling, of their channels"},
               {"rows", WholeNumberFrom(1, kAnyInteger), "1",
                "ranges of rows of the op's result; for pooling only if windows do not overlap"}},
      .note =
          "Ranges are as equal as possible. Rows that two tiles read are read twice. The first of several tiles writes "
          "a sum, and the others add to it."};
  return kTable;
}

const KeyTable& RecomputationKeys() {
  static const KeyTable kTable{
      .title = "recomputation",
      .keys = {{"before", kAnyText, "required", "the name of the op before which the entry runs"},
               {"run", kAnyText, "required",
                "the name of the forward op that runs again, together with the ops that complete the same results"},
               {"keep", kTrueOrFalse, "true",
                "the results stay for the use that ends their gap. false, or if no op uses them any more: they are "
                "freed after the last entry of the same op that reads them"},
               {"leaves_after", "the name of an op", "none",
                "with `keep`: the results stay until this op is done. Entries before the next op may still read them. "
                "Then they are freed"}},
      .note =
          "Entries of a schedule, in order. A value may be computed several times within one gap. Its gap needs action "
          "recompute. Without entries, the op runs again right before the use that ends the gap."};
  return kTable;
}

const KeyTable& PlanKeys() {
  static const KeyTable kTable{
      .title = "plan",
      .keys = {{"strategy", kAnyText, "none", "the strategy that made the plan, as in results"},
               {"network", kAnyText, "required", "the network's own name"},
               {"batch", WholeNumberFrom(1, kAnyInteger), "required", "the batch size"},
               {"accumulate", WholeNumberFrom(1, kAnyInteger), "1",
                "number of batch parts, equal or one sample apart, that run one after another and add up gradients. "
                "Tensors and ops of the second part are named 'conv1:part2', 'conv1:forward:part2'"},
               {"machine", kAnyText, "none",
                "the machine that the plan was made for, as in results. `run --plan` leaves other machines out; "
                "without this line, it leaves out none"},
               {"capacity", kASize, "0 B", "device memory that the plan was made for"},
               {"search", kAnyText, "none", "how the decisions were found"},
               {"evaluations", WholeNumberFrom(0, kAnyInteger), "0", "simulations spent"},
               {"runtime", "a map", "our own (arena)", "how the plan is executed", {&RuntimeKeys()}},
               {"gaps", "a list of maps", "none", "what is swapped and recomputed", {&GapKeys()}},
               {"ops", "a list of maps", "none", "algorithms and workspaces", {&OpDecisionKeys()}},
               {"recompute", "a list of maps", "none", "when forward ops run again", {&RecomputationKeys()}}},
      .note = "What `spillway plan` writes and `--plan` reads."};
  return kTable;
}

}  // namespace spillway
