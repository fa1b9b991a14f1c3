#include "ops/memory.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <new>

#include "base/error.hpp"
#include "base/poison.hpp"

namespace anybit::ops {
namespace {

// Under AddressSanitizer a block has exactly the requested size, the bytes around it are poisoned, and no
// block is reused.

// Cached blocks beyond this size are freed: planned runs need few, and an unplanned run must not hold twice
// its memory.
constexpr std::int64_t kKeep = kPoisons ? 0 : 8 << 20;

// Sizes are rounded up to an eighth of a power of two, so that a block can be reused for similar sizes.
std::size_t rounded(std::size_t bytes) {
  if (kPoisons) return bytes;
  const std::size_t step = std::max<std::size_t>(64, std::bit_floor(bytes) / 8);
  return (bytes + step - 1) / step * step;
}

// Not aligned_alloc: glibc allocates extra room for alignment there, so a block of the same size as a freed
// one does not fit in its place, and an unplanned run takes twice its memory.
void* aligned_place(std::size_t bytes, void*& raw) {
  std::size_t room = bytes + Block::kHead;
  void* place = raw = ::operator new(room, std::nothrow);
  return raw ? std::align(Block::kHead, bytes, place, room) : nullptr;
}

// Poisons the bytes around the head and the data of a block.
void poison_gaps(void* raw, void* place, std::size_t head, std::size_t capacity) {
  auto* const begin = static_cast<std::byte*>(raw);
  auto* const block = static_cast<std::byte*>(place);
  std::byte* const data = block + Block::kHead;
  poison(begin, static_cast<std::size_t>(block - begin));
  poison(block + head, Block::kHead - head);
  poison(data + capacity, static_cast<std::size_t>(begin + 2 * Block::kHead + capacity - (data + capacity)));
}

}  // namespace

Block::~Block() {
  if (!head_ || head_->uses.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  // Moved out first: it may be the last reference to the Memory.
  const std::shared_ptr<Memory> memory = std::move(head_->memory);
  memory->give_back(head_);
}

std::shared_ptr<Memory> Memory::make(std::int64_t limit) {
  return std::shared_ptr<Memory>(new Memory(limit));
}

Memory::~Memory() { trim_locked(); }

Block::Head* Memory::kept(std::size_t capacity) {
  const auto found =
      std::lower_bound(kept_.begin(), kept_.end(), capacity,
                       [](const Block::Head* head, std::size_t wanted) { return head->capacity < wanted; });
  if (found == kept_.end() || (*found)->capacity > capacity + capacity / 4) return nullptr;
  Block::Head* head = *found;
  kept_.erase(found);
  kept_bytes_ -= static_cast<std::int64_t>(head->capacity);
  return head;
}

Error Memory::beyond_limit(std::int64_t bytes) const {
  return error_at(Code::limit_exceeded, {},
                  fmt::format("another {} bytes would exceed the memory limit of {} bytes", bytes, limit_),
                  "a higher --max-memory, or smaller inputs");
}

Result<void> Memory::count(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (limit_ > 0 && used_ + bytes > limit_) return beyond_limit(bytes);
  used_ += bytes;
  peak_ = std::max(peak_, used_ + kept_bytes_);
  return {};
}

Result<Block> Memory::take(std::int64_t bytes) {
  if (bytes < 0 || bytes > (std::int64_t{1} << 46)) {
    return error_at(Code::limit_exceeded, {},
                    fmt::format("an allocation of {} bytes is not possible", bytes));
  }
  const std::size_t capacity = rounded(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)));
  const std::lock_guard lock(mutex_);
  Block::Head* head = kept(capacity);
  const auto size = static_cast<std::int64_t>(head ? head->capacity : capacity);
  if (limit_ > 0 && used_ + kept_bytes_ + size > limit_)
    trim_locked();  // `head` is not in the cache any more
  if (limit_ > 0 && used_ + size > limit_) {
    if (head) release(head);
    return beyond_limit(size);
  }
  if (!head) {
    void* raw = nullptr;
    void* const place = aligned_place(capacity + Block::kHead, raw);
    if (!place)
      return error_at(Code::out_of_memory, {},
                      fmt::format("out of memory: cannot allocate {} bytes", capacity));
    head = new (place) Block::Head{.uses = 0, .capacity = capacity, .raw = raw, .memory = nullptr};
    poison_gaps(raw, place, sizeof(Block::Head), capacity);
  }
  head->uses.store(1, std::memory_order_relaxed);
  head->memory = shared_from_this();
  used_ += size;
  peak_ = std::max(peak_, used_ + kept_bytes_);
  return Block(head);
}

void Memory::give_back(Block::Head* head) {
  const std::lock_guard lock(mutex_);
  const auto size = static_cast<std::int64_t>(head->capacity);
  used_ -= size;
  if (kept_bytes_ + size > kKeep) return release(head);
  try {
    kept_.insert(std::upper_bound(kept_.begin(), kept_.end(), head,
                                  [](const auto* a, const auto* b) { return a->capacity < b->capacity; }),
                 head);
    kept_bytes_ += size;
  } catch (const std::bad_alloc&) {  // memory may run out while blocks are freed
    release(head);
  }
}

void Memory::release(Block::Head* head) {
  void* const raw = head->raw;
  head->~Head();
  ::operator delete(raw);
}

void Memory::trim() {
  const std::lock_guard lock(mutex_);
  trim_locked();
}

void Memory::trim_locked() {
  for (Block::Head* head : kept_) release(head);
  kept_.clear();
  kept_bytes_ = 0;
}

std::int64_t Memory::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

std::int64_t Memory::peak() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

void Memory::reset_peak() {
  const std::lock_guard lock(mutex_);
  peak_ = used_ + kept_bytes_;
}

}  // namespace anybit::ops
