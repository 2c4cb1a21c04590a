#include "model/profile/machine.h"
#include "model/profile/profile_text.h"

namespace spillway {

namespace {

constexpr const char* kRequired = "required";

KeyRow Call(const char* name, const char* meaning) { return {name, kADuration, kRequired, meaning}; }

}  // namespace

KeyRow OpRow(const char* meaning) { return {"op", kAnyText, kRequired, meaning}; }
KeyRow PassRow() { return {"pass", kAnyText, kRequired, "forward, backward_data, backward_filter, ..."}; }

const KeyTable& HostKeys() {
  static const KeyTable kTable{
      .title = "host",
      .keys = {{"name", kAnyText, kRequired, "unique among the hosts; links name it"},
               {"memory", kASize, kRequired, "capacity of this memory node (NUMA); more than zero"},
               {"pinned_limit", kASize, "all of the memory", "limit of pinned memory"},
               SourceRow()}};
  return kTable;
}

const KeyTable& FigureKeys() {
  static const KeyTable kTable{
      .title = "figures of a device",
      .keys = {PeakRow(),
               {"memory_bandwidth", kABandwidth, kRequired, "peak bandwidth of device memory"},
               {"multiprocessors", WholeNumberFrom(1, kMostMultiprocessors), kRequired,
                "their number; a wave of blocks fills all of them"},
               {"l2_cache", kASize, "not known", "size of the last cache before device memory"},
               SourceRow()}};
  return kTable;
}

const KeyTable& DeviceMemoryKeys() {
  static const KeyTable kTable{
      .title = "memory of a device",
      .keys = {{"total", kASize, kRequired, "as the device states it; more than zero"},
               {"reserve", kASize, kRequired, "memory that context and library take; less than the total"},
               {"pool_fraction", NumberFrom(0, 1), kRequired,
                "share of total less reserve that a training run may plan with; more than zero"},
               SourceRow()}};
  return kTable;
}

const KeyTable& LaunchCostKeys() {
  static const KeyTable kTable{.title = "launch cost",
                               .keys = {OpRow("convolution, batch_norm, ...; unique with the pass"),
                                        PassRow(),
                                        {"time", kADuration, kRequired, "what issuing such an op costs the host"}}};
  return kTable;
}

const KeyTable& LaunchListKeys() {
  static const KeyTable kTable{
      .title = "launches",
      .keys = {SourceRow(), {"ops", "a list of maps", kRequired, "at least one", {&LaunchCostKeys()}}},
      .note = "The host's time to launch certain ops, in place of kernel_launch."};
  return kTable;
}

const KeyTable& HostCostKeys() {
  static const KeyTable kTable{
      .title = "host costs of a device",
      .keys = {Call("kernel_launch", "issuing a kernel"),
               Call("copy_submit", "issuing a copy"),
               Call("event_record", "recording an event"),
               Call("stream_wait", "making a stream wait for an event"),
               Call("pool_alloc", "taking memory from a pool"),
               Call("pool_free", "returning memory to a pool"),
               Call("sync", "waiting for an event that is already complete"),
               SourceRow(),
               {"launches", "a map", "kernel_launch for all", "what issuing costs by op", {&LaunchListKeys()}}},
      .note = "What one call costs the thread that issues it."};
  return kTable;
}

const KeyTable& DeviceKeys() {
  const auto list = [](const char* name, const char* meaning, const KeyTable& of) {
    return KeyRow{name, "a list of maps", "none", meaning, {&of}};
  };
  static const KeyTable kTable{
      .title = "device",
      .keys = {
          {"name", kAnyText, kRequired, "unique among the devices; links name it"},
          {"figures", "a map", kRequired, "the chip's peak rates and caches", {&FigureKeys()}},
          {"memory", "a map", kRequired, "what a training run may use", {&DeviceMemoryKeys()}},
          {"host_costs", "a map", kRequired, "what calls cost the host", {&HostCostKeys()}},
          list("laws", "rooflines for ops without a model", LawKeys()),
          {"models_from", kAnyText, "its own",
           "a profile (in this file's folder, or shipped) whose first device's models, call floors and stacks "
           "hold here; it must be the same chip"},
          list("call_floors", "what harnesses add to samples", CallFloorKeys()),
          list("stacks", "other software stacks", StackKeys()),
          {"cudnn", kAnyText, "that of `measured`, else not known and taken for one before 9.3",
           "version of the library: before 9.3 it takes no convolution with a tensor of 2^31 elements or more"},
          ErrorRow("stack_error", "0.15", "error that all kernels of a software stack share; one standard deviation"),
          list("models", "fitted laws of kernels", KernelModelKeys()),
          {"measured", "a map", "none", "launches timed on this machine", {&MeasuredKeys()}}}};
  return kTable;
}

const KeyTable& SecondNameKeys() {
  static const KeyTable kTable{.title = "second name of a machine",
                               .keys = {{"name", kAnyText, kRequired, "name of this machine"},
                                        {"same_as", kAnyText, kRequired,
                                         "a profile (in this file's folder, or shipped) whose figures hold here"},
                                        {"description", kAnyText, "the other's", "one line"},
                                        {"software", kAnyText, "the other's", "driver and libraries"},
                                        {"notes", "a list of texts", "the other's alone", "added to the other's"}},
                               .note = "A file with `same_as` has these keys and no others."};
  return kTable;
}

const KeyTable& MachineKeys() {
  static const KeyTable kTable{
      .title = "machine profile",
      .keys = {{"name", kAnyText, kRequired, "as results and other files call it"},
               {"description", kAnyText, kRequired, "one line"},
               {"software", kAnyText, kRequired, "driver and libraries"},
               {"notes", "a list of texts", "none", "what a reader should know"},
               {"hosts", "a list of maps", kRequired, "memory nodes of the host (NUMA), at least one", {&HostKeys()}},
               {"devices", "a list of maps", kRequired, "at least one", {&DeviceKeys()}},
               {"links",
                "a list of maps",
                kRequired,
                "at least one; every device needs one, the first listed is the nearest",
                {&LinkKeys()}}},
      .note = "Quantities carry a unit: 1 GB is 1e9 bytes, 1 GiB 2^30. hw/unit.yaml is a short profile to start from."};
  return kTable;
}

}  // namespace spillway
