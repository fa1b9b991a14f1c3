#include "plan.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace anybit::cgen {
namespace {

bool meet(const Span& a, const Span& b) { return a.first <= b.last && b.first <= a.last; }

// Each block takes the lowest place that is free while it lives.
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

}  // namespace

// The smallest of a few orders: large ones first, long-lived ones first, as they come.
Layout lay_out(const std::vector<Block>& blocks, std::int64_t alignment) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].life.first >= 0 && blocks[i].bytes > 0) order.push_back(i);
  }
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
