// Fixed point: clip(round(x · 2^frac)) / 2^frac.
#include "formats/fixed.hpp"

#include <cmath>

#include "base/error.hpp"
#include "portable/codes.hpp"
#include "portable/numbers.hpp"
#include "portable/table.hpp"

namespace anybit::portable {
namespace {

using formats::FixedCodec;
using formats::FixedLayout;

bool has_own_frac(const formats::Codec& codec) { return codec.words(1) == 0; }

Result<Term> quantize(const Setup& setup, const Groups&, const Term& x) {
  const auto& codec = dynamic_cast<const FixedCodec&>(setup.codec);
  const FixedLayout& layout = codec.layout();
  if (!has_own_frac(codec)) {
    return error_at(
        Code::unsupported, {},
        "fixed point with frac=auto, computed from the values, cannot be written in ONNX operators",
        "frac=half, or a number of fractional bits");
  }
  const double unit = std::ldexp(1, codec.frac({}));
  const Term steps = rounded(finite(x) * unit, setup.rounding);
  const auto lowest = static_cast<double>(layout.lowest()), highest = static_cast<double>(layout.highest());
  return without_negative_zero(clip(steps, lowest, highest)) / unit;
}

Term decode(const Setup& setup, const Groups& groups, const Term& codes, std::span<const Term> fields) {
  const auto& codec = dynamic_cast<const FixedCodec&>(setup.codec);
  const FixedLayout& layout = codec.layout();
  const Term number = integers(codes, layout.bits, layout.is_signed);
  if (has_own_frac(codec)) return number * codes.body().single(std::ldexp(1.0f, -codec.frac({})));
  std::vector<float> steps;
  for (int frac = layout.fewest_places(); frac <= layout.most_places(); ++frac)
    steps.push_back(std::ldexp(1.0f, -frac));
  const Term frac = to_double(groups.spread(fields[0]));
  return number * look_up(steps, to_index(frac - layout.fewest_places()));
}

}  // namespace

std::span<const Descriptor> fixed_descriptors() {
  static const Descriptor all[] = {{.family = "fixed", .quantize = quantize, .decode = decode}};
  return all;
}

}  // namespace anybit::portable
