#include "kernels/codec/minifloat_element.hpp"

#include "formats/float_bits.hpp"

namespace anybit::kernels {

using formats::Flavour;

std::optional<MinifloatConstants> constants_of(const formats::MinifloatLayout& layout, bool saturate) {
  const int lowest = layout.lowest_exponent(), magic = lowest + 23 - layout.mantissa_bits;
  if (layout.mantissa_bits < 1 || lowest < -126 || lowest > 127 || magic > 127) return std::nullopt;
  const auto bits = [](float x) { return static_cast<std::int32_t>(formats::bits_of(x)); };
  MinifloatConstants c;
  c.flavour = layout.flavour;
  c.step = static_cast<float>(layout.smallest());
  c.shift = 23 - layout.mantissa_bits;
  c.round_up = (1 << (c.shift - 1)) - 1;
  c.lowest_normal = bits(formats::power_of_two(lowest));
  c.subnormal_magic = formats::power_of_two(magic);
  c.largest_bits = bits(static_cast<float>(layout.largest()));
  c.overflow_bits = bits(layout.decode(layout.overflow_code(saturate)));
  c.nan_bits = bits(layout.decode(layout.nan_code()));
  c.code_offset = (127 - layout.bias) * (1 << layout.mantissa_bits);
  c.largest_code = layout.largest_code();
  c.overflow_code = layout.overflow_code(saturate);
  c.nan_code = layout.nan_code();
  c.sign_code = layout.sign_bit();
  c.sign_shift = 32 - layout.bits();
  c.signed_zero = layout.flavour != Flavour::fnuz;
  c.signed_nan = layout.flavour == Flavour::inf;
  return c;
}

}  // namespace anybit::kernels
