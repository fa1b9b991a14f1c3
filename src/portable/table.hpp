// One row for each family of number formats: how its formulas are said in ONNX's operators. The table is made
// from the files beside this.
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
  const formats::Values& values;  // of the format's parameters, all of them
  formats::Rounding rounding;     // in force; never stochastic
};

struct Descriptor {
  std::string_view family;
  // float64 values in the layout of `groups`, NaN and infinity among them. The result is rounded to float32
  // by the caller.
  Result<Term> (*quantize)(const Setup& setup, const Groups& groups, const Term& x);
  // Codes as whole numbers in the layout of `groups`, and the stored fields. The result is float32.
  Term (*decode)(const Setup& setup, const Groups& groups, const Term& codes, std::span<const Term> fields);
  double padding = 0;  // what short blocks are filled up with before quantize
};

bool before(const Descriptor& a, const Descriptor& b);
std::span<const Descriptor* const> table();

}  // namespace anybit::portable
