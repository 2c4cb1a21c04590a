#include "model/util/thread_pool.h"

#include <algorithm>
#include <system_error>

namespace spillway {

ThreadPool::ThreadPool(int threads) {
  try {
    for (int k = 0; threads > 1 && k < threads; ++k) {
      threads_.emplace_back([this](const std::stop_token& stop) { Work(stop); });
    }
  } catch (const std::system_error&) {  // no more of them: those that there are do it, or the caller
  }
}

ThreadPool::~ThreadPool() {
  for (std::jthread& thread : threads_) thread.request_stop();
}

void ThreadPool::Add(const std::shared_ptr<Task>& task) {
  if (threads_.empty()) return;
  const std::lock_guard lock(mutex_);
  waiting_.push_back(task);
  more_.notify_one();
}

void ThreadPool::Want(const std::shared_ptr<Task>& task) {
  if (threads_.empty()) return task->run();
  const std::lock_guard lock(mutex_);
  const auto at = std::find(waiting_.begin(), waiting_.end(), task);
  if (at != waiting_.end()) std::rotate(waiting_.begin(), at, at + 1);
}

void ThreadPool::Drop(const std::shared_ptr<Task>& task) {
  task->dropped.request_stop();
  if (threads_.empty()) return;
  const std::lock_guard lock(mutex_);
  std::erase(waiting_, task);
}

void ThreadPool::Work(const std::stop_token& stop) {
  while (const std::shared_ptr<Task> task = Next(stop)) task->run();
}

std::shared_ptr<ThreadPool::Task> ThreadPool::Next(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  more_.wait(lock, stop, [this] { return !waiting_.empty(); });
  if (stop.stop_requested()) return nullptr;
  std::shared_ptr<Task> next = std::move(waiting_.front());
  waiting_.pop_front();
  return next;
}

}  // namespace spillway
