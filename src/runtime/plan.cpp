#include "runtime/plan.hpp"

#include <algorithm>
#include <map>
#include <ranges>

namespace anybit::runtime {
namespace {

constexpr std::int64_t kAlignment = 64;

std::int64_t aligned(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

bool meet(const Buffer& a, const Buffer& b) { return a.first <= b.last && b.first <= a.last; }

// Which buffers are placed first. Each is best for some networks; all are tried.
enum class Order { size, time, area, birth };
// A buffer goes to the lowest free place, or to the one that it fills best.
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

// Where a buffer fits among those that are placed, which are sorted by offset.
std::int64_t free_place(const Buffer& buffer, std::span<const Buffer* const> placed, Fit fit) {
  const std::int64_t bytes = aligned(buffer.bytes);
  std::int64_t end = 0, best = -1, best_gap = INT64_MAX;  // end: of what lies below
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

std::int64_t place_all(std::span<Buffer> buffers, Order order, Fit fit) {
  std::vector<Buffer*> sorted;
  for (Buffer& buffer : buffers) sorted.push_back(&buffer);
  std::ranges::stable_sort(
      sorted, [&](const Buffer* a, const Buffer* b) { return weight(*a, order) > weight(*b, order); });
  std::vector<const Buffer*> placed;
  std::int64_t end = 0;
  for (Buffer* buffer : sorted) {
    buffer->offset = free_place(*buffer, placed, fit);
    end = std::max(end, buffer->offset + aligned(buffer->bytes));
    placed.insert(std::ranges::upper_bound(placed, buffer->offset, {}, &Buffer::offset), buffer);
  }
  return end;
}

}  // namespace

std::int64_t assign_offsets(std::span<Buffer> buffers) {
  constexpr std::size_t kMany = 3000;  // trying takes the square of this
  const std::int64_t least = largest_live_set(buffers);
  std::int64_t best = place_all(buffers, Order::size, Fit::lowest);
  std::vector<Buffer> chosen(buffers.begin(), buffers.end());
  for (const Order order : {Order::size, Order::area, Order::time, Order::birth}) {
    for (const Fit fit : {Fit::lowest, Fit::tightest}) {
      if (best <= least || buffers.size() > kMany) break;
      const std::int64_t arena = place_all(buffers, order, fit);
      if (arena >= best) continue;
      best = arena;
      chosen.assign(buffers.begin(), buffers.end());
    }
  }
  std::ranges::copy(chosen, buffers.begin());
  return best;
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
