// Unpacks the codes of number formats and decodes them to numbers, in ONNX operators.
#pragma once

#include "formats/codec.hpp"
#include "formats/minifloat.hpp"
#include "portable/formula.hpp"

namespace anybit::portable {

// Unpacks rows of codes to int32 [rows, length]: `packed` has any dimensions, `length` is a list of one.
Term unpack(const Term& packed, int bits, const Term& length);
// The same, with the packing of the codec.
Term unpack(const Term& packed, const formats::Codec& codec, const Term& length);

// Table lookup by code or by another integer index.
Term look_up(const std::vector<float>& table, const Term& codes);
Term look_up(const std::vector<double>& table, const Term& codes);
// Decodes every code of the codec, with these words (shared parameters) of a group. For codes of few bits.
constexpr int kMostTableBits = 9;
std::vector<float> numbers_of(const formats::Codec& codec, formats::ConstWords words);

// Decodes integers to float32: two's complement if signed, else unsigned.
Term integers(const Term& codes, int bits, bool is_signed);
// Decodes sign-magnitude codes to float32, including -0.
Term signed_magnitudes(const Term& codes, int bits);

// Sign (1 or -1) and remaining bits of a code.
struct SignMagnitude {
  Term sign, magnitude;
};
SignMagnitude sign_magnitude(const Term& codes, int bits);

// 2^-bias for each bias that a block can share.
std::vector<double> powers_of_biases(int lowest, int highest);

// Decodes minifloats to float64, with any bias: the layout may have values outside float32.
Term minifloats(const Term& codes, const formats::MinifloatLayout& layout);

}  // namespace anybit::portable
