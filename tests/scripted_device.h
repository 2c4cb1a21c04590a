// A fake device whose kernels and copies take what a function says of the Program at hand: reality for tests of the
// validation, in virtual time.
#ifndef SPILLWAY_TESTS_SCRIPTED_DEVICE_H_
#define SPILLWAY_TESTS_SCRIPTED_DEVICE_H_

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "sim/execute/fake/device.h"

namespace spillway {

class ScriptedDevice : public ExecutionDevice, public Clock {
 public:
  // By instruction; asked once a session.
  using Times = std::function<std::vector<Nanos>(const Program& program)>;
  explicit ScriptedDevice(Times times, FakeOptions options = {})
      : times_(std::move(times)), options_(std::move(options)) {}

  void Begin(const Session& session) override {
    sessions_.push_back({session.program, session.instrumented, session.debug, 0});
    FakeOptions options = options_;
    options.durations = times_(*session.program);
    if (fake_) elapsed_ += fake_->Now();
    fake_.emplace(std::move(options));
    fake_->Begin(session);
  }
  void End() noexcept override {
    if (fake_) fake_->End();
  }
  void Write(const Location& at, std::span<const std::byte> bytes) override { fake_->Write(at, bytes); }
  void Read(const Location& at, std::span<std::byte> bytes) override { fake_->Read(at, bytes); }
  void BeginStep() override {
    ++sessions_.back().steps;
    fake_->BeginStep();
  }
  void Enqueue(const KernelCall& call) override { fake_->Enqueue(call); }
  void Enqueue(const CopyCall& call) override { fake_->Enqueue(call); }
  void Record(Issue issue, EventId event) override { fake_->Record(issue, event); }
  void Wait(Issue issue, EventId event) override { fake_->Wait(issue, event); }
  void HostSync(Issue issue, EventId event) override { fake_->HostSync(issue, event); }
  void Alloc(Issue issue, const Location& buffer) override { fake_->Alloc(issue, buffer); }
  void Free(Issue issue, const Location& buffer) override { fake_->Free(issue, buffer); }
  void EndStep() override { fake_->EndStep(); }
  std::vector<Span> ReadSpans() override { return fake_->ReadSpans(); }
  Bytes HighWater() override { return fake_->HighWater(); }
  Nanos Now() const override { return elapsed_ + (fake_ ? fake_->Now() : 0); }

  struct Seen {
    const Program* program;
    bool instrumented, debug;
    int steps;
  };
  const std::vector<Seen>& sessions() const { return sessions_; }
  FakeOptions& options() { return options_; }  // of sessions to come

 private:
  Times times_;
  FakeOptions options_;
  std::optional<FakeDevice> fake_;
  Nanos elapsed_ = 0;  // in sessions before this one
  std::vector<Seen> sessions_;
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SCRIPTED_DEVICE_H_
