#include "plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace anybit::cgen {
namespace {

bool meet(const Span& a, const Span& b) { return a.first <= b.last && b.first <= a.last; }

// First fit: each block takes the lowest offset that is free during its lifetime.
Layout in_order(const std::vector<Block>& blocks, const std::vector<std::size_t>& order,
                std::int64_t alignment) {
  const auto aligned = [&](std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; };
  Layout layout{std::vector<std::int64_t>(blocks.size(), 0), 0};
  std::vector<std::size_t> placed;
  for (const std::size_t i : order) {
    std::vector<std::size_t> taken;
    for (const std::size_t other : placed) {
      if (meet(blocks[i].life, blocks[other].life)) taken.push_back(other);
    }
    std::ranges::sort(taken, {}, [&](std::size_t k) { return layout.offsets[k]; });
    std::int64_t offset = 0;
    for (const std::size_t other : taken) {
      if (offset + aligned(blocks[i].bytes) <= layout.offsets[other]) break;
      offset = std::max(offset, layout.offsets[other] + aligned(blocks[other].bytes));
    }
    layout.offsets[i] = offset;
    layout.bytes = std::max(layout.bytes, offset + aligned(blocks[i].bytes));
    placed.push_back(i);
  }
  return layout;
}

// Free ranges of the arena, indexed by size and by offset.
class FreeRanges {
 public:
  std::int64_t take(std::int64_t bytes) {
    const auto fits = by_size_.lower_bound({bytes, 0});
    if (fits == by_size_.end()) {
      end_ += bytes;
      most_ = std::max(most_, end_);
      return end_ - bytes;
    }
    const auto [size, offset] = *fits;
    remove(offset, size);
    if (size > bytes) add(offset + bytes, size - bytes);
    return offset;
  }

  void give_back(std::int64_t offset, std::int64_t bytes) {
    const auto after = by_place_.lower_bound(offset);
    if (after != by_place_.end() && after->first == offset + bytes) {
      bytes += after->second;
      remove(after->first, after->second);
    }
    const auto behind = by_place_.lower_bound(offset);
    if (behind != by_place_.begin()) {
      if (const auto [place, size] = *std::prev(behind); place + size == offset) {
        offset = place;
        bytes += size;
        remove(place, size);
      }
    }
    if (offset + bytes == end_)
      end_ = offset;
    else
      add(offset, bytes);
  }

  std::int64_t most() const { return most_; }

 private:
  void add(std::int64_t offset, std::int64_t bytes) {
    by_place_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }
  void remove(std::int64_t offset, std::int64_t bytes) {
    by_place_.erase(offset);
    by_size_.erase({bytes, offset});
  }

  std::map<std::int64_t, std::int64_t> by_place_;
  std::set<std::pair<std::int64_t, std::int64_t>> by_size_;
  std::int64_t end_ = 0, most_ = 0;
};

// Many blocks are placed in order by best fit: trying several orders takes quadratic time.
Layout in_turn(const std::vector<Block>& blocks, std::vector<std::size_t> order, std::int64_t alignment) {
  const auto aligned = [&](std::size_t i) {
    return (blocks[i].bytes + alignment - 1) / alignment * alignment;
  };
  Layout layout{std::vector<std::int64_t>(blocks.size(), 0), 0};
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return blocks[i].life.first; });
  std::multimap<int, std::size_t> alive;  // by last step
  FreeRanges ranges;
  for (const std::size_t i : order) {
    while (!alive.empty() && alive.begin()->first < blocks[i].life.first) {
      const std::size_t gone = alive.begin()->second;
      ranges.give_back(layout.offsets[gone], aligned(gone));
      alive.erase(alive.begin());
    }
    layout.offsets[i] = ranges.take(aligned(i));
    alive.emplace(blocks[i].life.last, i);
  }
  layout.bytes = ranges.most();
  return layout;
}

}  // namespace

// The best of several orders: by size, by lifetime, as given.
Layout lay_out(const std::vector<Block>& blocks, std::int64_t alignment) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].life.first >= 0 && blocks[i].bytes > 0) order.push_back(i);
  }
  constexpr std::size_t kMany = 1000;
  if (order.size() > kMany) return in_turn(blocks, std::move(order), alignment);
  const auto steps = [&](std::size_t i) { return blocks[i].life.last - blocks[i].life.first; };
  Layout best = in_order(blocks, order, alignment);
  const auto consider = [&](auto key) {
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return key(a) > key(b); });
    Layout next = in_order(blocks, order, alignment);
    if (next.bytes < best.bytes) best = std::move(next);
  };
  consider([&](std::size_t i) { return std::tuple(blocks[i].bytes, steps(i)); });
  consider([&](std::size_t i) { return std::tuple(blocks[i].bytes * (steps(i) + 1), steps(i)); });
  consider([&](std::size_t i) { return std::tuple(steps(i), static_cast<int>(blocks[i].bytes >> 4)); });
  return best;
}

}  // namespace anybit::cgen
