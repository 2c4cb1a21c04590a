// How much memory a process may take, from made-up /proc and /sys.
#include "calibrate/host/host_memory.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/temporary_folder.h"

namespace spillway {
namespace {

// A machine with 1000 kB available, and what else a test writes.
class System {
 public:
  System() : folder_("memory") { Write("proc/meminfo", "MemTotal: 4000 kB\nMemFree: 100 kB\nMemAvailable: 1000 kB\n"); }
  void Write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(folder_.Path(name)).parent_path());
    folder_.Write(name, text);
  }
  void Groups(const std::string& membership, const std::string& mounts) const {
    Write("proc/self/cgroup", membership);
    Write("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n" + mounts);
  }
  void Group1(const std::string& group, const std::string& limit, Bytes used, Bytes cached) const {
    const std::string folder = "sys/fs/cgroup/memory" + group;
    Write(folder + "/memory.limit_in_bytes", limit + "\n");
    Write(folder + "/memory.usage_in_bytes", std::to_string(used) + "\n");
    Write(folder + "/memory.stat",
          "inactive_file 1\ntotal_cache 99999\ntotal_inactive_file " + std::to_string(cached) + "\n");
  }
  void Group2(const std::string& group, const std::string& limit, Bytes used, Bytes cached) const {
    const std::string folder = "sys/fs/cgroup" + group;
    Write(folder + "/memory.max", limit + "\n");
    Write(folder + "/memory.current", std::to_string(used) + "\n");
    Write(folder + "/memory.stat", "anon 5\ninactive_file " + std::to_string(cached) + "\n");
  }
  Bytes Available() const { return AvailableMemory(folder_.Path("")); }

 private:
  TemporaryFolder folder_;
};

constexpr const char* kMount2 = "41 31 0:38 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n";
constexpr const char* kMount1 =
    "33 31 0:31 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n";

TEST_CASE("without groups it is what the machine has available") {
  const System system;
  CHECK(system.Available() == 1000 * kKiB);
  system.Groups("0::/\n", kMount2);
  CHECK(system.Available() == 1000 * kKiB);
}

TEST_CASE("version 2: the limit of the group, but for what it uses and could give back") {
  const System system;
  system.Groups("0::/\n", kMount2);
  system.Group2("", "500000", 200000, 30000);
  CHECK(system.Available() == 330000);
  system.Group2("", "max", 200000, 30000);
  CHECK(system.Available() == 1000 * kKiB);
  system.Group2("", "500000", 600000, 0);  // more than the limit, for a moment
  CHECK(system.Available() == 0);
  system.Group2("", "5000000", 0, 0);  // more than there is
  CHECK(system.Available() == 1000 * kKiB);
}

TEST_CASE("version 2: groups within groups, of which the narrowest counts") {
  const System system;
  system.Groups("0::/user.slice/session/job\n", kMount2);
  system.Group2("/user.slice/session/job", "max", 100, 0);
  system.Group2("/user.slice/session", "300000", 100000, 50000);
  system.Group2("/user.slice", "900000", 500000, 0);
  CHECK(system.Available() == 250000);
  system.Group2("/user.slice", "550000", 500000, 0);  // its other sessions have taken the rest
  CHECK(system.Available() == 50000);
  system.Group2("/user.slice/session/job", "40000", 10000, 0);
  CHECK(system.Available() == 30000);
}

TEST_CASE("version 1: the limit of the group and of those around it") {
  const System system;
  system.Groups("5:cpu:/other\n4:memory:/jobs/17\n0::/\n", kMount1);
  system.Group1("/jobs/17", "400000", 150000, 20000);
  system.Group1("", "9223372036854771712", 700000, 0);  // what stands for no limit
  CHECK(system.Available() == 270000);
  system.Group1("/jobs", "200000", 180000, 0);
  CHECK(system.Available() == 20000);
}

TEST_CASE("version 1: several controllers in one tree") {
  const System system;
  system.Groups("4:cpu,memory:/a\n", "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,cpu,memory\n");
  system.Group1("/a", "400000", 0, 0);
  CHECK(system.Available() == 400000);
}

TEST_CASE("a container sees its own group at the top, whatever the machine calls it") {
  const System system;
  system.Groups("4:memory:/docker/1f\n", "35 31 0:32 /docker/1f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  system.Group1("", "350000", 50000, 0);
  CHECK(system.Available() == 300000);
  system.Groups("4:memory:/docker/1f/within\n",
                "35 31 0:32 /docker/1f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  system.Group1("/within", "60000", 50000, 0);
  CHECK(system.Available() == 10000);
  // Another group of which the name only begins alike.
  system.Groups("4:memory:/docker/1fa\n", "35 31 0:32 /docker/1f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  CHECK(system.Available() == 300000);
}

TEST_CASE("this machine has memory") { CHECK(AvailableMemory() > kMiB); }

}  // namespace
}  // namespace spillway
