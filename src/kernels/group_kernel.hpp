// A codec that works on many groups in one call. The plain one calls the scalar codec; the fast ones are its
// SIMD twins, bit for bit the same, and are used where they exist for the rounding asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "formats/codec.hpp"

namespace anybit::kernels {

// `groups` groups of `size` values each, one behind the other in memory; group g's words start at words +
// g·stride.
struct Groups {
  std::size_t size = 0;
  std::size_t groups = 0;
  std::size_t stride = 0;
  std::size_t count() const { return size * groups; }
};

// Where codes are: in bytes where they have up to 8 bits, or in 16-bit words.
template <class Byte, class Word>
struct CodePointer {
  Byte* bytes = nullptr;
  Word* words = nullptr;
  CodePointer(Byte* p) : bytes(p) {}
  CodePointer(Word* p) : words(p) {}
  CodePointer operator+(std::size_t n) const {
    return words ? CodePointer(words + n) : CodePointer(bytes + n);
  }
  // body(pointer), of whichever type it is
  template <class Body>
  decltype(auto) visit(const Body& body) const {
    return words ? body(words) : body(bytes);
  }
};
using CodesOut = CodePointer<std::uint8_t, std::uint16_t>;
using CodesIn = CodePointer<const std::uint8_t, const std::uint16_t>;

class GroupKernel {
 public:
  virtual ~GroupKernel() = default;
  // What groups share over the whole tensor, into a group's words; false: that is left to the codec.
  virtual bool choose_for_tensor(std::span<const float>, std::uint32_t*) const { return false; }
  virtual void choose(const Groups& shape, const float* values, std::uint32_t* words) const = 0;
  // `noise` has a number for each value, or is null: only stochastic rounding needs it.
  virtual void quantize(const Groups& shape, const float* values, const std::uint32_t* words,
                        const std::uint32_t* noise, float* out) const = 0;
  virtual void encode(const Groups& shape, const float* values, const std::uint32_t* words,
                      const std::uint32_t* noise, CodesOut codes) const = 0;
  virtual void decode(const Groups& shape, CodesIn codes, const std::uint32_t* words, float* out) const = 0;

  // A size that groups of this one are faster in, filled up with zeros behind their values: that changes
  // neither what they share nor what becomes of the values.
  virtual std::size_t filled_up(std::size_t size) const { return size; }

  // choose() and then the other: in one go where a kernel can do better.
  virtual void choose_and_quantize(const Groups& shape, const float* values, std::uint32_t* words,
                                   const std::uint32_t* noise, float* out) const {
    choose(shape, values, words);
    quantize(shape, values, words, noise, out);
  }
  virtual void choose_and_encode(const Groups& shape, const float* values, std::uint32_t* words,
                                 const std::uint32_t* noise, CodesOut codes) const {
    choose(shape, values, words);
    encode(shape, values, words, noise, codes);
  }
};

std::unique_ptr<const GroupKernel> plain_kernel(std::shared_ptr<const formats::Codec> codec,
                                                formats::Rounding rounding);
// The fast twin, or the plain one where there is none.
std::unique_ptr<const GroupKernel> kernel_for(std::shared_ptr<const formats::Codec> codec,
                                              formats::Rounding rounding);

}  // namespace anybit::kernels
