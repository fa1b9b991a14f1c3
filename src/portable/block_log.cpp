// Block logarithmic: powers of two, one per code, downwards from the one nearest to the maximum of the block.
#include "formats/block_log.hpp"

#include <cmath>

#include "formats/mase_blocks.hpp"
#include "portable/codes.hpp"
#include "portable/mase.hpp"
#include "portable/numbers.hpp"
#include "portable/table.hpp"

namespace anybit::portable {
namespace {

using formats::BlockLogCodec;

using formats::MaseBlockLogCodec;

// The largest magnitude of each block; a block of zeros takes the smallest one of the others, or 1.
Term maxima(const Groups& groups, const Term& a) {
  const Term largest = groups.largest(a);
  const Term present = where(equal(largest, 0), formats::kInfinity, largest);
  const Term least = reduce("ReduceMin", present, {});
  const Term stand_in = where(is_infinite(least), 1, least);
  return where(equal(largest, 0), stand_in, largest);
}

Term quantize_as_mase(const MaseBlockLogCodec& codec, const Groups& groups, const Term& x) {
  const int most = codec.highest_code();
  const Term numbers = finite(x), a = abs(numbers);
  // 2^highest exponent of the block, from 2^(most - highest bias) to 2^most.
  const Term top = mase::ceil_power(maxima(groups, a), {most - codec.highest_bias(), most});
  const Term bottom = top * std::ldexp(1, -most);
  const Term offset = to_double(to_single(bottom) * x.body().single(0.1f));
  const Term nearest = mase::nearest_power(mase::sum(a, offset), {-300, 128});
  const Term magnitude = limited(min(max(nearest, bottom), top));
  return x.body().op("Sign", {mase::sum(numbers, offset)}) * magnitude;
}

Result<Term> quantize(const Setup& setup, const Groups& groups, const Term& x) {
  if (const auto* mase = dynamic_cast<const MaseBlockLogCodec*>(&setup.codec))
    return quantize_as_mase(*mase, groups, x);
  const auto& codec = dynamic_cast<const BlockLogCodec&>(setup.codec);
  const int highest = codec.highest_code();
  const Term numbers = finite(x), a = abs(numbers);
  // 2^(highest - bias), the value of the highest code; float32 has no 2^128.
  const Term nearest = min(nearest_power(groups.largest(a), -149), std::ldexp(1, 127));
  const Term top = clip(nearest, std::ldexp(1, highest - codec.highest_bias()),
                        std::ldexp(1, highest - codec.lowest_bias()));
  const Term bottom = top * std::ldexp(1, -highest);
  const Term least = codec.with_zero() ? bottom * 2 : bottom;
  const Term magnitude = limited(min(max(nearest_power(a, -149), least), top));
  if (!codec.with_zero()) return where(less(numbers, 0), -magnitude, magnitude);
  return with_sign_of(x, where(less(a, bottom), 0, magnitude));
}

Term decode(const Setup& setup, const Groups& groups, const Term& codes, std::span<const Term> fields) {
  const auto* mase = dynamic_cast<const MaseBlockLogCodec*>(&setup.codec);
  const auto& codec = dynamic_cast<const BlockLogCodec&>(mase ? mase->base() : setup.codec);
  constexpr std::uint32_t kNoBias = 0;
  std::vector<float> elements = numbers_of(codec, {&kNoBias, 1});
  const std::vector<double> powers = mase ? powers_of_biases(0, mase->highest_bias())
                                          : powers_of_biases(codec.lowest_bias(), codec.highest_bias());
  const Term power = look_up(powers, to_index(groups.spread(fields[0])));
  const Term magnitude = limited(abs(to_double(look_up(elements, codes))) * power);
  return to_single(magnitude * sign_magnitude(codes, codec.bits()).sign);
}

}  // namespace

std::span<const Descriptor> block_log_descriptors() {
  static const Descriptor all[] = {{.family = "block_log", .quantize = quantize, .decode = decode}};
  return all;
}

}  // namespace anybit::portable
