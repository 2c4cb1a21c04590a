// The measuring loop on a clock that stands still unless the subject moves it.
#include <catch2/catch.hpp>

#include "calibrate/measure/loop.h"
#include "model/stats/quantile.h"

namespace spillway {
namespace {

class SetClock : public Clock {
 public:
  Nanos Now() const override { return now; }
  Nanos now = 0;
};

// Takes the times of a list over and over; of some the thread is away for a while.
class Scripted : public BenchSubject {
 public:
  explicit Scripted(std::vector<Nanos> times, std::vector<Nanos> absences = {0})
      : times_(std::move(times)), absences_(std::move(absences)) {}
  void Prepare(int runs) override {
    prepared.push_back(runs);
    wall.now += 5 * kSecond;  // not timed
  }
  void Run(int runs) override {
    ++timings;
    for (int k = 0; k < runs; ++k, ++at_) {
      wall.now += times_[at_ % times_.size()] + absences_[at_ % absences_.size()];
      own.now += times_[at_ % times_.size()];
    }
  }

  SetClock wall, own;
  std::vector<int> prepared;
  int timings = 0;

 private:
  std::vector<Nanos> times_, absences_;
  std::size_t at_ = 0;
};

LoopOptions Options() {
  LoopOptions options;
  options.time_limit = 1000 * kSecond;
  return options;
}

LoopResult Measure(Scripted& subject, const LoopOptions& options, bool own = false) {
  return MeasureLoop(subject, {&subject.wall, own ? &subject.own : nullptr}, options);
}

}  // namespace

TEST_CASE("half-width of the median's interval by hand") {
  // Nine values: ranks (9 - 1.96 x 3) / 2 = 1.56, so the second and the last but one: 5 +- 3.
  CHECK(MedianHalfWidth({1, 2, 3, 4, 5, 6, 7, 8, 9}) == Approx(0.6));
  // Of five all: 3 +- 2.
  CHECK(MedianHalfWidth({1, 2, 3, 4, 5}) == Approx(2.0 / 3));
  CHECK(MedianHalfWidth({7}) == 0);
  CHECK(SortedQuantile({10, 20, 30, 40, 50}, 0.5) == 30);
  CHECK(SortedQuantile({10, 20, 30, 40, 50}, 0.1) == Approx(14));
}

TEST_CASE("equal timings end with the least number of them") {
  Scripted subject({kMillisecond});
  const LoopResult result = Measure(subject, Options());
  CHECK(result.median == 1e6);
  CHECK(result.p10 == 1e6);
  CHECK(result.p90 == 1e6);
  CHECK(result.timings == 6);
  CHECK(result.runs == 1);
  CHECK_FALSE(result.noisy);
  CHECK(subject.timings == 7);  // and the warm-up
}

TEST_CASE("short runs are timed several at once") {
  Scripted subject({kMicrosecond});
  LoopOptions options = Options();
  options.least_timing = 20 * kMicrosecond;
  const LoopResult result = Measure(subject, options);
  CHECK(result.runs == 20);
  CHECK(result.median == 1000);
  CHECK(subject.prepared == std::vector<int>{1, 20, 20, 20, 20, 20, 20});
  options.most_runs = 8;
  CHECK(Measure(subject, options).runs == 8);
}

TEST_CASE("what scatters is measured until its median is known") {
  // 90 to 110 evenly: 2 % are reached in the end, by more than the least number of timings.
  std::vector<Nanos> times;
  for (Nanos k = 0; k < 21; ++k) times.push_back((90 + k * 8 % 21) * kMicrosecond);
  Scripted subject(times);
  LoopOptions options = Options();
  options.target = 0.03;
  const LoopResult result = Measure(subject, options);
  CHECK(result.timings > 6);
  CHECK(result.timings < 200);
  CHECK(result.half_width <= 0.03);
  CHECK(result.median == Approx(100e3).epsilon(0.03));
  CHECK_FALSE(result.noisy);
}

TEST_CASE("what never settles ends with the most timings and says so") {
  Scripted subject({100 * kMicrosecond, 200 * kMicrosecond});
  LoopOptions options = Options();
  options.most = 40;
  const LoopResult result = Measure(subject, options);
  CHECK(result.timings == 40);
  CHECK(result.noisy);
  CHECK(result.p10 == 100e3);
  CHECK(result.p90 == 200e3);
}

TEST_CASE("the time limit ends the loop, later while there are too few timings") {
  // Preparing takes five seconds each time, which count as well.
  Scripted subject({100 * kMillisecond, 200 * kMillisecond});
  LoopOptions options = Options();
  options.time_limit = 60 * kSecond;
  CHECK(Measure(subject, options).timings == 11);  // and the warm-up: 12 x 5.15 s
  options.time_limit = 4 * kSecond;                // 16 s while there are fewer than six
  const LoopResult few = Measure(subject, options);
  CHECK(few.timings == 3);
  CHECK(few.noisy);
  options.time_limit = 1;
  CHECK(Measure(subject, options).timings == 1);
}

TEST_CASE("a hopeless one is timed once") {
  Scripted subject({kMillisecond});
  LoopOptions options = Options();
  options.hopeless = 0.9e6;
  const LoopResult result = Measure(subject, options);
  CHECK(result.cut_short);
  CHECK(result.median == 1e6);
  CHECK(subject.timings == 1);
  options.hopeless = 1.1e6;
  CHECK_FALSE(Measure(subject, options).cut_short);
}

TEST_CASE("timings that something else interrupted are left out") {
  // Every third timing the thread is away for 4 ms.
  Scripted subject({kMillisecond}, {0, 4 * kMillisecond, 0});
  const LoopResult result = Measure(subject, Options(), true);
  CHECK(result.median == 1e6);
  CHECK(result.timings == 6);
  CHECK(result.disturbed > 0);
  CHECK_FALSE(result.own_time);
  CHECK_FALSE(result.noisy);
  // Without the thread's clock they are in.
  Scripted blind({kMillisecond}, {0, 4 * kMillisecond, 0});
  CHECK(Measure(blind, Options()).p90 == 5e6);
}

TEST_CASE("where nothing goes uninterrupted the thread's own time stands for it") {
  Scripted subject({30 * kMillisecond}, {7 * kMillisecond, 11 * kMillisecond});
  const LoopResult result = Measure(subject, Options(), true);
  CHECK(result.own_time);
  CHECK(result.median == 30e6);
  CHECK(result.timings == 12);  // twice the usual number
  CHECK(result.disturbed == 12);
  CHECK_FALSE(result.noisy);
}

TEST_CASE("how long runs took as time passed, whatever interrupted them, is told beside the median") {
  // Every fourth timing is interrupted for eight times as long as it takes: (4 + 8) / 4 on average.
  Scripted subject({kMillisecond}, {8 * kMillisecond, 0, 0, 0});
  LoopOptions options = Options();
  options.target = 0;
  options.least = options.most = 8;
  options.warm_up = 4;
  const LoopResult result = Measure(subject, options, true);
  CHECK(result.median == 1e6);
  CHECK(result.passed == Approx(3e6));
  CHECK(result.computed == Approx(1e6));
}

TEST_CASE("what runs had of their core is told as a mean, without a clock of the thread's own as time passed") {
  Scripted subject({kMillisecond, kMillisecond, kMillisecond, 5 * kMillisecond}, {8 * kMillisecond, 0, 0, 0});
  LoopOptions options = Options();
  options.target = 0;
  options.least = options.most = 8;
  options.warm_up = 4;
  CHECK(Measure(subject, options, true).computed == Approx(2e6));
  const LoopResult nobody_tells = Measure(subject, options);
  CHECK(nobody_tells.computed == Approx(4e6));
  CHECK(nobody_tells.passed == Approx(4e6));
}

TEST_CASE("an absence below the sliver disturbs nothing") {
  Scripted subject({kMillisecond}, {15 * kMicrosecond});
  const LoopResult result = Measure(subject, Options(), true);
  CHECK(result.disturbed == 0);
  CHECK(result.median == 1.015e6);
}

}  // namespace spillway
