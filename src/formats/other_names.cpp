#include "formats/other_names.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace anybit::formats {
namespace {

struct OtherName {
  std::string_view name, format;
};

// The words of numpy, PyTorch, ONNX, ml_dtypes and of papers. What is near a format's own name anyway is not
// here.
constexpr OtherName kOtherNames[] = {
    {"fp16", "float16"},
    {"f16", "float16"},
    {"half", "float16"},
    {"bf16", "bfloat16"},
    {"brainfloat16", "bfloat16"},
    {"float8", "fp8_e4m3"},
    {"f8", "fp8_e4m3"},
    {"e4m3fn", "fp8_e4m3"},
    {"fp8_e4m3fn", "fp8_e4m3"},
    {"f8e4m3fn", "fp8_e4m3"},
    {"float8e4m3fn", "fp8_e4m3"},
    {"float8_e4m3fn", "fp8_e4m3"},
    {"float8_e4m3", "fp8_e4m3"},
    {"float8e4m3fnuz", "fp8_e4m3fnuz"},
    {"float8_e4m3fnuz", "fp8_e4m3fnuz"},
    {"f8e5m2", "fp8_e5m2"},
    {"float8e5m2", "fp8_e5m2"},
    {"float8_e5m2", "fp8_e5m2"},
    {"float8e5m2fnuz", "fp8_e5m2fnuz"},
    {"float8_e5m2fnuz", "fp8_e5m2fnuz"},
    {"float8e8m0", "fp8_e8m0"},
    {"float8_e8m0fnu", "fp8_e8m0"},
    {"float6_e2m3fn", "fp6_e2m3"},
    {"float6_e3m2fn", "fp6_e3m2"},
    {"float4", "fp4_e2m1"},
    {"f4", "fp4_e2m1"},
    {"float4e2m1", "fp4_e2m1"},
    {"float4_e2m1fn", "fp4_e2m1"},
    {"i4", "int4"},
    {"s4", "int4"},
    {"q4", "int4"},
    {"u4", "uint4"},
    {"i8", "int8"},
    {"s8", "int8"},
    {"q8", "int8"},
    {"qint8", "int8"},
    {"u8", "uint8"},
    {"quint8", "uint8"},
    {"i16", "int16"},
    {"s16", "int16"},
    {"u16", "uint16"},
    {"bool", "binary"},
    {"bnn", "binary"},
    {"bit", "binary"},
    {"int1", "binary"},
    {"twn", "ternary"},
};

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
  const auto found = std::ranges::find(kOtherNames, small, &OtherName::name);
  if (found != std::end(kOtherNames)) return fmt::format("did you mean '{}'?", found->format);
  if (std::ranges::find(kNotNarrower, small) != std::end(kNotNarrower))
    return "values are float32 before they are quantized; formats are narrower: float16, bfloat16, …";
  if (std::ranges::find(kNormalFloats, small) != std::end(kNormalFloats))
    return "formats of 4 bits are int4, fp4_e2m1, mxfp4_e2m1 and nvfp4";
  return {};
}

}  // namespace anybit::formats
