// Run-time sizes of a tensor. Stored inline: a run with known shapes must not allocate heap memory.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace anybit::ops {

class Dims {
 public:
  static constexpr std::size_t kCapacity = 32;  // as Limits::rank; the executor rejects models beyond it

  Dims() {}
  Dims(std::initializer_list<std::int64_t> dims) : Dims(std::span(dims.begin(), dims.size())) {}
  Dims(std::span<const std::int64_t> dims) {
    for (const std::int64_t dim : dims) push_back(dim);
  }
  Dims(std::size_t rank, std::int64_t dim) {
    for (std::size_t i = 0; i < rank; ++i) push_back(dim);
  }
  Dims(const Dims& other) : Dims(other.span()) {}
  Dims& operator=(const Dims& other) {
    size_ = other.size_;
    std::copy_n(other.dims_.begin(), size_, dims_.begin());
    return *this;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::int64_t operator[](std::size_t i) const { return dims_[i]; }
  std::int64_t& operator[](std::size_t i) { return dims_[i]; }
  const std::int64_t* begin() const { return dims_.data(); }
  const std::int64_t* end() const { return dims_.data() + size_; }
  std::int64_t* begin() { return dims_.data(); }
  std::int64_t* end() { return dims_.data() + size_; }
  std::int64_t back() const { return dims_[size_ - 1]; }
  std::int64_t& back() { return dims_[size_ - 1]; }
  std::span<const std::int64_t> span() const { return {dims_.data(), size_}; }

  void push_back(std::int64_t dim) {
    assert(size_ < kCapacity);
    dims_[size_++] = dim;
  }
  void insert(std::size_t at, std::int64_t dim) {
    push_back(0);
    std::copy_backward(begin() + at, end() - 1, end());
    dims_[at] = dim;
  }
  void erase(std::size_t at) {
    std::copy(begin() + at + 1, end(), begin() + at);
    --size_;
  }
  void resize(std::size_t size, std::int64_t fill = 0) {
    assert(size <= kCapacity);
    for (std::size_t i = size_; i < size; ++i) dims_[i] = fill;
    size_ = size;
  }
  // The product of dims [from, to). The executor makes sure that the product of all dims does not overflow,
  // unless one of them is 0: then the others may be of any size, and their product wraps.
  std::int64_t product(std::size_t from, std::size_t to) const {
    std::uint64_t count = 1;
    for (std::size_t i = from; i < to; ++i) count *= static_cast<std::uint64_t>(dims_[i]);
    return static_cast<std::int64_t>(count);
  }
  std::int64_t count() const { return product(0, size_); }

  friend bool operator==(const Dims& a, const Dims& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::array<std::int64_t, kCapacity> dims_;
  std::size_t size_ = 0;
};

// "[2, 3]", for messages.
std::string to_string(const Dims& dims);
// Row-major strides, in elements.
Dims strides_of(const Dims& dims);

}  // namespace anybit::ops
