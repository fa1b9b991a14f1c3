#include "lower/standard.hpp"

namespace anybit::lower {

StandardType standard_type(const formats::Use& use) {
  using enum graph::ElementType;
  if (!use.parameters.empty() || use.rounding != formats::Rounding::half_even) return {};
  if (use.format == "float16") return {float16, 13, 65504.0f};
  if (use.format == "bfloat16") return {bfloat16, 13, 3.38953139e38f};
  if (use.format == "fp8_e4m3") return {float8e4m3fn, 19};
  if (use.format == "fp8_e5m2") return {float8e5m2, 19};
  if (use.format == "fp8_e4m3fnuz") return {float8e4m3fnuz, 19};
  if (use.format == "fp8_e5m2fnuz") return {float8e5m2fnuz, 19};
  return {};
}

}  // namespace anybit::lower
