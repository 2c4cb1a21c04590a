// Threads that make values ahead of who asks for them, for work that decides in a fixed order what is costly to find out.
//
//   ThreadPool helpers(2);
//   std::vector<Future<Planned>> plans;
//   for (const Strategy& s : asked) plans.push_back(helpers.Submit([&s, &problem] { return s.plan(problem); }));
//   for (Future<Planned>& plan : plans) Enter(plan.Get());    // in this order, whoever was ready first
//
// What comes out is the same with any number of threads, and with none but the caller's own, which makes each value when it
// is asked for: so what is made has to follow from what nobody changes in the meantime. A value that turns out not to be
// wanted is dropped, made or not, and costs nothing where there are no helpers; so what is likely to be asked for next can be
// begun before it is sure.
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

// One thread hands out work and takes values. What work refers to must outlive this.
class ThreadPool {
 public:
  // 1 or less: no helper, the caller does it all. More: so many, and the caller waits for them.
  explicit ThreadPool(int threads);
  ~ThreadPool();  // waits for what is being made
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Of make(), or of make(stop), which may end early with anything once its value is dropped. The first handed out are the
  // first made.
  template <typename Make>
  auto Submit(Make make);
  // How many values it pays to have handed out.
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
  std::shared_ptr<Task> Next(const std::stop_token& stop);  // nullptr: it is time to stop

  std::mutex mutex_;  // of all but `threads_`
  std::condition_variable_any more_;
  std::deque<std::shared_ptr<Task>> waiting_;
  std::vector<std::jthread> threads_;
};

// A value that a helper makes, or Get() itself. Ends before its helpers.
template <typename Value>
class Future {
 public:
  Future(Future&&) noexcept = default;
  Future& operator=(Future&&) = delete;
  ~Future() {
    if (task_ != nullptr) helpers_->Drop(task_);
  }
  // What was made, or thrown. Once.
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
