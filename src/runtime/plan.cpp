#include "runtime/plan.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace anybit::runtime {
namespace {

constexpr std::int64_t kAlignment = 64;

std::int64_t aligned(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

bool meet(const Buffer& a, const Buffer& b) { return a.first <= b.last && b.first <= a.last; }

// The order in which buffers are placed. Which is best depends on the network; all are tried.
enum class Order { size, time, area, birth };
// A buffer goes to the lowest free range, or to the free range with the least space left over.
enum class Fit { lowest, tightest };

double weight(const Buffer& buffer, Order order) {
  const double time = 1.0 + buffer.last - buffer.first, size = static_cast<double>(buffer.bytes);
  switch (order) {
    case Order::size:
      return size;
    case Order::time:
      return time;
    case Order::area:
      return size * time;
    case Order::birth:
      break;
  }
  return -static_cast<double>(buffer.first);
}

// The offset for a buffer among placed ones, which are sorted by offset.
std::int64_t free_place(const Buffer& buffer, std::span<const Buffer* const> placed, Fit fit) {
  const std::int64_t bytes = aligned(buffer.bytes);
  std::int64_t end = 0, best = -1, best_gap = INT64_MAX;  // end: of the buffers below
  for (const Buffer* other : placed) {
    if (!meet(buffer, *other)) continue;
    const std::int64_t gap = other->offset - end;
    if (gap >= bytes && gap < best_gap) {
      if (fit == Fit::lowest) return end;
      best = end;
      best_gap = gap;
    }
    end = std::max(end, other->offset + aligned(other->bytes));
  }
  return best >= 0 ? best : end;
}

// Places buffers by decreasing weight; `shaken`: the seed of a random factor, so results are reproducible.
std::int64_t place_all(std::span<Buffer> buffers, Order order, Fit fit, std::uint32_t shaken = 0) {
  std::vector<std::pair<double, Buffer*>> sorted;
  std::minstd_rand random(shaken);
  for (Buffer& buffer : buffers) {
    const double factor =
        shaken == 0 ? 1.0 : 0.5 + static_cast<double>(random()) / static_cast<double>(random.max());
    sorted.emplace_back(weight(buffer, order) * factor, &buffer);
  }
  std::ranges::stable_sort(sorted, std::greater(), &std::pair<double, Buffer*>::first);
  std::vector<const Buffer*> placed;
  std::int64_t end = 0;
  for (const auto& [weight, buffer] : sorted) {
    buffer->offset = free_place(*buffer, placed, fit);
    end = std::max(end, buffer->offset + aligned(buffer->bytes));
    placed.insert(std::ranges::upper_bound(placed, buffer->offset, {}, &Buffer::offset), buffer);
  }
  return end;
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

// Large plans are placed in order of first use, best fit: trying several orders costs quadratic time.
std::int64_t place_in_turn(std::span<Buffer> buffers) {
  std::vector<Buffer*> born;
  for (Buffer& buffer : buffers) born.push_back(&buffer);
  std::ranges::stable_sort(born, {}, &Buffer::first);
  std::multimap<int, const Buffer*> alive;  // by the last step
  FreeRanges ranges;
  for (Buffer* buffer : born) {
    while (!alive.empty() && alive.begin()->first < buffer->first) {
      ranges.give_back(alive.begin()->second->offset, aligned(alive.begin()->second->bytes));
      alive.erase(alive.begin());
    }
    if (aligned(buffer->bytes) == 0) continue;
    buffer->offset = ranges.take(aligned(buffer->bytes));
    alive.emplace(buffer->last, buffer);
  }
  return ranges.most();
}

}  // namespace

std::int64_t assign_offsets(std::span<Buffer> buffers) {
  constexpr std::size_t kMany = 1000, kFew = 500;  // trying orders costs quadratic time
  constexpr std::uint32_t kShakes = 100;
  if (buffers.size() > kMany) return place_in_turn(buffers);
  const std::int64_t least = largest_live_set(buffers);
  std::int64_t best = INT64_MAX;
  std::vector<Buffer> chosen;
  const auto attempt = [&](Order order, Fit fit, std::uint32_t shaken) {
    if (best <= least) return;
    const std::int64_t arena = place_all(buffers, order, fit, shaken);
    if (arena >= best) return;
    best = arena;
    chosen.assign(buffers.begin(), buffers.end());
  };
  for (const Order order : {Order::size, Order::area, Order::time, Order::birth}) {
    attempt(order, Fit::lowest, 0);
    attempt(order, Fit::tightest, 0);
  }
  if (buffers.size() <= kFew) {
    for (std::uint32_t i = 1; i <= kShakes && best > least + least / 10; ++i)
      attempt(Order::area, Fit::lowest, i);
  }
  std::ranges::copy(chosen, buffers.begin());
  return best == INT64_MAX ? 0 : best;
}

std::int64_t largest_live_set(std::span<const Buffer> buffers) {
  std::map<int, std::int64_t> changes;
  for (const Buffer& buffer : buffers) {
    changes[buffer.first] += aligned(buffer.bytes);
    changes[buffer.last + 1] -= aligned(buffer.bytes);
  }
  std::int64_t live = 0, most = 0;
  for (const auto& [step, change] : changes) most = std::max(most, live += change);
  return most;
}

}  // namespace anybit::runtime
