// The scalar codec behind the interface of the fast kernels: every format, every rounding.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "kernels/codec/group_kernel.hpp"

namespace anybit::kernels {
namespace {

using formats::Code16;

class PlainKernel final : public GroupKernel {
 public:
  PlainKernel(std::shared_ptr<const formats::Codec> codec, formats::Rounding rounding)
      : codec_(std::move(codec)), rounding_(rounding) {}

  void choose(const Groups& shape, const float* values, std::uint32_t* words) const override {
    for (std::size_t g = 0; g < shape.groups; ++g) {
      codec_->choose({values + g * shape.size, shape.size}, words_of(shape, words, g));
    }
  }

  void quantize(const Groups& shape, const float* values, const std::uint32_t* words,
                const std::uint32_t* noise, float* out) const override {
    for (std::size_t g = 0; g < shape.groups; ++g) {
      const std::size_t at = g * shape.size;
      codec_->quantize({values + at, shape.size}, words_of(shape, words, g), draw(noise, at), out + at);
    }
  }

  void encode(const Groups& shape, const float* values, const std::uint32_t* words,
              const std::uint32_t* noise, CodesOut codes) const override {
    std::vector<Code16> wide(shape.size);
    for (std::size_t g = 0; g < shape.groups; ++g) {
      const std::size_t at = g * shape.size;
      codec_->encode({values + at, shape.size}, words_of(shape, words, g), draw(noise, at), wide.data());
      (codes + at).visit([&](auto* to) {
        for (std::size_t i = 0; i < shape.size; ++i)
          to[i] = static_cast<std::remove_pointer_t<decltype(to)>>(wide[i]);
      });
    }
  }

  void decode(const Groups& shape, CodesIn codes, const std::uint32_t* words, float* out) const override {
    std::vector<Code16> wide(shape.size);
    for (std::size_t g = 0; g < shape.groups; ++g) {
      const std::size_t at = g * shape.size;
      (codes + at).visit([&](const auto* from) { std::copy(from, from + shape.size, wide.begin()); });
      codec_->decode(wide, words_of(shape, words, g), out + at);
    }
  }

 private:
  template <class Word>
  static std::span<Word> words_of(const Groups& shape, Word* words, std::size_t group) {
    return {words + group * shape.stride, shape.stride};
  }
  formats::Draw draw(const std::uint32_t* noise, std::size_t at) const {
    return {rounding_, noise ? noise + at : nullptr};
  }

  std::shared_ptr<const formats::Codec> codec_;
  formats::Rounding rounding_;
};

}  // namespace

std::unique_ptr<const GroupKernel> plain_kernel(std::shared_ptr<const formats::Codec> codec,
                                                formats::Rounding rounding) {
  return std::make_unique<const PlainKernel>(std::move(codec), rounding);
}

}  // namespace anybit::kernels
