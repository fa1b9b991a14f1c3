// Groups of a scale and values of another format: that format's kernel on values divided by the scale.
#include "formats/scaled.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "formats/float_bits.hpp"
#include "kernels/table.hpp"

namespace anybit::kernels {
namespace {

class ScaledKernel final : public GroupKernel {
 public:
  explicit ScaledKernel(std::shared_ptr<const formats::ScaledCodec> codec)
      : codec_(std::move(codec)), element_(kernel_for(codec_->element(), formats::Rounding::half_even)) {}

  void choose(const Groups& shape, const float* values, std::uint32_t* words) const override {
    for (std::size_t g = 0; g < shape.groups; ++g) {
      float largest = 0;
      for (const float x : std::span(values + g * shape.size, shape.size)) {
        const float magnitude = std::fabs(x);
        largest = magnitude > largest && formats::is_finite(magnitude) ? magnitude : largest;
      }
      words[g * shape.stride] = codec_->chosen(largest);
    }
  }

  void quantize(const Groups& shape, const float* values, const std::uint32_t* words, const std::uint32_t*,
                float* out) const override {
    in_tiles(shape, words, [&](std::size_t at, std::size_t n, float scale) {
      std::array<float, kTile> quotients;
      divide(values + at, n, scale, quotients.data());
      element_->quantize({n, 1, 0}, quotients.data(), nullptr, nullptr, out + at);
      for (std::size_t i = 0; i < n; ++i) out[at + i] *= scale;
    });
  }

  void encode(const Groups& shape, const float* values, const std::uint32_t* words, const std::uint32_t*,
              CodesOut codes) const override {
    in_tiles(shape, words, [&](std::size_t at, std::size_t n, float scale) {
      std::array<float, kTile> quotients;
      divide(values + at, n, scale, quotients.data());
      element_->encode({n, 1, 0}, quotients.data(), nullptr, nullptr, codes + at);
    });
  }

  void decode(const Groups& shape, CodesIn codes, const std::uint32_t* words, float* out) const override {
    in_tiles(shape, words, [&](std::size_t at, std::size_t n, float scale) {
      element_->decode({n, 1, 0}, codes + at, nullptr, out + at);
      for (std::size_t i = 0; i < n; ++i) out[at + i] *= scale;
    });
  }

 private:
  static constexpr std::size_t kTile = 1024;

  static void divide(const float* values, std::size_t n, float scale, float* quotients) {
    for (std::size_t i = 0; i < n; ++i) quotients[i] = values[i] / scale;
  }

  // visit(first value, count, their scale)
  template <class Visit>
  static void in_tiles(const Groups& shape, const std::uint32_t* words, const Visit& visit) {
    for (std::size_t g = 0; g < shape.groups; ++g) {
      const float scale = formats::float_of(words[g * shape.stride]);
      for (std::size_t i = 0; i < shape.size; i += kTile)
        visit(g * shape.size + i, std::min(kTile, shape.size - i), scale);
    }
  }

  std::shared_ptr<const formats::ScaledCodec> codec_;
  std::unique_ptr<const GroupKernel> element_;
};

std::unique_ptr<const GroupKernel> make(const std::shared_ptr<const formats::Codec>& codec) {
  auto scaled = std::dynamic_pointer_cast<const formats::ScaledCodec>(codec);
  return scaled ? std::make_unique<const ScaledKernel>(std::move(scaled)) : nullptr;
}

}  // namespace

std::span<const Descriptor> scaled_descriptors() {
  static const Descriptor all[] = {{.name = "scaled", .kernel = GroupCodec{make}}};
  return all;
}

}  // namespace anybit::kernels
