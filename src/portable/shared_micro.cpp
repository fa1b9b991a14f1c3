// Shared microexponents: multiples of 2^(E - d - bits), with E from the maximum of the block and d from that
// of each pair.
#include "formats/shared_micro.hpp"

#include <cmath>

#include "portable/codes.hpp"
#include "portable/fit.hpp"
#include "portable/numbers.hpp"
#include "portable/table.hpp"

namespace anybit::portable {
namespace {

using formats::SharedMicroCodec;

constexpr std::int64_t kPlace = 3;  // axis of [a, groups, b, size]

// Reshapes [a, groups, b, size] to [2, a, groups, b, pairs], padded if the size is odd, and back. The pair is
// the first axis because runtimes are slow with short last axes.
class Pairs {
 public:
  explicit Pairs(const Term& placed) : dims_(shape(placed)), size_(slice(dims_, kPlace, kPlace + 1)) {
    FunctionBody& body = placed.body();
    missing_ = body.op("Mod", {size_, body.integers({2})});
    count_ = (size_ + *missing_) / body.integers({2});
  }
  const Term& count() const { return *count_; }  // per group
  Term split(const Term& placed, const Term& padding) const {
    const Term even = pad(placed, kPlace, *missing_, padding);
    const Term pairs = reshape(even, concat({others(), *count_, even.body().integers({2})}));
    return transpose(pairs, {4, 0, 1, 2, 3});
  }
  Term join(const Term& halves) const {
    const Term pairs = transpose(halves, {1, 2, 3, 4, 0});
    const Term even = reshape(pairs, concat({others(), size_ + *missing_}));
    return slice(even, kPlace, even.body().integers({0}), size_);
  }
  Term others() const { return slice(dims_, 0, kPlace); }  // the dimensions a, groups, b

 private:
  Term dims_, size_;
  std::optional<Term> missing_, count_;
};

Result<Term> quantize(const Setup& setup, const Groups& groups, const Term& x) {
  const int bits = dynamic_cast<const SharedMicroCodec&>(setup.codec).magnitude_bits();
  const Term placed = groups.places(x);
  const Pairs pairs(placed);
  const Term paired = pairs.split(placed, x.body().real(0)), numbers = finite(paired);
  const Term magnitudes = abs(numbers);
  const auto half = [&](std::int64_t i) { return gather(magnitudes, x.body().integer(i)); };
  const Term largest_of_pair = max(half(0), half(1));
  // ReduceMax of an empty group is not 0.
  const Term largest = max(reduce("ReduceMax", largest_of_pair, {kPlace}), 0);
  const Term power = clip(fitting_power(largest, bits, SharedMicroCodec::kLowestExponent - 2),
                          std::ldexp(1, SharedMicroCodec::kLowestExponent),
                          std::ldexp(1, SharedMicroCodec::kHighestExponent));
  const Term finer = less(fitting_power(largest_of_pair, bits, -149), power);
  const Term own = where(finer, power * 0.5, power);
  const Term result = limited(to_fraction(numbers, bits, own, setup.rounding));
  return groups.from_places(pairs.join(with_sign_of(paired, result)));
}

// 1 or ½ per pair, from bits packed into bytes along the last axis: [a, groups, b, pairs].
Term factors_of(const Term& field, const Pairs& pairs) {
  FunctionBody& body = field.body();
  const Term bits = unpack(field, 1, slice(shape(field), -1, FunctionBody::kEnd) * body.integers({8}));
  // Drops the padding bits of each row.
  const Term factors = look_up(std::vector<float>{1, 0.5f}, bits);
  const Term rows = slice(factors, 1, body.integers({0}), pairs.count());
  return reshape(rows, concat({pairs.others(), pairs.count()}));
}

Term decode(const Setup& setup, const Groups& groups, const Term& codes, std::span<const Term> fields) {
  const int bits = dynamic_cast<const SharedMicroCodec&>(setup.codec).magnitude_bits();
  const Term placed = groups.places(signed_magnitudes(codes, 1 + bits));
  const Pairs pairs(placed);
  std::vector<float> steps;
  for (int e = SharedMicroCodec::kLowestExponent; e <= SharedMicroCodec::kHighestExponent; ++e)
    steps.push_back(formats::power_of_two(e - bits));
  // An empty tensor has no exponents.
  const Term any = min(pairs.count(), codes.body().integers({1}));
  const Term exponents = reshape(fields[0], concat({pairs.others(), any}));
  const Term step = look_up(steps, to_index(exponents)) * factors_of(fields[1], pairs);
  return groups.from_places(pairs.join(pairs.split(placed, codes.body().single(0)) * step));
}

}  // namespace

std::span<const Descriptor> shared_micro_descriptors() {
  static const Descriptor all[] = {{.family = "shared_micro", .quantize = quantize, .decode = decode}};
  return all;
}

}  // namespace anybit::portable
