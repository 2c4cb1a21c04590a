// A stream of the CPU device: a thread that carries out what it is given, in order, one thing at a time.
//
//   CpuStream stream({.cores = {0}}, [&](std::uint32_t instruction) { ... });
//   stream.Call(3);          // returns at once
//   stream.Record(4, event);
//   event.Wait(kSpinShared);
//
// Giving and taking allocate nothing and lock nothing. Calls come from one thread, the stream's owner.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CPU_STREAM_H_
#define SPILLWAY_CALIBRATE_DEVICES_CPU_STREAM_H_

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "calibrate/devices/cpu/event.h"
#include "sim/execute/device.h"

namespace spillway {

// The first thing that went wrong on any of the streams that share it. From then on they do nothing but come to their
// ends: events fire, so that nobody waits for ever.
class StreamFailure {
 public:
  void Set(Fault fault, std::uint32_t instruction, const std::string& what);
  bool any() const { return any_.load(std::memory_order_acquire); }
  const std::atomic<bool>& flag() const { return any_; }
  // Throws it, if there is one.
  void Check() const {
    if (any()) Throw();
  }

 private:
  [[noreturn]] void Throw() const;

  std::atomic<bool> any_{false};
  mutable std::mutex mutex_;
  Fault fault_ = Fault::kFailed;
  std::uint32_t instruction_ = kNoInstruction;
  std::string what_;
};

struct CpuStreamOptions {
  std::uint32_t capacity = 1024;  // things given and not done yet, at most
  std::vector<int> cores{};       // where its thread runs; empty: anywhere
  Spin spin = kSpinShared;
  StreamFailure* failure = nullptr;  // where exceptions go; nullptr: they end the program
};

// One thread that does what it is given, in order: calls, recording events, waiting for them. Giving never waits. To be
// used by one thread, the owner.
class CpuStream {
 public:
  // What it throws goes to options.failure: a DeviceError as it is, anything else as Fault::kFailed.
  using Perform = std::function<void(std::uint32_t instruction)>;

  // Returns when the thread runs. Throws std::system_error if the system has no thread to give.
  CpuStream(CpuStreamOptions options, Perform perform);
  ~CpuStream();  // waits until everything is done, unless it was abandoned
  CpuStream(const CpuStream&) = delete;
  CpuStream& operator=(const CpuStream&) = delete;

  // False: there are `capacity` things to do already; nothing is given.
  bool Call(std::uint32_t instruction) { return Give({Item::Kind::kCall, instruction, nullptr}); }
  bool Record(std::uint32_t instruction, CpuEvent& event) { return Give({Item::Kind::kRecord, instruction, &event}); }
  bool Wait(std::uint32_t instruction, CpuEvent& event) { return Give({Item::Kind::kWait, instruction, &event}); }

  // Gives nothing more and waits for about `patience` until everything is done. True: it is, and the thread is gone.
  bool Finish(Nanos patience = kForEver);
  // After a Finish() in vain: the thread is left to itself, whenever it may come back. Until it does it holds on to
  // `keep`, which must own this stream and all that the thread may still touch; the last one to let go of it may be the
  // thread.
  void Abandon(std::shared_ptr<const void> keep) noexcept;

  bool pinned() const { return pinned_; }
  // Things done so far, of 2^32.
  std::uint32_t done() const { return done_.load(std::memory_order_acquire); }
  // What it is at, as instruction and whether it only waits; kNoInstruction if everything is done.
  struct Position {
    std::uint32_t instruction = kNoInstruction;
    bool waits = false;
  };
  Position At() const;

 private:
  struct Item {
    enum class Kind : std::uint8_t { kCall, kRecord, kWait, kStop };
    Kind kind = Kind::kCall;
    std::uint32_t instruction = 0;
    CpuEvent* event = nullptr;
  };
  static constexpr std::uint32_t kCount = 0x7fffffffu;  // numbers of things are counted in 31 bits

  bool Give(const Item& item);
  void Publish(const Item& item);
  void Run();
  std::shared_ptr<const void> Leave();
  std::uint32_t AwaitMore(std::uint32_t taken);  // until more than `taken` are given; how many
  void Do(const Item& item);
  void DoCall(std::uint32_t instruction);
  bool Stopped() const { return options_.failure != nullptr && options_.failure->any(); }

  CpuStreamOptions options_;
  Perform perform_;
  std::vector<Item> items_;              // a ring; its size is a power of two
  std::uint32_t count_ = 0;              // given, as the owner knows it
  std::atomic<std::uint32_t> given_{0};  // 2 x their number, + 1 while the thread sleeps until there are more
  std::atomic<std::uint32_t> done_{0};
  CpuEvent ready_, over_;
  bool pinned_ = false;    // written before ready_
  bool stopping_ = false;  // the owner's
  std::mutex leaving_;     // of the next two
  bool left_ = false;      // the thread has nothing more to do
  std::shared_ptr<const void> keep_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CPU_STREAM_H_
