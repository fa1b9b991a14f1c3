// Binary: ±1 by sign, or 1 and 0; times the mean magnitude if scaled.
#include "formats/binary.hpp"

#include <limits>

#include "portable/codes.hpp"
#include "portable/means.hpp"
#include "portable/numbers.hpp"
#include "portable/table.hpp"

namespace anybit::portable {
namespace {

using formats::BinaryCodec;

Result<Term> quantize(const Setup& setup, const Groups& groups, const Term& x) {
  const auto& codec = dynamic_cast<const BinaryCodec&>(setup.codec);
  const Term scale = codec.scaled() ? mean_as_scale(sum_magnitudes(groups, x), 0) : x.body().real(1);
  // Comparisons with NaN are false, so NaN counts as positive.
  if (codec.bipolar()) return where(less(x, 0), -scale, scale);
  return where(x.body().op("LessOrEqual", {x, x.body().real(0)}), 0, scale);
}

Term decode(const Setup& setup, const Groups& groups, const Term& codes, std::span<const Term> fields) {
  const std::uint32_t scale_of_one = formats::bits_of(1);
  const Term elements = look_up(numbers_of(setup.codec, {&scale_of_one, 1}), codes);
  return fields.empty() ? elements : elements * groups.spread(fields[0]);
}

}  // namespace

std::span<const Descriptor> binary_descriptors() {
  static const Descriptor all[] = {{.family = "binary",
                                    .quantize = quantize,
                                    .decode = decode,
                                    .padding = std::numeric_limits<double>::quiet_NaN()}};
  return all;
}

}  // namespace anybit::portable
