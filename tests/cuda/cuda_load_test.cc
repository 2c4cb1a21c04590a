// What a user hears who asks for a CUDA device and lacks something.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "calibrate/devices/cuda/load.h"
#include "hw/text/document.h"

namespace spillway {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

std::string Complaint(int device, const fs::path& plugin) {
  try {
    MakeCudaCalls(device, plugin);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the plugin is looked for beside the program") {
  CHECK(CudaPluginFile().filename() == "libspillway_cuda.so");
  CHECK(CudaPluginFile().parent_path() == fs::read_symlink("/proc/self/exe").parent_path());
#ifdef SPILLWAY_EXPECT_CUDA_PLUGIN
  CHECK(fs::exists(CudaPluginFile()));
#endif
}

TEST_CASE("no plugin: the message says where it was looked for and what to do") {
  const std::string text = Complaint(0, "/nowhere/libspillway_cuda.so");
  CHECK_THAT(text, Contains("no libspillway_cuda.so in /nowhere"));
#ifdef SPILLWAY_EXPECT_CUDA_PLUGIN
  CHECK_THAT(text, Contains("belongs beside the program"));
#else
  CHECK_THAT(text, Contains("this build has no CUDA device") && Contains("SPILLWAY_CUDA=ON"));
#endif
}

TEST_CASE("a plugin that does not load: the loader's own words") {
  const fs::path file = fs::temp_directory_path() / "spillway_cuda_load_test.so";
  std::ofstream(file) << std::string(4096, 'x');
  CHECK_THAT(Complaint(0, file), Contains("the CUDA device does not load") && Contains("invalid ELF header"));
  fs::remove(file);
  // Needs a library that is nowhere, as the real one would need libcudnn.so.9.
  CHECK_THAT(Complaint(0, SPILLWAY_TEST_BROKEN_PLUGIN), Contains("the CUDA device does not load") &&
                                                            Contains("libspillway_nowhere.so") &&
                                                            Contains("cannot open shared object file"));
}

TEST_CASE("another library, or a plugin of another version") {
  CHECK_THAT(Complaint(0, SPILLWAY_TEST_FOREIGN_LIBRARY), Contains("is not Spillway's CUDA device"));
  CHECK_THAT(
      Complaint(0, SPILLWAY_TEST_OLD_PLUGIN),
      Contains(fmt::format("another version of Spillway: it has interface 0000003, this program {:07x}; take the "
                           "one that was built with it",
                           SPILLWAY_CUDA_INTERFACE)));
  CHECK(SPILLWAY_CUDA_INTERFACE > 1000);  // none that was ever counted
}

TEST_CASE("a variable of the environment that changes what runs is refused, whatever it says") {
  for (const char* const name : {"NVIDIA_TF32_OVERRIDE", "CUDA_LAUNCH_BLOCKING"}) {
    ::setenv(name, "0", 1);
    CHECK_THAT(Complaint(0, SPILLWAY_TEST_OLD_PLUGIN),
               Contains(std::string(name) + "=0 is set") && Contains("unset it"));
    ::unsetenv(name);
  }
  CHECK_THAT(Complaint(0, SPILLWAY_TEST_OLD_PLUGIN), Contains("another version"));
}

TEST_CASE("a plugin that loads: no such device, or a device") {
#ifdef SPILLWAY_EXPECT_CUDA_PLUGIN
  // On a machine without a driver the complaint is about that; with one, about a device with this number.
  CHECK_THAT(Complaint(4711, CudaPluginFile()), Contains("no CUDA device"));
#else
  CHECK_THROWS_AS(MakeCudaCalls(4711), UserError);
#endif
}

}  // namespace spillway
