#include "lower/standard.hpp"

namespace anybit::lower {

namespace {

bool is_plain(const formats::Use& use) {
  return use.parameters.empty() && use.rounding == formats::Rounding::half_even;
}

}  // namespace

StandardType standard_type(const formats::Use& use) {
  using enum graph::ElementType;
  const formats::GroupingOptions& grouping = use.grouping;
  if (!is_plain(use) || grouping.granularity || grouping.block_size) return {};
  if (use.format == "float16") return {float16, 13, 65504.0f};
  if (use.format == "bfloat16") return {bfloat16, 13, 3.38953139e38f};
  return {linear_float(use), 19};
}

graph::ElementType linear_float(const formats::Use& use) {
  using enum graph::ElementType;
  if (!is_plain(use)) return undefined;
  if (use.format == "fp8_e4m3") return float8e4m3fn;
  if (use.format == "fp8_e5m2") return float8e5m2;
  if (use.format == "fp8_e4m3fnuz") return float8e4m3fnuz;
  if (use.format == "fp8_e5m2fnuz") return float8e5m2fnuz;
  return undefined;
}

}  // namespace anybit::lower
