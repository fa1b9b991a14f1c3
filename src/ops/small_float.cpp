// ONNX's 8- and 4-bit floats, by the codecs of src/formats.
#include <algorithm>
#include <array>

#include "formats/minifloat.hpp"
#include "kernels/codec/group_kernel.hpp"
#include "ops/convert.hpp"

namespace anybit::ops {
namespace {

using formats::Code16;
using formats::MinifloatLayout;
using enum ElementType;

const MinifloatLayout* layout_of(ElementType type) {
  switch (type) {
    case float8e4m3fn:
      return &formats::kE4m3;
    case float8e4m3fnuz:
      return &formats::kE4m3fnuz;
    case float8e5m2:
      return &formats::kE5m2;
    case float8e5m2fnuz:
      return &formats::kE5m2fnuz;
    case float4e2m1:
      return &formats::kE2m1;
    default:
      return nullptr;
  }
}

std::array<float, 256> values_of(ElementType type) {
  std::array<float, 256> values{};
  for (std::size_t code = 0; code < values.size(); ++code) {
    const auto word = static_cast<Code16>(code);
    values[code] = type == float8e8m0   ? formats::E8m0::decode(word)
                   : type == float4e2m1 ? formats::kE2m1.decode(word & 15)
                                        : layout_of(type)->decode(word);
  }
  return values;
}

template <ElementType kType>
const float* table() {
  static const std::array<float, 256> values = values_of(kType);
  return values.data();
}

template <ElementType kType>
const kernels::GroupKernel& kernel(bool saturate) {
  const auto made = [](bool saturates) {
    return kernels::kernel_for(std::make_shared<formats::MinifloatCodec>(*layout_of(kType), saturates),
                               formats::Rounding::half_even);
  };
  static const auto saturating = made(true), other = made(false);
  return saturate ? *saturating : *other;
}

const kernels::GroupKernel& kernel_of(ElementType type, bool saturate) {
  switch (type) {
    case float8e4m3fn:
      return kernel<float8e4m3fn>(saturate);
    case float8e4m3fnuz:
      return kernel<float8e4m3fnuz>(saturate);
    case float8e5m2:
      return kernel<float8e5m2>(saturate);
    case float8e5m2fnuz:
      return kernel<float8e5m2fnuz>(saturate);
    default:
      return kernel<float4e2m1>(saturate);
  }
}

const kernels::GroupKernel& encoder_of(ElementType type, const ConvertOptions& options) {
  return kernel_of(type, options.saturate || type == float4e2m1);
}

// The exponent field, plus one if the fraction rounds up. Zero becomes the smallest power; NaN, and infinity
// unless saturating, become NaN.
std::uint8_t e8m0_code(float x, const ConvertOptions& options) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t exponent = bits >> 23 & 255u, fraction = bits & 0x7FFFFFu;
  if (exponent == 255) {
    const bool infinite = fraction == 0;
    return infinite && options.saturate ? std::uint8_t{254} : std::uint8_t{255};
  }
  using Round = ConvertOptions::Round;
  const bool half = fraction > 0x400000u || (fraction == 0x400000u && exponent > 0);
  const bool up =
      options.e8m0_round == Round::up ? fraction > 0 : options.e8m0_round == Round::nearest && half;
  const std::uint32_t code = exponent + (up ? 1 : 0);
  return static_cast<std::uint8_t>(code == 255 && options.saturate ? 254 : code);
}

}  // namespace

const float* small_float_values(ElementType type) {
  switch (type) {
    case float8e4m3fn:
      return table<float8e4m3fn>();
    case float8e4m3fnuz:
      return table<float8e4m3fnuz>();
    case float8e5m2:
      return table<float8e5m2>();
    case float8e5m2fnuz:
      return table<float8e5m2fnuz>();
    case float4e2m1:
      return table<float4e2m1>();
    case float8e8m0:
      return table<float8e8m0>();
    default:
      return nullptr;
  }
}

void encode_small_floats(ElementType type, std::span<const float> values, std::uint8_t* codes,
                         const ConvertOptions& options) {
  if (type == float8e8m0) {
    std::ranges::transform(values, codes, [&](float x) { return e8m0_code(x, options); });
    return;
  }
  encoder_of(type, options).encode({values.size(), 1, 0}, values.data(), nullptr, nullptr, codes);
}

void round_small_floats(ElementType type, std::span<const float> values, float* out,
                        const ConvertOptions& options) {
  encoder_of(type, options).quantize({values.size(), 1, 0}, values.data(), nullptr, nullptr, out);
}

void decode_small_floats(ElementType type, std::span<const std::uint8_t> codes, float* values) {
  if (type == float8e8m0) {
    const float* known = table<float8e8m0>();
    std::ranges::transform(codes, values, [&](std::uint8_t code) { return known[code]; });
    return;
  }
  kernel_of(type, true).decode({codes.size(), 1, 0}, codes.data(), nullptr, values);
}

}  // namespace anybit::ops
