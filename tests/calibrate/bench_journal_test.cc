// The journal of a calibration: what was written is found again, whatever ended the writing.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "calibrate/measure/journal.h"
#include "calibrate/measure/refused.h"
#include "hw/text/document.h"
#include "model/samples/file.h"
#include "tests/bench_samples.h"
#include "tests/temporary_folder.h"
#include "tests/text.h"

namespace spillway {
namespace {

std::string Refusal(BenchJournal& journal, const Sample& identity) {
  try {
    journal.Resume(identity);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

// Three rows of a journal.
std::string WriteThree(const TemporaryFolder& folder) {
  BenchJournal journal(folder.Path("a.samples.csv"));
  journal.Create();
  journal.Append(ReluSample(100, 1.25));
  journal.Append(ReluSample(100, 1.5, 2));
  journal.Append(CopySample(4096, "h2d", 3.0));
  return folder.Read("a.samples.csv");
}

}  // namespace

TEST_CASE("rows are found by what they measure and by their round") {
  const TemporaryFolder folder("journal");
  WriteThree(folder);
  BenchJournal journal(folder.Path("a.samples.csv"));
  journal.Resume(MadeUpIdentity());
  CHECK(journal.resumed() == 3);
  CHECK(journal.Has(ReluSample(100, 9), 1));
  CHECK(journal.Find(ReluSample(100, 9), 2)->microseconds == 1.5);
  CHECK_FALSE(journal.Has(ReluSample(100, 9), 3));
  CHECK_FALSE(journal.Has(ReluSample(101, 9), 1));
  CHECK(journal.Has(CopySample(4096, "h2d", 9), 1));
  CHECK_FALSE(journal.Has(CopySample(4096, "d2h", 9), 1));
  CHECK_FALSE(journal.Has(CopySample(4096, "h2d", 9, "d2h"), 1));
  // Which network a launch came from does not matter.
  Sample elsewhere = ReluSample(100, 9);
  elsewhere.network = "another";
  CHECK(journal.Has(elsewhere, 1));
}

TEST_CASE("a torn last line is dropped, wherever it was torn") {
  const TemporaryFolder folder("journal");
  const std::string whole = WriteThree(folder);
  const std::size_t header = SampleHeader().size();
  for (std::size_t size = 0; size <= whole.size(); size += 7) {
    const std::string path = folder.Write("torn.samples.csv", whole.substr(0, size));
    const std::string kept = size < header ? "" : whole.substr(0, whole.rfind('\n', size - 1) + 1);
    BenchJournal journal(path);
    journal.Resume(MadeUpIdentity());
    const auto rows = size < header ? 0 : std::count(kept.begin(), kept.end(), '\n') - 1;
    INFO(size);
    CHECK(journal.resumed() == rows);
    // What is measured next is a line of its own.
    journal.Append(ReluSample(7, 1));
    BenchJournal again(path);
    again.Resume(MadeUpIdentity());
    CHECK(again.resumed() == rows + 1);
    CHECK(again.Has(ReluSample(7, 1), 1));
  }
}

TEST_CASE("a journal of something else is refused with what differs") {
  const TemporaryFolder folder("journal");
  WriteThree(folder);
  Sample other = MadeUpIdentity();
  other.driver = "test 1, link 4 GB/s";
  BenchJournal journal(folder.Path("a.samples.csv"));
  const std::string message = Refusal(journal, other);
  CHECK(Contains(message, "a.samples.csv: error: the journal is of set-up 'test 1, link 2 GB/s'"));
  CHECK(Contains(message, "this run of 'test 1, link 4 GB/s'"));
  other = MadeUpIdentity();
  other.device = "another";
  CHECK(Contains(Refusal(journal, other), "device 'made-up'"));
  other = MadeUpIdentity();
  other.kind = "cold";
  CHECK(Contains(Refusal(journal, other), "protocol '" + MadeUpIdentity().kind + "'"));
  folder.Write("b.samples.csv", "device,op,median_us\nmade-up,relu,1\n");
  BenchJournal foreign(folder.Path("b.samples.csv"));
  CHECK(Contains(Refusal(foreign, MadeUpIdentity()), "no journal that this version of spillway writes"));
  CHECK(folder.Read("b.samples.csv") == "device,op,median_us\nmade-up,relu,1\n");
}

namespace {

Sample OnGpu(const std::string& host, const std::string& driver, Sample sample = ReluSample(100, 1.25)) {
  sample.host = host;
  sample.driver = "spillway 1, driver " + driver + ", cuBLAS 13.1";
  sample.cuda = "13.0";
  return sample;
}

}  // namespace

TEST_CASE("rows of another host or patch of the driver are known, with a warning for each machine") {
  const TemporaryFolder folder("journal");
  const std::string path = folder.Path("a.samples.csv");
  {
    BenchJournal journal(path);
    journal.Create();
    journal.Append(OnGpu("A, 32 cores", "580.159.03"));
    journal.Append(OnGpu("A, 32 cores", "580.159.03", ReluSample(200, 2)));
    journal.Append(OnGpu("B, 8 cores", "580.159.04", ReluSample(300, 3)));
  }
  BenchJournal journal(path);
  const std::string one = "'spillway 1, driver 580.159.03, cuBLAS 13.1'",
                    other = "'spillway 1, driver 580.159.04, cuBLAS 13.1'";
  CHECK(journal.Resume(OnGpu("B, 16 cores", "580.159.04")) ==
        std::vector<std::string>{
            path + ": 2 rows of another machine (host 'A, 32 cores', this one 'B, 16 cores'; set-up " + one +
                ", this one " + other + "): kept and not measured again",
            path + ": 1 row of another machine (host 'B, 8 cores', this one 'B, 16 cores'): kept "
                   "and not measured again"});
  CHECK(journal.resumed() == 3);
  CHECK(journal.Has(OnGpu("B, 16 cores", "580.159.04"), 1));
  // What is new says where it was measured, and nothing was written over.
  journal.Append(OnGpu("B, 16 cores", "580.159.04", ReluSample(400, 4)));
  BenchJournal again(path);
  CHECK(again.Resume(OnGpu("B, 16 cores", "580.159.04")).size() == 2);
  CHECK(again.samples()[0].host == "A, 32 cores");
  CHECK(again.samples()[3].host == "B, 16 cores");
  CHECK(BenchJournal(path).Resume(OnGpu("A, 32 cores", "580.159.03")).size() == 2);
}

TEST_CASE("a machine that the rows are all of is not warned of") {
  const TemporaryFolder folder("journal");
  WriteThree(folder);
  CHECK(BenchJournal(folder.Path("a.samples.csv")).Resume(MadeUpIdentity()).empty());
  CHECK(BenchJournal(folder.Path("b.samples.csv")).Resume(MadeUpIdentity()).empty());
}

TEST_CASE("another branch of the driver, library or protocol is another journal") {
  const TemporaryFolder folder("journal");
  {
    BenchJournal journal(folder.Path("a.samples.csv"));
    journal.Create();
    journal.Append(OnGpu("A", "580.159.03"));
  }
  const auto refusal = [&](const Sample& identity) {
    BenchJournal journal(folder.Path("a.samples.csv"));
    return Refusal(journal, identity);
  };
  CHECK(refusal(OnGpu("A", "580")).empty());
  CHECK(Contains(refusal(OnGpu("A", "590.159.03")),
                 "a.samples.csv: error: the journal is of set-up 'spillway 1, driver "
                 "580.159.03, cuBLAS 13.1', this run of 'spillway 1, driver 590"));
  CHECK(Contains(refusal(OnGpu("A", "58.159.03")), "set-up"));
  Sample other = OnGpu("A", "580.159.03");
  other.driver = "spillway 1, driver 580.159.03, cuBLAS 13.2";
  CHECK(Contains(refusal(other), "set-up"));
  other = OnGpu("B", "580.1");
  other.cuda = "13.1";
  CHECK(Contains(refusal(other), "CUDA '13.0', this run of '13.1'"));
  other = OnGpu("B", "580.1");
  other.cudnn = "9.9";
  CHECK(Contains(refusal(other), "cuDNN"));
}

TEST_CASE("the branch of a driver is what stands before its first dot") {
  CHECK(DriverBranch("spillway 1, driver 580.159.03, cuBLAS 13.1") == "spillway 1, driver 580, cuBLAS 13.1");
  CHECK(DriverBranch("driver 580.159.03") == "driver 580");
  CHECK(DriverBranch("driver 580") == "driver 580");
  CHECK(DriverBranch("driver 580, cuBLAS 13.1") == "driver 580, cuBLAS 13.1");
  CHECK(DriverBranch("test 1.2, link 2.5 GB/s") == "test 1.2, link 2.5 GB/s");
  CHECK(DriverBranch("a taxi driver 1.2") == "a taxi driver 1.2");
  CHECK(DriverBranch("") == "");
}

TEST_CASE("what one machine was refused is not tried on the next") {
  BenchRefused refused("");
  refused.Add(OnGpu("A, 32 cores", "580.159.03"), "no such kernel");
  CHECK(refused.Has(OnGpu("B, 16 cores", "580.159.04")));
  CHECK_FALSE(refused.Has(OnGpu("A, 32 cores", "590.1")));
}

TEST_CASE("a new calibration does not touch an old journal") {
  const TemporaryFolder folder("journal");
  const std::string text = WriteThree(folder);
  BenchJournal journal(folder.Path("a.samples.csv"));
  CHECK_THROWS_WITH(journal.Create(), Catch::Contains("--resume continues it"));
  CHECK(folder.Read("a.samples.csv") == text);
}

TEST_CASE("a path that leads nowhere is the user's error, with the path and the reason") {
  const TemporaryFolder folder("journal");
  const std::string name(300, 'n');  // longer than file systems take
  const std::string path = folder.Path(name + ".samples.csv");
  BenchJournal created(path);
  CHECK_THROWS_AS(created.Create(), UserError);
  CHECK_THROWS_WITH(created.Create(),
                    Catch::Contains(name) && Catch::Contains("cannot be written: File name too long"));
  BenchJournal resumed(path);
  CHECK(Contains(Refusal(resumed, MadeUpIdentity()), "cannot be written: File name too long"));
}

TEST_CASE("a torn line that the system does not let go is the user's error") {
  const TemporaryFolder folder("journal");
  const std::string torn = WriteThree(folder) + "made-up,2 co";
  // A file in memory that may not become shorter: nobody may cut it, root neither.
  const int file = memfd_create("journal", MFD_ALLOW_SEALING);
  REQUIRE(file >= 0);
  REQUIRE(write(file, torn.data(), torn.size()) == static_cast<ssize_t>(torn.size()));
  REQUIRE(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  BenchJournal journal(path);
  CHECK(Refusal(journal, MadeUpIdentity()) ==
        path + ": error: the journal's torn last line cannot be cut off: Operation not permitted");
  close(file);
}

TEST_CASE("to resume what was never begun is to begin") {
  const TemporaryFolder folder("journal");
  BenchJournal journal(folder.Path("new/a.samples.csv"));
  journal.Resume(MadeUpIdentity());
  journal.Append(ReluSample(1, 1));
  CHECK(folder.Read("new/a.samples.csv").starts_with(SampleHeader()));
}

TEST_CASE("a journal that is begun anew forgets what was refused before, one that goes on does not") {
  const TemporaryFolder folder("anew");
  const std::string path = folder.Path("a.samples.csv");
  for (const bool resumed : {false, true}) {
    INFO(resumed);
    folder.Write("a.samples.csv.refused", "x\ty\n");
    {
      BenchJournal journal(path);
      if (resumed) {
        journal.Resume(MadeUpIdentity());
      } else {
        journal.Create();
      }
    }
    CHECK_FALSE(std::filesystem::exists(RefusedPath(path)));
    folder.Write("a.samples.csv.refused", "x\ty\n");
    BenchJournal(path).Resume(MadeUpIdentity());
    CHECK(std::filesystem::exists(RefusedPath(path)));
    std::filesystem::remove(path);
  }
}

}  // namespace spillway
