// Allocator for tensors at run time: aligned, accounted, with a limit. Freed blocks are cached and reused, so
// a repeated run does not touch the heap.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "anybit/result.hpp"

namespace anybit::ops {

class Memory;

// A reference-counted block of memory; the last copy returns it to its Memory.
class Block {
 public:
  Block() = default;
  Block(const Block& other) : head_(other.head_) {
    if (head_) head_->uses.fetch_add(1, std::memory_order_relaxed);
  }
  Block(Block&& other) noexcept : head_(std::exchange(other.head_, nullptr)) {}
  Block& operator=(Block other) noexcept {
    std::swap(head_, other.head_);
    return *this;
  }
  ~Block();

  explicit operator bool() const { return head_ != nullptr; }
  std::byte* data() const { return head_ ? reinterpret_cast<std::byte*>(head_) + kHead : nullptr; }
  std::size_t capacity() const { return head_ ? head_->capacity : 0; }
  bool shared() const { return head_ && head_->uses.load(std::memory_order_acquire) > 1; }
  friend bool operator==(const Block& a, const Block& b) { return a.head_ == b.head_; }

  static constexpr std::size_t kHead = 64;  // keeps the data aligned for every vector instruction

 private:
  friend class Memory;
  struct Head {
    std::atomic<std::int64_t> uses;
    std::size_t capacity;
    void* raw;                       // start of the raw allocation
    std::shared_ptr<Memory> memory;  // kept alive while one of its blocks is in use
  };
  explicit Block(Head* head) : head_(head) {}
  Head* head_ = nullptr;
};

class Memory : public std::enable_shared_from_this<Memory> {
 public:
  // `limit` in bytes; 0: none.
  static std::shared_ptr<Memory> make(std::int64_t limit = 0);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // The contents are undefined. An error if the limit is reached or the system is out of memory.
  Result<Block> take(std::int64_t bytes);
  // Accounts for memory that others hold, for as long as this object lives. An error if it exceeds the limit.
  Result<void> count(std::int64_t bytes);
  // Returns cached blocks to the system.
  void trim();

  std::int64_t used() const;  // blocks in use
  std::int64_t peak() const;  // largest sum of used and cached blocks so far
  void reset_peak();

 private:
  friend class Block;
  explicit Memory(std::int64_t limit) : limit_(limit) {}
  void give_back(Block::Head* head);
  Block::Head* kept(std::size_t capacity);
  void release(Block::Head* head);
  void trim_locked();
  Error beyond_limit(std::int64_t bytes) const;

  mutable std::mutex mutex_;
  std::int64_t limit_ = 0, used_ = 0, kept_bytes_ = 0, peak_ = 0;
  std::vector<Block::Head*> kept_;  // sorted by capacity
};

}  // namespace anybit::ops
