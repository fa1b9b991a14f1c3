// The scalar codec behind the interface of the fast ones: every format, every rounding.
#include <vector>

#include "kernels/group_kernel.hpp"

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
              const std::uint32_t* noise, std::uint8_t* codes) const override {
    std::vector<Code16> wide(shape.count());
    encode(shape, values, words, noise, wide.data());
    for (std::size_t i = 0; i < wide.size(); ++i) codes[i] = static_cast<std::uint8_t>(wide[i]);
  }

  void encode(const Groups& shape, const float* values, const std::uint32_t* words,
              const std::uint32_t* noise, Code16* codes) const override {
    for (std::size_t g = 0; g < shape.groups; ++g) {
      const std::size_t at = g * shape.size;
      codec_->encode({values + at, shape.size}, words_of(shape, words, g), draw(noise, at), codes + at);
    }
  }

  void decode(const Groups& shape, const std::uint8_t* codes, const std::uint32_t* words,
              float* out) const override {
    const std::vector<Code16> wide(codes, codes + shape.count());
    decode(shape, wide.data(), words, out);
  }

  void decode(const Groups& shape, const Code16* codes, const std::uint32_t* words,
              float* out) const override {
    for (std::size_t g = 0; g < shape.groups; ++g) {
      const std::size_t at = g * shape.size;
      codec_->decode({codes + at, shape.size}, words_of(shape, words, g), out + at);
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
