// CUDA, cuDNN and cuBLAS on this machine's memory, for testing the plugin that calls them: the C functions it uses, with
// naive loops that go by the descriptors they are given. Streams carry out everything at once.
//
// It refuses what the real libraries would, and what they would read or write astray: sizes that do not fit together,
// device memory that was not allocated or is too short, work on destroyed streams, workspaces that are too small.
//
// What it cannot show: times, asynchronous failures, which shapes and algorithms the real libraries take, and whether
// they see a parameter as this does (written from NVIDIA's reference).
#ifndef SPILLWAY_TESTS_CUDA_FAKE_C_FAKE_H_
#define SPILLWAY_TESTS_CUDA_FAKE_C_FAKE_H_

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cuda_fake {

struct State {
  std::map<const char*, std::size_t> device, host;  // live allocations and their sizes
  int objects = 0;                                  // streams, events, handles, descriptors alive
  std::size_t device_limit = std::size_t{1} << 30;
  int devices = 1;
  int current = 0;                            // the thread's device
  std::map<const char*, int> owners;          // which device has which of `device`
  bool peers = true;                          // whether devices can reach each other's memory
  std::set<std::pair<int, int>> peer_access;  // which one reaches which
  int rankings = 0, workspace_sizes = 0;      // that cuDNN was asked for, of convolutions
  std::string fail_function;                  // its next call gives `fail_status`
  int fail_status = 0;
  std::vector<std::string> calls;  // of cuDNN and cuBLAS that compute, with the modes that matter
};
State& TheState();

// The status that a test wants of this function's next call, once.
std::optional<int> Injected(const char* function);
// Whether `bytes` from `memory` on are within one live allocation of the thread's device; of `device`.
bool OnDevice(const void* memory, std::size_t bytes);
bool OnDevice(const void* memory, std::size_t bytes, int device);
void Log(const std::string& call);

}  // namespace cuda_fake

#endif  // SPILLWAY_TESTS_CUDA_FAKE_C_FAKE_H_
