// SHA-256 (FIPS 180-4) of data given in parts: identifies a model by its content.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace anybit {

class Sha256 {
 public:
  using Digest = std::array<std::byte, 32>;

  Sha256();
  void update(std::span<const std::byte> bytes);
  void update(std::string_view text) { update(std::as_bytes(std::span(text))); }
  // The hash of all bytes so far. More may follow.
  Digest digest() const;
  // The digest as 64 lower-case hexadecimal digits.
  std::string hex() const;

 private:
  void absorb(const std::byte* block);

  std::array<std::uint32_t, 8> state_;
  std::array<std::byte, 64> block_{};
  std::size_t filled_ = 0;
  std::uint64_t length_ = 0;
};

}  // namespace anybit
