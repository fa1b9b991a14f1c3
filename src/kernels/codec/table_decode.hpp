// Decoding by lookup table, for formats of up to 8 bits whose values are a fixed table times a factor per
// group. The table comes from the scalar codec, so it is right by construction; a load and a multiplication
// are faster than memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "formats/codec.hpp"
#include "kernels/codec/group_kernel.hpp"

namespace anybit::kernels {

class DecodeTable {
 public:
  // `neutral`: words for which the factor is 1.
  DecodeTable(const formats::Codec& codec, formats::ConstWords neutral) {
    std::array<formats::Code16, 256> codes;
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<formats::Code16>(i);
    codec.decode(std::span(codes).first(std::size_t{1} << codec.bits()), neutral, values_.data());
  }

  void run(CodesIn codes, std::size_t n, float factor, float* out) const {
    codes.visit([&](const auto* from) {
      for (std::size_t i = 0; i < n; ++i) out[i] = values_[from[i]] * factor;
    });
  }

 private:
  std::array<float, 256> values_{};
};

}  // namespace anybit::kernels
