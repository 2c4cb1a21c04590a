// What is written where something is already, who may write, and what is whose.
#include "scenarios/output/output_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <thread>

#include "tests/temporary_folder.h"
#include "tests/text.h"
#include "tests/user_errors.h"

namespace spillway {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a FIFO is written into and stays one") {
  const TemporaryFolder folder("out-fifo");
  const std::string path = folder.Path("fifo");
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  std::string read;
  {
    const std::jthread reader([&] { read = folder.Read("fifo"); });
    WriteFile(path, "a plan\n");
  }
  CHECK(read == "a plan\n");
  CHECK(fs::is_fifo(fs::symlink_status(path)));
}

TEST_CASE("a symbolic link stays, and what it names is written") {
  const TemporaryFolder folder("out-link");
  folder.Write("target", "old");
  fs::create_symlink("target", folder.Path("link"));
  fs::create_symlink("not/there", folder.Path("dangling"));
  fs::create_directory(folder.Path("not"));
  WriteFile(folder.Path("link"), "new");
  WriteFile(folder.Path("dangling"), "made");
  CHECK(folder.Read("target") == "new");
  CHECK(folder.Read("not/there") == "made");
  CHECK(fs::is_symlink(folder.Path("link")));
  CHECK(fs::is_symlink(folder.Path("dangling")));
  fs::create_symlink("b", folder.Path("a"));
  fs::create_symlink("a", folder.Path("b"));
  CHECK(Contains(ErrorOf([&] { WriteFile(folder.Path("a"), "x"); }), "Too many levels of symbolic links"));
}

TEST_CASE("a device is written into, and says itself what it lacks") {
  const TemporaryFolder folder("out-device");
  fs::create_symlink("/dev/full", folder.Path("full"));
  fs::create_symlink("/dev/null", folder.Path("null"));
  const std::string full = folder.Path("full");
  CHECK(ErrorOf([&] { WriteFile(full, "x"); }) == "cannot write '" + full + "': No space left on device");
  CHECK_NOTHROW(WriteFile(folder.Path("null"), "x"));
  CHECK(fs::is_symlink(full));
  CHECK(fs::is_character_file("/dev/full"));
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("what is open already is gone on with") {
  const TemporaryFolder folder("out-descriptor");
  const std::string path = folder.Write("f", "before ");
  const int file = open(path.c_str(), O_WRONLY);
  WriteFile("/proc/self/fd/" + std::to_string(file), "after");
  close(file);
  CHECK(folder.Read("f") == "before after");
}

TEST_CASE(
    "a file in pieces is there when it is whole, as the text of them all, and nothing is left of one that is not") {
  const TemporaryFolder folder("pieces");
  folder.Write("whole", "before");
  {
    FileInPieces abandoned(folder.Path("whole")), whole(folder.Path("in/whole"));
    abandoned.Add("half");
    for (const char* piece : {"one ", "", "two"}) whole.Add(piece);
    CHECK(whole.Digest() == ContentDigest("one two"));
    CHECK_FALSE(std::filesystem::exists(folder.Path("in/whole")));
    whole.Finish();
  }
  CHECK(folder.Read("whole") == "before");
  CHECK(folder.Read("in/whole") == "one two");
  const auto files = std::filesystem::recursive_directory_iterator(folder.Path(""));
  CHECK(std::distance(begin(files), end(files)) == 3);  // two files, a folder
  std::filesystem::create_directory(folder.Path("taken"));
  CHECK_THROWS_WITH(FileInPieces(folder.Path("taken")), Catch::Contains("it is a folder"));
}

TEST_CASE("temporary names are nobody else's") {
  const TemporaryFolder folder("out-names");
  const std::string mine = ".spillway-" + std::to_string(getpid()) + "-0.part";
  folder.Write(mine, "of another thread");
  folder.Write("results.csv.part", "the user's");
  WriteFile(folder.Path("results.csv"), "rows");
  CHECK(folder.Read(mine) == "of another thread");
  CHECK(folder.Read("results.csv.part") == "the user's");
  CHECK(folder.Read("results.csv") == "rows");
  CHECK(std::distance(fs::directory_iterator(folder.Path("")), {}) == 3);
}

TEST_CASE("what a killed process left half written goes, what a living one is writing stays") {
  const TemporaryFolder folder("out-left");
  folder.Write(".spillway-999999999-0.part", "");  // more than a process id can be
  folder.Write(".spillway-" + std::to_string(getppid()) + "-0.part", "");
  folder.Write(".spillway-.part", "");
  folder.Write("other.part", "");
  RemoveTemporaries(folder.Path(""));
  CHECK_FALSE(fs::exists(folder.Path(".spillway-999999999-0.part")));
  CHECK(std::distance(fs::directory_iterator(folder.Path("")), {}) == 3);
}

TEST_CASE("a folder has one run at a time, and who it is can be read") {
  const TemporaryFolder folder("lock");
  {
    const FolderLock lock(folder.Path(""), "spillway run a.yaml");
    const std::string error = ErrorOf([&] { FolderLock(folder.Path(""), "spillway run b.yaml"); });
    CHECK(Contains(
        error, "another run or validation is writing into this folder (process " + std::to_string(getpid()) + " on "));
    CHECK(Contains(error, ": spillway run a.yaml); wait for it, or name another one"));
  }
  CHECK(fs::is_empty(folder.Path("")));
}

TEST_CASE("a lock that somebody replaced is not taken away from them") {
  const TemporaryFolder folder("lock-replaced");
  {
    const FolderLock lock(folder.Path(""), "spillway run a.yaml");
    fs::remove(folder.Path("run.lock"));
    folder.Write("run.lock", "another's\n");
  }
  CHECK(folder.Read("run.lock") == "another's\n");
}

TEST_CASE("a lock that a killed run left keeps nobody out") {
  const TemporaryFolder folder("lock-left");
  folder.Write("run.lock", "process 1 on elsewhere: spillway run something with a long command line\n");
  const FolderLock lock(folder.Path(""), "spillway run b.yaml");
  CHECK(folder.Read("run.lock").ends_with(": spillway run b.yaml\n"));
  CHECK(folder.Read("run.lock").starts_with("process " + std::to_string(getpid()) + " on "));
}

TEST_CASE("a run's own files are those that hold what it wrote") {
  const TemporaryFolder folder("own");
  fs::create_directories(folder.Path("plans/deep"));
  fs::create_directories(folder.Path("timelines"));
  folder.Write("plans/a.yaml", "a");
  folder.Write("plans/b.yaml", "b, edited");
  folder.Write("plans/deep/c.yaml", "c");
  folder.Write("timelines/a.json", "t");
  folder.Write("run.json", "42 s");
  folder.Write("notes.txt", "the user's");
  const std::vector<OwnFile> own{{"plans/a.yaml", ContentDigest("a")},
                                 {"plans/b.yaml", ContentDigest("b")},
                                 {"plans/deep/c.yaml", ContentDigest("c")},
                                 {"timelines/a.json", ContentDigest("t")},
                                 {"run.json", kAnyContent},
                                 {"gone.csv", ContentDigest("")}};
  folder.Write("run.manifest", ManifestText(own));
  const std::vector<OwnFile> read = ReadManifest(folder.Path("run.manifest"));
  CHECK(read == own);
  RemoveOwn(folder.Path(""), read);
  CHECK_FALSE(fs::exists(folder.Path("plans/a.yaml")));
  CHECK_FALSE(fs::exists(folder.Path("plans/deep")));
  CHECK_FALSE(fs::exists(folder.Path("timelines")));
  CHECK_FALSE(fs::exists(folder.Path("run.json")));
  CHECK(folder.Read("plans/b.yaml") == "b, edited");
  CHECK(folder.Read("notes.txt") == "the user's");
}

TEST_CASE("a manifest reaches no file outside its folder") {
  const TemporaryFolder folder("outside");
  const std::string outside = folder.Write("outside.txt", "x");
  fs::create_directory(folder.Path("in"));
  const std::vector<OwnFile> own{{"../outside.txt", ContentDigest("x")}, {outside, ContentDigest("x")}};
  folder.Write("in/run.manifest", ManifestText(own));
  CHECK(ReadManifest(folder.Path("in/run.manifest")).empty());
  RemoveOwn(folder.Path("in"), own);
  CHECK(fs::exists(outside));
  CHECK(ContentDigest("") == "cbf29ce484222325");  // the published offset basis
  CHECK(ContentDigest("a") == "af63dc4c8601ec8c");
}

}  // namespace
}  // namespace spillway
