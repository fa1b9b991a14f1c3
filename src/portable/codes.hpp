// Codes of number formats: out of packed bytes, and into numbers.
#pragma once

#include "formats/codec.hpp"
#include "formats/minifloat.hpp"
#include "portable/body.hpp"

namespace anybit::portable {

// [rows, length] codes, as int32, of packed rows: `packed` has any dimensions, `length` is a list of one.
Value unpack(const Value& packed, int bits, const Value& length);

// Codes to float64: what the codec makes of each under these words. For codes of few bits.
constexpr int kMostTableBits = 9;
Value look_up(const formats::Codec& codec, formats::ConstWords words, const Value& codes);
Value look_up(const std::vector<double>& table, const Value& codes);

// Whole numbers, two's complement where signed.
Value integers(const Value& codes, int bits, bool is_signed);

// A code whose highest bit is the sign of the rest.
struct SignMagnitude {
  Value sign, magnitude;  // ±1; a whole number
};
SignMagnitude sign_magnitude(const Value& codes, int bits);

Value signs(const Value& codes, int bits);

// Minifloats with whatever bias: `layout` may have values that float32 has not.
Value minifloats(const Value& codes, const formats::MinifloatLayout& layout);

}  // namespace anybit::portable
