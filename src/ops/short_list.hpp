// A constexpr list with inline storage, so that the operator table needs no dynamic initialization and no
// cleanup.
#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>

namespace anybit::ops {

template <class T, std::size_t Most>
class ShortList {
 public:
  constexpr ShortList() = default;
  constexpr ShortList(std::initializer_list<T> items) {
    if (items.size() > Most) std::abort();  // more items than the list has room for
    for (const T& one : items) items_[size_++] = one;
  }

  constexpr const T* begin() const { return items_.data(); }
  constexpr const T* end() const { return items_.data() + size_; }
  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T& front() const { return items_[0]; }
  constexpr const T& back() const { return items_[size_ - 1]; }

  friend constexpr bool operator==(const ShortList&, const ShortList&) = default;

 private:
  std::array<T, Most> items_ = {};
  std::size_t size_ = 0;
};

}  // namespace anybit::ops
