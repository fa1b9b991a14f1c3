// Shared microexponents: multiples of 2^(E - d - bits), E from the block's maximum, d from that of each pair.
#include "formats/shared_micro.hpp"

#include <cmath>

#include "portable/codes.hpp"
#include "portable/fit.hpp"
#include "portable/numbers.hpp"
#include "portable/table.hpp"

namespace anybit::portable {
namespace {

using formats::SharedMicroCodec;

constexpr std::int64_t kPlace = 2, kInPair = 3;  // axes of places, and of pairs

// [a, groups, size, b] as [a, groups, pairs, 2, b], with one place more where the size is odd; and back.
class Pairs {
 public:
  explicit Pairs(const Value& placed) : dims_(shape(placed)), size_(slice(dims_, kPlace, kPlace + 1)) {
    Body& body = placed.body();
    missing_ = body.op("Mod", {size_, body.integers({2})});
    count_ = (size_ + *missing_) / body.integers({2});
  }
  const Value& count() const { return *count_; }  // in a group
  Value split(const Value& placed, const Value& padding) const {
    const Value even = pad(placed, kPlace, *missing_, padding);
    return reshape(even, concat({first(), *count_, even.body().integers({2}), last()}));
  }
  Value join(const Value& pairs) const {
    const Value even = reshape(pairs, concat({first(), size_ + *missing_, last()}));
    return slice(even, kPlace, even.body().integers({0}), size_);
  }
  // The first and the last dimensions.
  Value first() const { return slice(dims_, 0, kPlace); }
  Value last() const { return slice(dims_, kPlace + 1, kEnd); }

 private:
  Value dims_, size_;
  std::optional<Value> missing_, count_;
};

Result<Value> quantize(const Setup& setup, const Groups& groups, const Value& x) {
  const int bits = dynamic_cast<const SharedMicroCodec&>(setup.codec).magnitude_bits();
  const Value placed = groups.places(x);
  const Pairs pairs(placed);
  const Value paired = pairs.split(placed, x.body().real(0)), numbers = finite(paired);
  // A maximum of two is quicker than a reduction. All axes stay, so that one goes with the other.
  const Value magnitudes = abs(numbers);
  const auto of_pair = [&](std::int64_t i) { return gather(magnitudes, x.body().integers({i}), kInPair); };
  const Value largest_of_pair = max(of_pair(0), of_pair(1));
  // A group without values has no maximum.
  const Value largest = max(reduce("ReduceMax", largest_of_pair, {kPlace}), 0);
  const Value power = clip(fitting_power(largest, bits, SharedMicroCodec::kLowestExponent - 2),
                           std::ldexp(1, SharedMicroCodec::kLowestExponent),
                           std::ldexp(1, SharedMicroCodec::kHighestExponent));
  const Value finer = less(fitting_power(largest_of_pair, bits, -149), power);
  const Value own = where(finer, power * 0.5, power);
  const Value result = limited(to_fraction(numbers, bits, own, setup.rounding));
  return groups.from_places(pairs.join(with_sign_of(paired, result)));
}

// 1 or ½ for each pair, by bits that are packed into bytes on the last axis: [a, groups, pairs, 1, b] of
// them.
Value factors_of(const Value& field, const Pairs& pairs) {
  Body& body = field.body();
  const Value bits = unpack(field, 1, slice(shape(field), -1, kEnd) * body.integers({8}));
  // Rows are [a, groups, b] of them; of each only the first bits are pairs.
  const Value factors = look_up(std::vector<float>{1, 0.5f}, bits);
  const Value rows = slice(factors, 1, body.integers({0}), pairs.count());
  const Value axis_last = reshape(rows, concat({pairs.first(), pairs.last(), pairs.count()}));
  return body.op("Unsqueeze", {transpose(axis_last, {0, 1, 3, 2}), body.integers({kInPair})});
}

Value decode(const Setup& setup, const Groups& groups, const Value& codes, std::span<const Value> fields) {
  const int bits = dynamic_cast<const SharedMicroCodec&>(setup.codec).magnitude_bits();
  const Value placed = groups.places(codes);
  const Pairs pairs(placed);
  const Value paired = pairs.split(placed, to_index(codes.body().integer(0)));
  std::vector<float> steps;
  for (int e = SharedMicroCodec::kLowestExponent; e <= SharedMicroCodec::kHighestExponent; ++e)
    steps.push_back(formats::power_of_two(e - bits));
  const Value one = codes.body().integers({1});
  const Value any = min(pairs.count(), one);  // a tensor without values has no exponents either
  const Value exponents = reshape(fields[0], concat({pairs.first(), any, one, pairs.last()}));
  const Value step = look_up(steps, to_index(exponents)) * factors_of(fields[1], pairs);
  return groups.from_places(pairs.join(signed_magnitudes(paired, 1 + bits) * step));
}

}  // namespace

std::span<const Descriptor> shared_micro_descriptors() {
  static const Descriptor all[] = {{.family = "shared_micro", .quantize = quantize, .decode = decode}};
  return all;
}

}  // namespace anybit::portable
