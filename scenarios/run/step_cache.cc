#include "scenarios/run/step_cache.h"

#include <algorithm>

namespace spillway {

std::shared_ptr<StepCache::Entry> StepCache::Find(std::size_t index) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [index](const auto& entry) { return entry->index == index; });
  if (found != entries_.end()) {
    std::rotate(found, found + 1, entries_.end());
  } else {
    if (entries_.size() >= most_) entries_.erase(entries_.begin());
    entries_.push_back(std::make_shared<Entry>(index));
  }
  return entries_.back();
}

std::shared_ptr<StepCache::Entry> StepCache::Get(std::size_t index) {
  std::shared_ptr<Entry> entry = Find(index);
  std::call_once(entry->once, [&] { entry->step = StepOf(run_, index); });
  return entry;
}

}  // namespace spillway
