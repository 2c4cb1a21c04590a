// A pool of threads that compute values before the caller asks for them. The caller takes the values in a fixed order.
//
//   ThreadPool helpers(2);
//   std::vector<Future<Planned>> plans;
//   for (const Strategy& s : asked) plans.push_back(helpers.Submit([&s, &problem] { return s.plan(problem); }));
//   for (Future<Planned>& plan : plans) Enter(plan.Get());    // in this order, whichever is ready first
//
// The values are the same for any number of threads. Without helper threads, Get() computes the value. So the inputs of
// a value must not change between Submit() and Get(). A value that is not wanted any more is dropped, computed or not.
// Without helper threads a dropped value costs nothing, so a caller may submit values that it only may need.
//
// Tested by thread_pool_test (tests/).
#ifndef SPILLWAY_MODEL_UTIL_THREAD_POOL_H_
#define SPILLWAY_MODEL_UTIL_THREAD_POOL_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace spillway {

template <typename Value>
class Future;

// One thread submits work and takes values. Objects that the work refers to must outlive the pool.
class ThreadPool {
 public:
  // 1 or less: no helper threads, the caller computes everything. More: so many helper threads; the caller waits for
  // them.
  explicit ThreadPool(int threads);
  ~ThreadPool();  // waits for the work in progress
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // A future for make(), or for make(stop) with a std::stop_token. Once the future is dropped, `stop` is requested and
  // make may return anything. Work starts in the order of the calls.
  template <typename Make>
  auto Submit(Make make);
  // The number of values that are worth submitting at once.
  std::size_t AtOnce() const { return threads_.empty() ? 1 : threads_.size(); }

 private:
  template <typename Value>
  friend class Future;
  struct Task {
    std::function<void()> run;
    std::stop_source dropped{};
  };
  void Add(const std::shared_ptr<Task>& task);
  void Want(const std::shared_ptr<Task>& task);  // before all others
  void Drop(const std::shared_ptr<Task>& task);
  void Work(const std::stop_token& stop);
  std::shared_ptr<Task> Next(const std::stop_token& stop);  // nullptr: the thread shall end

  std::mutex mutex_;  // guards all members but `threads_`
  std::condition_variable_any more_;
  std::deque<std::shared_ptr<Task>> waiting_;
  std::vector<std::jthread> threads_;
};

// A value that a helper thread or Get() computes. Must be destroyed before its pool.
template <typename Value>
class Future {
 public:
  Future(Future&&) noexcept = default;
  Future& operator=(Future&&) = delete;
  ~Future() {
    if (task_ != nullptr) helpers_->Drop(task_);
  }
  // Returns the value, or throws what its computation threw. Call once.
  Value Get() {
    helpers_->Want(task_);
    return value_.get();
  }

 private:
  friend class ThreadPool;
  Future(ThreadPool& helpers, std::shared_ptr<ThreadPool::Task> task, std::future<Value> value)
      : helpers_(&helpers), task_(std::move(task)), value_(std::move(value)) {}

  ThreadPool* helpers_;
  std::shared_ptr<ThreadPool::Task> task_;
  std::future<Value> value_;
};

template <typename Make>
auto ThreadPool::Submit(Make make) {
  auto task = std::make_shared<Task>();
  auto call = [make = std::move(make), stop = task->dropped.get_token()]() mutable {
    if constexpr (std::is_invocable_v<Make&, const std::stop_token&>) {
      return make(stop);
    } else {
      return make();
    }
  };
  using Value = decltype(call());
  auto promised = std::make_shared<std::packaged_task<Value()>>(std::move(call));
  std::future<Value> value = promised->get_future();
  task->run = [promised] { (*promised)(); };
  Add(task);
  return Future<Value>(*this, std::move(task), std::move(value));
}

}  // namespace spillway

#endif  // SPILLWAY_MODEL_UTIL_THREAD_POOL_H_
