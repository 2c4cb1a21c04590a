// What was answered already, for whoever asks the same again.
//
//   OnceCache<Question, Planned> plans(200);
//   const Planned planned = plans.Get(question, [&] { return strategy.plan(problem); });
//
// A question is compared with every one that is kept: for hundreds of answers, each of which takes milliseconds or more.
// What threw is kept too, and thrown again at whoever asks the same.
//
// Tested by plan_cache_test (tests/).
#ifndef SPILLWAY_MODEL_UTIL_ONCE_CACHE_H_
#define SPILLWAY_MODEL_UTIL_ONCE_CACHE_H_

#include <algorithm>
#include <cstddef>
#include <deque>
#include <exception>
#include <future>
#include <mutex>
#include <optional>
#include <utility>

namespace spillway {

// May be shared by threads: who asks for what is being made waits for it. Holds the `most` answers that were made last.
template <typename Question, typename Answer>
class OnceCache {
 public:
  explicit OnceCache(std::size_t most) : most_(most) {}

  // What make() returns or throws. It may ask for other answers, not, whatever the way, for this one.
  template <typename Make>
  Answer Get(const Question& question, const Make& make) {
    std::optional<std::promise<Answer>> promise;  // this call makes it
    const std::shared_future<Answer> answer = Find(question, promise);
    if (promise) {
      try {
        promise->set_value(make());
      } catch (...) {
        promise->set_exception(std::current_exception());
      }
    }
    return answer.get();
  }

 private:
  // The answer to `question`, there or to come. `promise` is set where it is the caller who has to give it.
  std::shared_future<Answer> Find(const Question& question, std::optional<std::promise<Answer>>& promise) {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(known_.begin(), known_.end(), [&](const auto& known) { return known.first == question; });
    if (found != known_.end()) return found->second;
    known_.emplace_back(question, promise.emplace().get_future().share());
    const std::shared_future<Answer> answer = known_.back().second;
    if (known_.size() > most_) known_.pop_front();
    return answer;
  }

  const std::size_t most_;
  std::mutex mutex_;
  std::deque<std::pair<Question, std::shared_future<Answer>>> known_;
};

}  // namespace spillway

#endif  // SPILLWAY_MODEL_UTIL_ONCE_CACHE_H_
