// One row per family of number formats: its formulas in ONNX operators. The build collects the rows from the
// files of this folder.
#pragma once

#include <span>
#include <string_view>

#include "anybit/result.hpp"
#include "formats/codec.hpp"
#include "formats/table.hpp"
#include "portable/groups.hpp"

namespace anybit::portable {

struct Setup {
  const formats::Codec& codec;
  const formats::Values& values;  // all parameters of the format
  formats::Rounding rounding;     // effective rounding; never stochastic
};

struct Descriptor {
  std::string_view family;
  // Fake-quantizes float64 values in the layout of `groups`, including NaN and infinity. The caller rounds
  // the result to float32.
  Result<Term> (*quantize)(const Setup& setup, const Groups& groups, const Term& x);
  // Decodes codes in the layout of `groups`, with the stored fields, to float32.
  Term (*decode)(const Setup& setup, const Groups& groups, const Term& codes, std::span<const Term> fields);
  double padding = 0;  // padding of incomplete blocks before quantize
};

bool before(const Descriptor& a, const Descriptor& b);
std::span<const Descriptor* const> table();

}  // namespace anybit::portable
