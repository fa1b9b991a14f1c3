// Ternary: -1, 0 and +1 by a threshold; times the mean magnitude above it if scaled.
#include "formats/ternary.hpp"

#include <limits>

#include "base/error.hpp"
#include "portable/codes.hpp"
#include "portable/means.hpp"
#include "portable/numbers.hpp"
#include "portable/table.hpp"

namespace anybit::portable {
namespace {

using formats::TernaryCodec;

Term threshold_of(const Setup& setup, const Groups& groups, const Term& x) {
  const Term factor = x.body().real(formats::real(setup.values, "threshold"));
  if (formats::word(setup.values, "basis") == "max") return factor * groups.largest(abs(only_finite(x)));
  const MagnitudeSum all = sum_magnitudes(groups, x);
  return factor * all.sum / max(all.count, 1);
}

Result<Term> quantize(const Setup& setup, const Groups& groups, const Term& x) {
  if (formats::word(setup.values, "basis") == "median") {
    return error_at(Code::unsupported, {}, "ternary with basis=median cannot be written in ONNX operators",
                    "basis=mean or basis=max");
  }
  const auto& codec = dynamic_cast<const TernaryCodec&>(setup.codec);
  // The format rounds the threshold down to float32; for float32 x the comparison gives the same result.
  const Term threshold = threshold_of(setup, groups, x);
  const Term scale =
      codec.scaled() ? mean_as_scale(sum_magnitudes_above(groups, x, threshold), 1) : x.body().real(1);
  const Term not_plus = where(less(x, -threshold), -scale, 0);
  return where(greater(x, threshold), scale, not_plus);
}

Term decode(const Setup& setup, const Groups& groups, const Term& codes, std::span<const Term> fields) {
  const std::uint32_t words[] = {0, formats::bits_of(1)};  // threshold and scale
  const Term elements = look_up(numbers_of(setup.codec, words), codes);
  return fields.empty() ? elements : elements * groups.spread(fields[0]);
}

}  // namespace

std::span<const Descriptor> ternary_descriptors() {
  static const Descriptor all[] = {{.family = "ternary",
                                    .quantize = quantize,
                                    .decode = decode,
                                    .padding = std::numeric_limits<double>::quiet_NaN()}};
  return all;
}

}  // namespace anybit::portable
