#include "portable/codes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "formats/float_bits.hpp"
#include "graph/node.hpp"

namespace anybit::portable {
namespace {

// Combines the bytes that hold each code: `bytes` bytes from the offsets `first` of a period, little-endian.
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

// Unpacks codes that do not cross byte boundaries: [rows, bytes, codes per byte].
Term cut_bytes(const Term& bytes, int bits) {
  FunctionBody& body = bytes.body();
  std::vector<std::uint8_t> shifts;
  for (int shift = 0; shift < 8; shift += bits) shifts.push_back(static_cast<std::uint8_t>(shift));
  const Term each = body.op("Unsqueeze", {bytes, body.integers({2})});
  const Term shifted =
      body.op("BitShift", {each, body.bytes(shifts)}, {graph::attribute("direction", std::string("RIGHT"))});
  return body.op("BitwiseAnd", {shifted, body.bytes({static_cast<std::uint8_t>((1 << bits) - 1)})});
}

// Unpacks other codes: [rows, periods, codes per period]. A period is the smallest number of bytes that holds
// complete codes. Each code is extracted from the bytes that it touches; bits of its neighbours are masked
// out.
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

// Unpacks five base-3 digits per byte, lowest first: [rows, bytes, 5] codes. Bytes above 242, which packing
// never writes, decode to zeros.
Term cut_fives(const Term& bytes) {
  FunctionBody& body = bytes.body();
  const Term number = to_double(body.op("Unsqueeze", {bytes, body.integers({2})}));
  const Term valid = where(greater(number, 242), 0, number);
  const Term shifted = floor(valid / body.reals({1, 3, 9, 27, 81}));
  const Term digit = shifted - floor(shifted / 3) * 3;
  return gather(body.integers({0, 1, 3}), to_index(digit));
}

// Packed rows, as [rows, bytes per row].
struct Rows {
  Rows(const Term& packed, const Term& bytes_in_row)
      : bytes_in_row(bytes_in_row),
        // With no elements, a dimension cannot be inferred (-1).
        count(product(shape(packed)) / max(bytes_in_row, packed.body().integers({1}))),
        bytes(reshape(packed, concat({count, bytes_in_row}))) {}

  // The first `length` codes of each row.
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
  // In fnuz formats the code of -0 is NaN.
  if (layout.flavour == formats::Flavour::fnuz)
    number = where(equal(codes, to_index(codes.body().integer(layout.sign_bit()))), formats::kNan, number);
  return number * sign;
}

}  // namespace anybit::portable
