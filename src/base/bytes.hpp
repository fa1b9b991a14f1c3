// Bytes: read-only memory together with its owner (a string, a mapped file). Copies share the owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace anybit {

class Bytes {
 public:
  Bytes() = default;
  Bytes(std::shared_ptr<const void> owner, std::span<const std::byte> view)
      : owner_(std::move(owner)), view_(view) {}

  static Bytes own(std::string text) {
    auto held = std::make_shared<const std::string>(std::move(text));
    return {held, std::as_bytes(std::span(*held))};
  }
  template <class T>
  static Bytes own(std::vector<T> values) {
    auto held = std::make_shared<const std::vector<T>>(std::move(values));
    return {held, std::as_bytes(std::span(*held))};
  }

  const std::byte* data() const { return view_.data(); }
  std::size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }
  std::span<const std::byte> span() const { return view_; }
  const std::shared_ptr<const void>& owner() const { return owner_; }
  std::string_view text() const { return {reinterpret_cast<const char*>(view_.data()), view_.size()}; }
  Bytes part(std::size_t offset, std::size_t length) const { return {owner_, view_.subspan(offset, length)}; }

  // Reads one T at any alignment: mapped models are not aligned.
  template <class T>
  T at(std::size_t index) const {
    T value;
    std::memcpy(&value, view_.data() + index * sizeof(T), sizeof(T));
    return value;
  }

  // The same bytes at a multiple of `alignment` (at most 64); copied only if necessary.
  Bytes aligned(std::size_t alignment) const;

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> view_;
};

}  // namespace anybit
