#include "portable/codes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "formats/float_bits.hpp"

namespace anybit::portable {
namespace {

// `word` of codes that lie in one byte or more: bytes at these places of a period, the first lowest.
Value words_of(const Value& periods, const std::vector<std::int64_t>& first, int bytes, std::int64_t most) {
  Body& body = periods.body();
  const auto byte = [&](int i) {
    std::vector<std::int64_t> places;
    for (const std::int64_t one : first) places.push_back(std::min(one + i, most));
    return gather(periods, body.integers(places), -1);
  };
  Value word = byte(0);
  for (int i = 1; i < bytes; ++i) {
    const auto weight = std::uint32_t{1} << (8 * i);
    word = word + byte(i) * body.unsigned_integers({weight});
  }
  return word;
}

}  // namespace

// A period is the fewest bytes that whole codes fill. Each of its codes is cut out of the bytes it lies in;
// what a code that ends earlier drags along is above its bits, and masked away.
Value unpack(const Value& packed, int bits, const Value& length) {
  Body& body = packed.body();
  const Value one = body.integers({1});
  const Value row_bytes = (length * body.integers({bits}) + body.integers({7})) / body.integers({8});
  // Without rows or bytes there is nothing to infer a dimension from.
  const Value rows = product(shape(packed)) / max(row_bytes, one);
  Value bytes = reshape(packed, concat({rows, row_bytes}));
  if (bits == 8) return to_index(bytes);
  const int period = std::lcm(bits, 8) / 8, codes = period * 8 / bits;
  if (period > 1) {
    const Value missing = body.op("Mod", {-row_bytes, body.integers({period})});
    bytes = pad(bytes, 1, missing, cast(body.integer(0), ElementType::uint8));
  }
  const Value periods = (row_bytes + body.integers({period - 1})) / body.integers({period});
  std::vector<std::int64_t> first;
  std::vector<std::uint32_t> shifts;
  int most_bytes = 1;
  for (int i = 0; i < codes; ++i) {
    first.push_back(i * bits / 8);
    shifts.push_back(static_cast<std::uint32_t>(i * bits % 8));
    most_bytes = std::max(most_bytes, (i * bits % 8 + bits + 7) / 8);
  }
  const Value cut =
      reshape(cast(bytes, ElementType::uint32), concat({rows, periods, body.integers({period})}));
  const Value word = words_of(cut, first, most_bytes, period - 1);
  const Value shifted =
      body.op("BitShift", {word, body.unsigned_integers(shifts)}, {attribute("direction", "RIGHT")});
  const Value masked = body.op("BitwiseAnd", {shifted, body.unsigned_integers({(1u << bits) - 1})});
  const Value joined = reshape(to_index(masked), concat({rows, periods * body.integers({codes})}));
  return slice(joined, 1, body.integers({0}), length);
}

Value look_up(const std::vector<double>& table, const Value& codes) {
  return gather(codes.body().reals(table), codes);
}

Value look_up(const formats::Codec& codec, formats::ConstWords words, const Value& codes) {
  std::vector<formats::Code16> all(std::size_t{1} << codec.bits());
  std::iota(all.begin(), all.end(), formats::Code16{0});
  std::vector<float> numbers(all.size());
  codec.decode(all, words, numbers.data());
  return look_up(std::vector<double>(numbers.begin(), numbers.end()), codes);
}

Value integers(const Value& codes, int bits, bool is_signed) {
  const Value number = to_double(codes);
  if (!is_signed) return number;
  return where(at_least(number, std::ldexp(1, bits - 1)), number - std::ldexp(1, bits), number);
}

SignMagnitude sign_magnitude(const Value& codes, int bits) {
  const Value number = to_double(codes);
  const double sign_bit = std::ldexp(1, bits - 1);
  const Value negative = at_least(number, sign_bit);
  return {where(negative, -1, number.body().real(1)), where(negative, number - sign_bit, number)};
}

Value signs(const Value& codes, int bits) { return sign_magnitude(codes, bits).sign; }

Value minifloats(const Value& codes, const formats::MinifloatLayout& layout) {
  const auto [sign, magnitude] = sign_magnitude(codes, layout.bits());
  std::vector<double> steps, hidden;
  for (int field = 0; field < 1 << layout.exponent_bits; ++field) {
    steps.push_back(std::ldexp(1, std::max(field, 1) - layout.bias - layout.mantissa_bits));
    hidden.push_back(field == 0 ? 0 : std::ldexp(1, layout.mantissa_bits));
  }
  const double unit = std::ldexp(1, layout.mantissa_bits);
  const Value field = floor(magnitude / unit), index = to_index(field);
  const Value mantissa = magnitude - field * unit;
  Value number = (mantissa + look_up(hidden, index)) * look_up(steps, index);
  const double largest = layout.largest_code();
  if (layout.flavour == formats::Flavour::inf)
    number = where(equal(magnitude, largest + 1), formats::kInfinity, number);
  if (layout.flavour == formats::Flavour::inf)
    number = where(greater(magnitude, largest + 1), formats::kNan, number);
  if (layout.flavour == formats::Flavour::fn)
    number = where(greater(magnitude, largest), formats::kNan, number);
  // The code of -0 is NaN.
  if (layout.flavour == formats::Flavour::fnuz)
    number = where(equal(codes, to_index(codes.body().integer(layout.sign_bit()))), formats::kNan, number);
  return number * sign;
}

}  // namespace anybit::portable
