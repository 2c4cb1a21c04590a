// The CUDA plugin over a fake of the C libraries: memory of other devices, copies between two, pages that the host
// touches.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <string>

#include "tests/cuda/cuda_plugin_fake.h"

namespace spillway {
namespace {

using Catch::Contains;
using cuda_fake::TheState;

}  // namespace

TEST_CASE("memory of another device, and copies between two, straight or not") {
  const PluginOverFake fake;
  TheState().devices = 2;
  CudaCalls& calls = *fake.calls;
  CHECK(calls.DeviceNumber() == 0);
  CHECK(calls.DeviceCount() == 2);
  const Bytes free = calls.MemoryOf(1).free;
  auto* const here = static_cast<char*>(calls.Malloc(1024));
  auto* const there = static_cast<char*>(calls.MallocOn(1, 512));
  CHECK(TheState().current == 0);  // the thread's device is its own again
  CHECK(TheState().owners.at(there) == 1);
  CHECK(calls.MemoryOf(1).free == free - 512);
  CHECK(calls.MemoryOf(0).free == free - 1024);
  CudaStream* const stream = calls.MakeStream(false);
  std::fill(here, here + 1024, 7);
  calls.CopyPeer(there, 1, here, 0, 512, stream);
  CHECK(TheState().calls.back() == "staged copy");
  CHECK(there[511] == 7);
  CHECK(calls.CanAccessPeer(0, 1));
  CHECK(calls.EnablePeerAccess(0, 1));
  CHECK(!calls.EnablePeerAccess(0, 1));  // it was there
  CHECK(calls.EnablePeerAccess(1, 0));
  CHECK(TheState().current == 0);
  there[0] = 9;
  calls.CopyPeer(here, 0, there, 1, 512, stream);
  CHECK(TheState().calls.back() == "straight copy");
  CHECK(here[0] == 9);
  CHECK_THROWS_AS(calls.CopyPeer(here, 0, there, 1, 513, stream), DeviceError);  // more than there is
  CHECK_THROWS_AS(calls.CopyPeer(here, 1, there, 0, 512, stream), DeviceError);  // the devices mixed up
  calls.DisablePeerAccess(0, 1);
  calls.DisablePeerAccess(1, 0);
  CHECK(TheState().peer_access.empty());
  CHECK(TheState().current == 0);
  calls.FreeOn(1, there);
  calls.Free(here);
  calls.Destroy(stream);
}

TEST_CASE("devices that cannot reach each other, or are not there, and the thread's device stays its own") {
  const PluginOverFake fake;
  TheState().devices = 2;
  TheState().peers = false;
  CudaCalls& calls = *fake.calls;
  CHECK(!calls.CanAccessPeer(0, 1));
  const DeviceError refused = ErrorOf([&] { calls.EnablePeerAccess(1, 0); });
  CHECK(refused.fault() == Fault::kFailed);
  CHECK_THAT(refused.what(), Contains("cudaDeviceEnablePeerAccess(peer, 0)") && Contains("peer_calls.cc:"));
  CHECK(TheState().current == 0);
  CHECK_THROWS_AS(calls.MallocOn(2, 64), DeviceError);
  CHECK_THROWS_AS(calls.MallocOn(1, Bytes{2} << 30), DeviceError);
  CHECK(TheState().current == 0);
  calls.DisablePeerAccess(0, 1);  // nothing to take back, and nothing thrown
}

TEST_CASE("the host touches every page of unified memory") {
  const PluginOverFake fake;
  // Pages of which the system tells whether anybody has read them; small ones.
  constexpr std::size_t kPages = 4;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const memory = mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  static_cast<void>(madvise(memory, kPages * page, MADV_NOHUGEPAGE));
  const auto touched = [&] {
    std::array<unsigned char, kPages> pages{};
    REQUIRE(mincore(memory, kPages * page, pages.data()) == 0);
    std::string text;
    for (const unsigned char in : pages) text += (in & 1) != 0 ? 'x' : '.';
    return text;
  };
  if (touched() == "....") {  // some sandboxes say that all are there
    fake.calls->TouchOnHost(memory, static_cast<Bytes>(2 * page + 1));
    CHECK(touched() == "xxx.");
  }
  munmap(memory, kPages * page);
}

}  // namespace spillway
