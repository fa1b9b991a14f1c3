#include "runtime/plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace anybit::runtime {
namespace {

constexpr std::int64_t kAlignment = 64;

std::int64_t aligned(std::int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

bool meet(const Buffer& a, const Buffer& b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

std::int64_t assign_offsets(std::span<Buffer> buffers) {
  std::vector<Buffer*> order;
  for (Buffer& buffer : buffers) order.push_back(&buffer);
  std::stable_sort(order.begin(), order.end(),
                   [](const Buffer* a, const Buffer* b) { return a->bytes > b->bytes; });
  std::vector<const Buffer*> placed;  // by offset
  std::int64_t end = 0;
  for (Buffer* buffer : order) {
    const std::int64_t bytes = aligned(buffer->bytes);
    std::int64_t offset = 0;
    for (const Buffer* other : placed) {
      if (!meet(*buffer, *other)) continue;
      if (offset + bytes <= other->offset) break;
      offset = std::max(offset, other->offset + aligned(other->bytes));
    }
    buffer->offset = offset;
    end = std::max(end, offset + bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), buffer,
                                   [](const Buffer* a, const Buffer* b) { return a->offset < b->offset; }),
                  buffer);
  }
  return end;
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
