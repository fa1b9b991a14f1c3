#include "portable/codes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "formats/float_bits.hpp"
#include "graph/node.hpp"

namespace anybit::portable {
namespace {

// `word` of codes that lie in one byte or more: bytes at these places of a period, the first lowest.
Term words_of(const Term& periods, const std::vector<std::int64_t>& first, int bytes, std::int64_t most) {
  FunctionBody& body = periods.body();
  const auto byte = [&](int i) {
    std::vector<std::int64_t> places;
    for (const std::int64_t one : first) places.push_back(std::min(one + i, most));
    return gather(periods, body.integers(places), -1);
  };
  Term word = byte(0);
  for (int i = 1; i < bytes; ++i) {
    const auto weight = std::uint32_t{1} << (8 * i);
    word = word + byte(i) * body.unsigned_integers({weight});
  }
  return word;
}

// Codes that never lie across two bytes: [rows, bytes, codes in a byte] of them.
Term cut_bytes(const Term& bytes, int bits) {
  FunctionBody& body = bytes.body();
  std::vector<std::uint8_t> shifts;
  for (int shift = 0; shift < 8; shift += bits) shifts.push_back(static_cast<std::uint8_t>(shift));
  const Term each = body.op("Unsqueeze", {bytes, body.integers({2})});
  const Term shifted =
      body.op("BitShift", {each, body.bytes(shifts)}, {graph::attribute("direction", std::string("RIGHT"))});
  return body.op("BitwiseAnd", {shifted, body.bytes({static_cast<std::uint8_t>((1 << bits) - 1)})});
}

// Others: [rows, periods, codes in a period]. A period is the fewest bytes that whole codes fill. Each code
// is cut out of the bytes it lies in; what one that ends earlier drags along is above its bits, and masked
// away.
Term cut_periods(const Term& bytes, int bits, const Term& rows, const Term& row_bytes) {
  FunctionBody& body = bytes.body();
  const int period = std::lcm(bits, 8) / 8;
  const Term missing = body.op("Mod", {-row_bytes, body.integers({period})});
  const Term whole = pad(bytes, 1, missing, cast(body.integer(0), ElementType::uint8));
  const Term periods = (row_bytes + missing) / body.integers({period});
  std::vector<std::int64_t> first;
  std::vector<std::uint32_t> shifts;
  int most_bytes = 1;
  for (int begin = 0; begin < period * 8; begin += bits) {
    first.push_back(begin / 8);
    shifts.push_back(static_cast<std::uint32_t>(begin % 8));
    most_bytes = std::max(most_bytes, (begin % 8 + bits + 7) / 8);
  }
  const Term cut =
      reshape(cast(whole, ElementType::uint32), concat({rows, periods, body.integers({period})}));
  const Term word = words_of(cut, first, most_bytes, period - 1);
  const Term shifted = body.op("BitShift", {word, body.unsigned_integers(shifts)},
                               {graph::attribute("direction", std::string("RIGHT"))});
  return body.op("BitwiseAnd", {shifted, body.unsigned_integers({(1u << bits) - 1})});
}

// Five digits of base 3 in a byte, the first one lowest: [rows, bytes, 5] codes. A byte above 242, which
// packing never makes, stands for zeros.
Term cut_fives(const Term& bytes) {
  FunctionBody& body = bytes.body();
  const Term number = to_double(body.op("Unsqueeze", {bytes, body.integers({2})}));
  const Term valid = where(greater(number, 242), 0, number);
  const Term shifted = floor(valid / body.reals({1, 3, 9, 27, 81}));
  const Term digit = shifted - floor(shifted / 3) * 3;
  return gather(body.integers({0, 1, 3}), to_index(digit));
}

// Packed rows with their bytes in a row each.
struct Rows {
  Rows(const Term& packed, const Term& bytes_in_row)
      : bytes_in_row(bytes_in_row),
        // Without rows or bytes there is nothing to infer a dimension from.
        count(product(shape(packed)) / max(bytes_in_row, packed.body().integers({1}))),
        bytes(reshape(packed, concat({count, bytes_in_row}))) {}

  // [rows, length] of [rows, …] codes.
  Term first(const Term& codes, const Term& length) const {
    const Term per_row = product(slice(shape(codes), 1, FunctionBody::kEnd));
    const Term flat = reshape(codes, concat({count, per_row}));
    return to_index(slice(flat, 1, flat.body().integers({0}), length));
  }

  Term bytes_in_row, count, bytes;
};

}  // namespace

Term unpack(const Term& packed, int bits, const Term& length) {
  FunctionBody& body = packed.body();
  const Rows rows(packed, (length * body.integers({bits}) + body.integers({7})) / body.integers({8}));
  if (bits == 8) return to_index(rows.bytes);
  return rows.first(8 % bits == 0 ? cut_bytes(rows.bytes, bits)
                                  : cut_periods(rows.bytes, bits, rows.count, rows.bytes_in_row),
                    length);
}

Term unpack(const Term& packed, const formats::Codec& codec, const Term& length) {
  if (codec.packing() == formats::Packing::bits) return unpack(packed, codec.bits(), length);
  FunctionBody& body = packed.body();
  const Rows rows(packed, (length + body.integers({4})) / body.integers({5}));
  return rows.first(cut_fives(rows.bytes), length);
}

Term look_up(const std::vector<float>& table, const Term& codes) {
  return gather(codes.body().singles(table), codes);
}
Term look_up(const std::vector<double>& table, const Term& codes) {
  return gather(codes.body().reals(table), codes);
}

std::vector<float> numbers_of(const formats::Codec& codec, formats::ConstWords words) {
  std::vector<formats::Code16> all(std::size_t{1} << codec.bits());
  std::iota(all.begin(), all.end(), formats::Code16{0});
  std::vector<float> numbers(all.size());
  codec.decode(all, words, numbers.data());
  return numbers;
}

Term integers(const Term& codes, int bits, bool is_signed) {
  const int count = 1 << bits;
  if (bits <= kMostTableBits) {
    std::vector<float> table;
    for (int code = 0; code < count; ++code)
      table.push_back(static_cast<float>(is_signed && code >= count / 2 ? code - count : code));
    return look_up(table, codes);
  }
  const Term number = to_double(codes);
  const int half = count / 2;
  return to_single(is_signed ? where(at_least(number, half), number - count, number) : number);
}

Term signed_magnitudes(const Term& codes, int bits) {
  if (bits <= kMostTableBits) {
    std::vector<float> table;
    for (int code = 0; code < 1 << (bits - 1); ++code) table.push_back(static_cast<float>(code));
    for (int code = 0; code < 1 << (bits - 1); ++code) table.push_back(-static_cast<float>(code));
    return look_up(table, codes);
  }
  const auto [sign, magnitude] = sign_magnitude(codes, bits);
  return to_single(sign * magnitude);
}

SignMagnitude sign_magnitude(const Term& codes, int bits) {
  const Term number = to_double(codes);
  const double sign_bit = std::ldexp(1, bits - 1);
  const Term negative = at_least(number, sign_bit);
  return {where(negative, -1, number.body().real(1)), where(negative, number - sign_bit, number)};
}

std::vector<double> powers_of_biases(int lowest, int highest) {
  std::vector<double> powers;
  for (int bias = lowest; bias <= highest; ++bias) powers.push_back(std::ldexp(1, -bias));
  return powers;
}

Term minifloats(const Term& codes, const formats::MinifloatLayout& layout) {
  const auto [sign, magnitude] = sign_magnitude(codes, layout.bits());
  std::vector<double> steps, hidden;
  for (int field = 0; field < 1 << layout.exponent_bits; ++field) {
    steps.push_back(std::ldexp(1, std::max(field, 1) - layout.bias - layout.mantissa_bits));
    hidden.push_back(field == 0 ? 0 : std::ldexp(1, layout.mantissa_bits));
  }
  const double unit = std::ldexp(1, layout.mantissa_bits);
  const Term field = floor(magnitude / unit), index = to_index(field);
  const Term mantissa = magnitude - field * unit;
  Term number = (mantissa + look_up(hidden, index)) * look_up(steps, index);
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
