// Codes of number formats: out of packed bytes, and into numbers.
#pragma once

#include "formats/codec.hpp"
#include "formats/minifloat.hpp"
#include "portable/formula.hpp"

namespace anybit::portable {

// [rows, length] codes, as int32, of packed rows: `packed` has any dimensions, `length` is a list of one.
Term unpack(const Term& packed, int bits, const Term& length);
// As the codec packs them.
Term unpack(const Term& packed, const formats::Codec& codec, const Term& length);

// What a table has for each code, or for each of other whole numbers.
Term look_up(const std::vector<float>& table, const Term& codes);
Term look_up(const std::vector<double>& table, const Term& codes);
// What the codec makes of each code under these words. For codes of few bits.
constexpr int kMostTableBits = 9;
std::vector<float> numbers_of(const formats::Codec& codec, formats::ConstWords words);

// Whole numbers, two's complement where signed, as float32.
Term integers(const Term& codes, int bits, bool is_signed);
// A code whose highest bit is the sign of the rest, as float32; -0 is one of them.
Term signed_magnitudes(const Term& codes, int bits);

// 1 or -1, and the rest of the code.
struct SignMagnitude {
  Term sign, magnitude;
};
SignMagnitude sign_magnitude(const Term& codes, int bits);

// 2^-bias for each bias that a block may share.
std::vector<double> powers_of_biases(int lowest, int highest);

// Minifloats as float64, with whatever bias: the layout may have values that float32 has not.
Term minifloats(const Term& codes, const formats::MinifloatLayout& layout);

}  // namespace anybit::portable
