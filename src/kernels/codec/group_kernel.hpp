// A codec that works on many groups per call. The plain kernel calls the scalar codec; the fast kernels are
// its SIMD twins, bit-identical, and are used where they exist for the requested rounding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "formats/codec.hpp"

namespace anybit::kernels {

// `groups` groups of `size` values each, consecutive in memory; the words of group g start at words +
// g·stride.
struct Groups {
  std::size_t size = 0;
  std::size_t groups = 0;
  std::size_t stride = 0;
  std::size_t count() const { return size * groups; }
};

// A pointer to codes: bytes for up to 8 bits, otherwise 16-bit words.
template <class Byte, class Word>
struct CodePointer {
  Byte* bytes = nullptr;
  Word* words = nullptr;
  CodePointer(Byte* p) : bytes(p) {}
  CodePointer(Word* p) : words(p) {}
  CodePointer operator+(std::size_t n) const {
    return words ? CodePointer(words + n) : CodePointer(bytes + n);
  }
  // Calls body(pointer) with the pointer that is set.
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
  // Chooses the parameters shared by the whole tensor, into one group's words. False: the codec has to do it.
  virtual bool choose_for_tensor(std::span<const float>, std::uint32_t*) const { return false; }
  virtual void choose(const Groups& shape, const float* values, std::uint32_t* words) const = 0;
  // `noise`: one number per value for stochastic rounding, otherwise null.
  virtual void quantize(const Groups& shape, const float* values, const std::uint32_t* words,
                        const std::uint32_t* noise, float* out) const = 0;
  virtual void encode(const Groups& shape, const float* values, const std::uint32_t* words,
                      const std::uint32_t* noise, CodesOut codes) const = 0;
  virtual void decode(const Groups& shape, CodesIn codes, const std::uint32_t* words, float* out) const = 0;

  // A group size that runs faster, reached by padding with zeros after the values. The padding changes
  // neither the parameters nor the results.
  virtual std::size_t filled_up(std::size_t size) const { return size; }

  // choose() and quantize() or encode(), in one pass where a kernel can.
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
// The fast kernel, or the plain one where there is none.
std::unique_ptr<const GroupKernel> kernel_for(std::shared_ptr<const formats::Codec> codec,
                                              formats::Rounding rounding);

}  // namespace anybit::kernels
