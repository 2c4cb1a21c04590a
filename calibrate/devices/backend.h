// One device as calibrating and validating see it: how it is recognised, opened, measured and asked.
//
//   const std::unique_ptr<DeviceBackend> backend = ...;  // scenarios/cli/devices.h has a table of the kinds
//   backend->Need();
//   const std::unique_ptr<ExecutionDevice> device = backend->Open(profile, {.seed = 1});
//
// To add a kind of device: a folder calibrate/devices/NAME with a class that derives from DeviceBackend, and a line in
// scenarios/cli/devices.cc.
//
// Threads: all calls come from one thread, but for Bench() and what it gives where DeviceTraits::bench_aside is set.
#ifndef SPILLWAY_CALIBRATE_DEVICES_BACKEND_H_
#define SPILLWAY_CALIBRATE_DEVICES_BACKEND_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/host/host_facts.h"
#include "calibrate/host/host_memory.h"
#include "calibrate/measure/plan.h"
#include "calibrate/measure/profile.h"
#include "calibrate/measure/run.h"
#include "calibrate/ops/operands.h"
#include "model/step/launch.h"
#include "sim/execute/clock.h"
#include "sim/execute/device.h"

namespace spillway {

using BenchNetworks = std::vector<std::shared_ptr<const BenchNetwork>>;

// Facts that hold for all devices of one kind.
struct DeviceTraits {
  // Which profiles are of the kind: the beginning of their devices' names; the shipped profile that the user's own takes
  // the place of; and the user's own, a file in hw/.
  std::string devices, example, usual_profile;
  // true: a link without a limit is paced to the rate at which the profile was measured. false: it runs at full speed.
  bool paces_as_profile = true;
  bool slows_compute = false;  // DeviceTerms::compute_slowdown can be had
  // How far a plan may be from in-core training, over the largest magnitude of a tensor, where the device's algorithms
  // depend on what a plan grants: up to there a note. 0: anything but the same bits is a failure.
  double numerics_tolerance = 0;
  bool offers_algorithms = true;  // false: the profile's own workspaces and algorithms are believed
  bool can_bench = true;          // false: the device is taken to compute as fast as the profile says
  // Bench() is called, and what it gives is used, on a thread that ends then and takes along the threads that kernels
  // computed on: idle ones would slow down those of the device.
  bool bench_aside = false;
  std::size_t pace_launches = 16;  // of products, and of others, that a pace comes from (calibrate/validate/pace.h)
};

// The request for a calibration, the same for all devices.
struct CalibrateRequest {
  BenchNetworks networks;  // whose launches come first
  BenchProtocol protocol = BenchProtocol::kStep;
  double link_rate = 0;  // bytes per nanosecond; 0 = as fast as it goes
  int threads = 1;       // of kernels
  bool quick = false, no_grid = false;
  std::vector<BenchGroup> groups;  // empty: the usual
  std::string date;
};

// A device opened for measuring, and what is to be measured.
struct CalibrateSetup {
  std::unique_ptr<BenchTarget> target;
  std::vector<BenchItem> plan;
  BenchFacts facts;                            // all but the name of the profile and what may be pinned
  std::vector<std::string> not_measured = {};  // of what could be, and why: one sentence each
};

// The terms under which a device is opened for Programs.
struct DeviceTerms {
  std::uint64_t seed = 1;       // of labels and dropout
  double link_rate = 0;         // bytes per nanosecond each way at most; 0 = not limited
  double compute_slowdown = 1;  // every kernel takes so many times as long; other than 1: DeviceTraits::slows_compute
};

struct OfferedAlgorithm {
  std::int32_t algorithm = 0;  // as in Launch
  Bytes workspace = 0;         // what it needs
};
// All that a device offers for a convolution, those that it would take first in front. Algorithm and workspace of the
// launch do not matter. Throws UserError where the device cannot run the launch at all.
using AskDevice = std::function<std::vector<OfferedAlgorithm>(const Launch& launch)>;

class DeviceBackend {
 public:
  // `clock`: of the host. Must outlive the backend and all that the backend gives.
  explicit DeviceBackend(const Clock& clock) : clock_(clock) {}
  virtual ~DeviceBackend() = default;
  DeviceBackend(const DeviceBackend&) = delete;
  DeviceBackend& operator=(const DeviceBackend&) = delete;

  const Clock& clock() const { return clock_; }
  virtual const DeviceTraits& traits() const = 0;

  // ---- Which device this is. Nothing is loaded before the first of these calls, or of those below.

  // Throws UserError, with what is missing, where programs cannot be carried out on the device.
  virtual void Need() = 0;
  // Device and software: cases measured on others do not belong together.
  virtual std::string Identity() = 0;
  // Throws UserError where this machine cannot be what the profile says.
  virtual void CheckProfile(const Machine& profile) = 0;
  // A warning where the software is not the one that the profile's launches were measured with; "": it is.
  virtual std::string ChangedSince(const Machine& /*profile*/) { return ""; }
  // Says a line at a time what the device is and whether what measuring relies on holds; the number of sections where it
  // does not. nullopt: there is nothing of the kind to ask.
  virtual std::optional<int> Probe(const std::function<void(const std::string&)>& /*tell*/) { return std::nullopt; }

  // ---- Measured, launch by launch.

  // As words of the command line: networks whose launches profiles of the device usually hold.
  virtual std::vector<std::string> UsualNetworks() const = 0;
  // Throws UserError for what the device has not, or cannot do.
  virtual CalibrateSetup Calibrate(const CalibrateRequest& request) = 0;
  // To time launches that the profile holds once more. REQUIRES: DeviceTraits::can_bench, no session is open.
  virtual std::unique_ptr<BenchTarget> Bench(const Machine& profile) = 0;

  // ---- Carrying Programs out, as the profile says that its device computes.

  // Asked on the caller's thread before anything is planned. REQUIRES: DeviceTraits::offers_algorithms.
  virtual AskDevice Offers(const Machine& profile) = 0;
  virtual std::unique_ptr<ExecutionDevice> Open(const Machine& profile, const DeviceTerms& terms) = 0;

  // ---- The machine that the device is in, now.

  // Bytes of the device's own memory in use by any process; -1: the device shares the process's memory.
  virtual Bytes DeviceBytes() { return -1; }
  // Bytes of memory that Programs could have now; -1: not told. What the device reserves for itself (Device::reserve of a
  // profile) is taken before this is asked: nobody takes it off once more.
  virtual Bytes FreeBytes() { return AvailableMemory(); }
  virtual Bytes HostMemory() { return ReadHostMemory(); }  // some machines are given more while they run
  virtual double Load() { return ReadLoad(); }             // average number of threads that want a core; < 0: unknown
  // Up to which load nobody waits for a core while Programs run; < 0: unknown.
  virtual double Room(const Machine& profile) = 0;

 private:
  const Clock& clock_;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_BACKEND_H_
