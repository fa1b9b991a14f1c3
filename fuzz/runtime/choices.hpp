// Choices made from a fuzzer's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace anybit::runtime::testing {

// One byte per choice; 0 when the bytes are used up.
class Choices {
 public:
  explicit Choices(std::span<const unsigned char> bytes) : bytes_(bytes) {}
  std::int64_t below(std::int64_t count) {
    if (bytes_.empty()) return 0;
    const std::int64_t one = bytes_[0];
    bytes_ = bytes_.subspan(1);
    return one % count;
  }
  bool ended() const { return bytes_.empty(); }
  template <class T, std::size_t N>
  T of(const T (&list)[N]) {
    return list[below(static_cast<std::int64_t>(N))];
  }
  // A pseudo-random number in [-1, 1] that uses no bytes: they are for choices that matter.
  float number() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<float>(static_cast<std::int32_t>(state_ >> 32)) * 0x1p-31f;
  }

 private:
  std::span<const unsigned char> bytes_;
  std::uint64_t state_ = 88172645463325252u;
};

}  // namespace anybit::runtime::testing
