// Values by key, each made once: by the thread that asks first, while the others that ask for it wait.
//
//   OnceCache<Question, Planned> plans(200);
//   const Planned planned = plans.Get(question, [&] { return strategy.plan(problem); });
//
// There are two kinds:
//   without a Hash   for some hundred values that take milliseconds or more to make. A key is compared with each one
//                    kept. When the cache is full, the value that was asked for longest ago goes
//   with a Hash      for thousands of values that take microseconds. When the cache is full, all go: to keep an order
//                    of use would cost each thread that asks more than making values again
//
// A maker that throws makes nothing. Its exception goes to the thread that ran it. The next thread that asks, or one
// that has waited, runs its own maker.
//
// Tested by once_cache_test (tests/model/).
#ifndef SPILLWAY_MODEL_UTIL_ONCE_CACHE_H_
#define SPILLWAY_MODEL_UTIL_ONCE_CACHE_H_

#include <algorithm>
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <shared_mutex>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace spillway {

// Tells no keys apart: `==` has to.
struct NoHash {
  template <typename Key>
  std::size_t operator()(const Key&) const {
    return 0;
  }
};

// May be shared by threads. Makers of different keys run at the same time. A maker may ask the same cache for other
// keys, but never for its own, not through another thread either: it would wait for itself.
template <typename Key, typename Value, typename Hash = NoHash>
class OnceCache {
 public:
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

  // Keeps at most `most` values. A value that went is made again when asked for. REQUIRES: most > 0.
  explicit OnceCache(std::size_t most = kNoLimit) : most_(most) { assert(most > 0); }

  // Returns a copy of the value kept, or made by make().
  template <typename Make>
  Value Get(const Key& key, const Make& make) {
    return Answer<Value>(key, make);
  }

  // Returns the value itself, which stays where it is as long as the cache lives. REQUIRES: no limit, no Clear().
  template <typename Make>
  const Value& Ref(const Key& key, const Make& make) {
    assert(most_ == kNoLimit);
    return Answer<const Value&>(key, make);
  }

  // Drops all values, and frees the table's memory. Values in the making are kept once they are made.
  void Clear() {
    const std::unique_lock lock(mutex_);
    Table().swap(kept_);
  }

 private:
  struct Entry {
    Entry(Value&& v, std::uint64_t now) : value(std::move(v)), asked(now) {}
    const Value value;
    mutable std::atomic<std::uint64_t> asked;  // when last, by `clock_`
  };
  using Table = std::unordered_map<Key, Entry, Hash>;
  static constexpr bool kByAge = std::is_same_v<Hash, NoHash>;

  // `Result` is Value, copied under the lock, or const Value&.
  template <typename Result, typename Make>
  Result Answer(const Key& key, const Make& make) {
    {
      const std::shared_lock lock(mutex_);
      if (const Value* const known = Find(key)) return *known;
    }
    std::unique_lock lock(mutex_);
    while (IsBeingMade(key)) landed_.wait(lock);
    if (const Value* const known = Find(key)) return *known;
    making_.push_back(&key);
    const Landing landing{*this, key, lock};
    lock.unlock();
    Value made = make();
    lock.lock();
    if (kept_.size() >= most_) MakeRoom();
    return kept_.try_emplace(key, std::move(made), ++clock_).first->second.value;
  }

  // Takes the key off `making_` and wakes all who wait, after a value as after an exception.
  struct Landing {
    OnceCache& cache;
    const Key& key;
    std::unique_lock<std::shared_mutex>& lock;
    ~Landing() {
      if (!lock.owns_lock()) lock.lock();
      std::erase(cache.making_, &key);
      cache.landed_.notify_all();
    }
  };

  const Value* Find(const Key& key) const {
    const auto found = kept_.find(key);
    if (found == kept_.end()) return nullptr;
    if constexpr (kByAge) found->second.asked.store(++clock_, std::memory_order_relaxed);
    return &found->second.value;
  }

  bool IsBeingMade(const Key& key) const {
    return std::any_of(making_.begin(), making_.end(), [&](const Key* made) { return *made == key; });
  }

  void MakeRoom() {
    if constexpr (kByAge) {
      kept_.erase(std::min_element(kept_.begin(), kept_.end(),
                                   [](const auto& a, const auto& b) { return a.second.asked < b.second.asked; }));
    } else {
      kept_.clear();
    }
  }

  const std::size_t most_;
  mutable std::shared_mutex mutex_;
  std::condition_variable_any landed_;
  Table kept_;
  std::vector<const Key*> making_;  // each lives as long as its maker runs
  mutable std::atomic<std::uint64_t> clock_ = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_MODEL_UTIL_ONCE_CACHE_H_
