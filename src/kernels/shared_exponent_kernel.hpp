// The kernel of blocks that share a power of two: fast loops where the exponent allows it, the plain kernel
// for the blocks at the ends of float32's range.
#pragma once

#include <utility>

#include "formats/float_bits.hpp"
#include "kernels/group_kernel.hpp"
#include "kernels/shared_exponent.hpp"
#include "kernels/table_decode.hpp"

namespace anybit::kernels {

// A family derives from this and supplies the loops. Its codes have up to 8 bits, and with the word 0 all of
// them are float32 values.
class SharedExponentKernel : public GroupKernel {
 public:
  SharedExponentKernel(const std::shared_ptr<const formats::Codec>& codec, SharedExponent scale)
      : scale_(scale),
        table_(*codec, std::array<std::uint32_t, 1>{0}),
        plain_(plain_kernel(codec, formats::Rounding::half_even)) {}

  void quantize(const Groups& shape, const float* x, const std::uint32_t* words, const std::uint32_t*,
                float* out) const final {
    run(
        shape, [&](std::size_t g) { return round_blocks(shape, g, x, words, out); },
        [&](std::size_t g) {
          plain_->quantize(one(shape), x + g * shape.size, words + g * shape.stride, nullptr,
                           out + g * shape.size);
        });
  }
  void encode(const Groups& shape, const float* x, const std::uint32_t* words, const std::uint32_t*,
              std::uint8_t* codes) const final {
    encode_any(shape, x, words, codes);
  }
  void encode(const Groups& shape, const float* x, const std::uint32_t* words, const std::uint32_t*,
              std::uint16_t* codes) const final {
    encode_any(shape, x, words, codes);
  }
  void decode(const Groups& shape, const std::uint8_t* codes, const std::uint32_t* words,
              float* out) const final {
    decode_any(shape, codes, words, out);
  }
  void decode(const Groups& shape, const std::uint16_t* codes, const std::uint32_t* words,
              float* out) const final {
    decode_any(shape, codes, words, out);
  }

 protected:
  virtual std::size_t round_blocks(const Groups& shape, std::size_t g, const float* x,
                                   const std::uint32_t* words, float* out) const = 0;
  virtual std::size_t code_blocks(const Groups& shape, std::size_t g, const float* x,
                                  const std::uint32_t* words, std::uint8_t* codes) const = 0;
  virtual std::size_t code_blocks(const Groups& shape, std::size_t g, const float* x,
                                  const std::uint32_t* words, std::uint16_t* codes) const = 0;
  const SharedExponent& scale() const { return scale_; }
  const GroupKernel& plain() const { return *plain_; }

 private:
  static Groups one(const Groups& shape) { return {shape.size, 1, shape.stride}; }

  template <class Fast, class Plain>
  static void run(const Groups& shape, const Fast& fast, const Plain& plain) {
    for (std::size_t g = 0; g < shape.groups; ++g) {
      g = fast(g);
      if (g < shape.groups) plain(g);
    }
  }
  template <class Code>
  void encode_any(const Groups& shape, const float* x, const std::uint32_t* words, Code* codes) const {
    run(
        shape, [&](std::size_t g) { return code_blocks(shape, g, x, words, codes); },
        [&](std::size_t g) {
          plain_->encode(one(shape), x + g * shape.size, words + g * shape.stride, nullptr,
                         codes + g * shape.size);
        });
  }
  template <class Code>
  void decode_any(const Groups& shape, const Code* codes, const std::uint32_t* words, float* out) const {
    for (std::size_t g = 0; g < shape.groups; ++g) {
      const int e = scale_.exponent(words[g * shape.stride]);
      const std::size_t at = g * shape.size;
      if (!scale_.reaches(e)) {
        plain_->decode(one(shape), codes + at, words + g * shape.stride, out + at);
      } else {
        table_.run(codes + at, shape.size, formats::power_of_two(e), out + at);
      }
    }
  }

  SharedExponent scale_;
  DecodeTable table_;
  std::unique_ptr<const GroupKernel> plain_;
};

}  // namespace anybit::kernels
