// Journals as earlier versions wrote them.
#include <catch2/catch.hpp>
#include <string_view>

#include "calibrate/measure/row.h"
#include "hw/text/document.h"
#include "model/samples/file.h"
#include "tests/bench_samples.h"
#include "tests/temporary_folder.h"

namespace spillway {
namespace {

// As versions wrote it that had no columns for round, flags and load.
std::string Earlier(const std::vector<std::pair<Sample, std::string>>& rows) {
  constexpr std::string_view kLater = ",round,flags,load\n";
  std::string text = SampleHeader();
  REQUIRE(text.ends_with(kLater));
  text.resize(text.size() - kLater.size());
  text += "\n";
  for (auto [sample, note] : rows) {
    sample.note = note;
    sample.round = 0;
    sample.load = 0;
    std::string line = SampleLine(sample);
    REQUIRE(line.ends_with(",,,\n"));
    text += line.substr(0, line.size() - 4) + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("round, flags and load are columns; earlier notes that held them are read as these, others stay notes") {
  const auto read = [](const std::string& note) {
    const SampleSet set = ParseRows(Earlier({{ReluSample(100, 1), note}}), "a.csv");
    return set.samples.at(0);
  };
  Sample old = read("round 12; noisy; own time; load 3.50");
  CHECK(old.round == 12);
  CHECK(old.flags == std::vector<std::string>{"noisy", "own time"});
  CHECK(old.load == 3.5);
  CHECK(old.note.empty());
  CHECK(HasFlag(old, "noisy"));
  CHECK_FALSE(HasFlag(old, "nois"));
  CHECK(read("round 3").round == 3);
  for (const char* note : {"round trip; load 2", "rounds 3", "a round 3; load 1", "round 0", "round 2; load heavy"}) {
    INFO(note);
    CHECK(read(note).note == note);
    CHECK(read(note).round == 0);
    CHECK(read(note).flags.empty());
    CHECK(RoundOf(read(note)) == 1);
  }
  // And as they are written now.
  const std::string text = SampleHeader() + SampleLine(old);
  CHECK(text.ends_with(",12,noisy; own time,3.5\n"));
  CHECK(SampleLine(ParseRows(text, "b.csv").samples.at(0)) == SampleLine(old));
  CHECK_THROWS_WITH(ParseRows(SampleHeader() + SampleLine(old).replace(SampleLine(old).size() - 4, 3, "few"), "c.csv"),
                    Catch::Contains("load: expected a number from 0 on"));
}

TEST_CASE("a journal of an earlier version is gone on with, in today's columns") {
  const TemporaryFolder folder("journal");
  const std::string earlier =
      Earlier({{ReluSample(100, 1.25), "round 1; noisy; load 0.50"}, {ReluSample(100, 1.5), "round 2; load 0.50"}});
  const std::string path = folder.Write("a.samples.csv", earlier + "made-up,torn");
  {
    BenchJournal journal(path);
    journal.Resume(MadeUpIdentity());
    CHECK(journal.resumed() == 2);
    CHECK(journal.Has(ReluSample(100, 9), 2));
    journal.Append(ReluSample(100, 1.75, 3));
  }
  const std::string text = folder.Read("a.samples.csv");
  CHECK(text.starts_with(SampleHeader()));
  const SampleSet set = ParseRows(text, "a.csv");
  REQUIRE(set.samples.size() == 3);
  CHECK(HasFlag(set.samples[0], kNoisyNote));
  CHECK(set.samples[2].round == 3);
  BenchJournal again(path);
  again.Resume(MadeUpIdentity());
  CHECK(again.resumed() == 3);
  CHECK(folder.Read("a.samples.csv") == text);
  // What stands beside a journal names its launches as it did.
  CHECK(BenchKeyLine(ReluSample(100, 1)) + "\n" == Earlier({{[] {
                                                               Sample bare = ReluSample(100, 0);
                                                               bare.p10 = bare.p90 = 0;
                                                               bare.repetitions = 0;
                                                               bare.workspace = kUsualWorkspace;
                                                               bare.host = "";
                                                               return bare;
                                                             }(),
                                                             ""}})
                                                       .substr(Earlier({}).size()));
}

}  // namespace spillway
