// A thread-safe LRU cache of a node's plans or tables, keyed by the sizes of its inputs.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

namespace anybit::ops {

template <class Key, class Value>
class LruCache {
 public:
  static constexpr std::size_t kMost = 16;

  // Null if there is no entry.
  std::shared_ptr<const Value> find(const Key& key) const {
    const std::lock_guard lock(mutex_);
    return known(key);
  }
  // Returns the entry of another thread if that one was faster.
  std::shared_ptr<const Value> keep(const Key& key, Value value) const {
    auto made = std::make_shared<const Entry>(key, std::move(value));
    const std::lock_guard lock(mutex_);
    if (auto before = known(key)) return before;
    if (all_.size() == kMost) all_.pop_back();
    all_.insert(all_.begin(), made);
    return {made, &made->value};
  }

 private:
  struct Entry {
    Entry(const Key& of, Value made) : key(of), value(std::move(made)) {}
    Key key;
    Value value;
  };

  std::shared_ptr<const Value> known(const Key& key) const {
    const auto found = std::ranges::find_if(all_, [&](const auto& one) { return one->key == key; });
    if (found == all_.end()) return nullptr;
    std::rotate(all_.begin(), found, found + 1);
    return {all_.front(), &all_.front()->value};
  }

  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const Entry>> all_;
};

}  // namespace anybit::ops
