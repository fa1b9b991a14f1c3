#include "formats/other_names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "formats/table.hpp"

namespace anybit::formats {
namespace {

constexpr std::string_view kNotNarrower[] = {"fp32",   "f32",  "float",   "float32",
                                             "single", "fp64", "float64", "double"};
constexpr std::string_view kNormalFloats[] = {"nf4", "normalfloat", "normalfloat4"};

std::string folded(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return small;
}

}  // namespace

std::string hint_for_other_name(std::string_view word) {
  const std::string small = folded(word);
  for (const Descriptor* one : table()) {
    if (std::ranges::find(one->other_names, small) != one->other_names.end())
      return fmt::format("did you mean '{}'?", one->name);
  }
  if (std::ranges::find(kNotNarrower, small) != std::end(kNotNarrower))
    return "values are float32 before they are quantized; formats are narrower: float16, bfloat16, …";
  if (std::ranges::find(kNormalFloats, small) != std::end(kNormalFloats))
    return "formats of 4 bits are int4, fp4_e2m1, mxfp4_e2m1 and nvfp4";
  return {};
}

}  // namespace anybit::formats
