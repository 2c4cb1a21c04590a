// The CUDA device for calibrating and validating: a GPU of this machine, by CUDA, cuDNN and cuBLAS.
//
// Tested by cli_cuda_test and cli_cuda_pace_test (tests/), over a stand-in for the libraries.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_BACKEND_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_BACKEND_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "calibrate/devices/backend.h"
#include "calibrate/devices/cuda/bench_target.h"
#include "calibrate/devices/cuda/calls.h"

namespace spillway {

class CudaBackend : public DeviceBackend {
 public:
  // The GPU CudaBenchOptions::device; `bench`: how it is measured, but for the protocol. `calls`: nullptr = those of the
  // plugin (calibrate/devices/cuda/load.h), which is loaded when it is first needed.
  CudaBackend(CudaBenchOptions bench, const Clock& clock, std::shared_ptr<CudaCalls> calls = nullptr)
      : DeviceBackend(clock), bench_(std::move(bench)), calls_(std::move(calls)) {}

  const DeviceTraits& traits() const override;
  void Need() override;
  std::string Identity() override;
  void CheckProfile(const Machine& profile) override;
  std::string ChangedSince(const Machine& profile) override;
  std::optional<int> Probe(const std::function<void(const std::string&)>& tell) override;
  std::vector<std::string> UsualNetworks() const override;
  CalibrateSetup Calibrate(const CalibrateRequest& request) override;
  std::unique_ptr<BenchTarget> Bench(const Machine& profile) override;
  AskDevice Offers(const Machine& profile) override;
  std::unique_ptr<ExecutionDevice> Open(const Machine& profile, const DeviceTerms& terms) override;
  Bytes DeviceBytes() override;
  Bytes FreeBytes() override;
  double Room(const Machine& profile) override;

 private:
  CudaCalls& Calls();
  const CudaProperties& Properties();

  CudaBenchOptions bench_;
  std::shared_ptr<CudaCalls> calls_;
  std::optional<CudaProperties> properties_;  // once they were asked for
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_BACKEND_H_
