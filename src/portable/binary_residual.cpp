// Residual binary: the nearest sum of ±γ, by binary search in the thresholds between the sums.
#include "formats/binary_residual.hpp"

#include <cmath>

#include "base/error.hpp"
#include "formats/float_bits.hpp"
#include "portable/codes.hpp"
#include "portable/numbers.hpp"
#include "portable/table.hpp"

namespace anybit::portable {
namespace {

using formats::ResidualCodec;

Result<Term> quantize(const Setup& setup, const Groups&, const Term& x) {
  const auto& codec = dynamic_cast<const ResidualCodec&>(setup.codec);
  if (formats::word(setup.values, "gammas") == "auto") {
    return error_at(
        Code::unsupported, {},
        "binary_residual with gammas computed from the values cannot be written in ONNX operators",
        "fixed gammas, such as gammas=0.5,0.25");
  }
  const auto levels = static_cast<std::size_t>(codec.levels());
  std::vector<std::uint32_t> words(levels);
  codec.choose({}, words);
  const formats::ResidualSums sums = codec.sums(words);
  // Sums may coincide: the tables are padded with their last value.
  std::vector<double> values(sums.values.begin(), sums.values.end());
  std::vector<double> thresholds(sums.thresholds.begin(), sums.thresholds.end());
  values.resize(std::size_t{1} << levels, values.back());
  thresholds.resize(values.size() - 1, formats::kInfinity);
  const Term numbers = codec.clip() ? clip(finite(x), -1, 1) : finite(x);
  // Number of thresholds that are at most x.
  Term index = x.body().real(0);
  for (std::size_t bit = levels; bit-- > 0;) {
    const double half = std::ldexp(1, static_cast<int>(bit));
    const Term threshold = look_up(thresholds, to_index(index + (half - 1)));
    index = where(at_least(numbers, threshold), index + half, index);
  }
  return look_up(values, to_index(index));
}

// Adds in the order of the gammas, as the format defines.
Term decode(const Setup& setup, const Groups& groups, const Term& codes, std::span<const Term> fields) {
  const auto levels = static_cast<std::size_t>(dynamic_cast<const ResidualCodec&>(setup.codec).levels());
  Term sum = codes.body().real(0);
  for (std::size_t level = 0; level < levels; ++level) {
    std::vector<double> signs;
    for (std::size_t code = 0; code < std::size_t{1} << levels; ++code)
      signs.push_back((code >> (levels - 1 - level) & 1) != 0 ? 1 : -1);
    const Term index = codes.body().integer(static_cast<std::int64_t>(level));
    const Term gamma = levels == 1 ? fields[0] : gather(fields[0], index, -1);
    const Term term = look_up(signs, codes) * to_double(groups.spread(gamma));
    sum = level == 0 ? term : sum + term;
  }
  return to_single(limited(sum));
}

}  // namespace

std::span<const Descriptor> binary_residual_descriptors() {
  static const Descriptor all[] = {{.family = "binary_residual", .quantize = quantize, .decode = decode}};
  return all;
}

}  // namespace anybit::portable
