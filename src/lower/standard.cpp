#include "lower/standard.hpp"

namespace anybit::lower {

namespace {

bool is_plain(const formats::Use& use) {
  return use.parameters.empty() && use.rounding == formats::Rounding::half_even;
}

// The type whose codes are those of the format, whether or not runtimes support it.
graph::ElementType type_of(const formats::Use& use) {
  const auto format = formats::find(use.format);
  const graph::ElementTypeInfo* type =
      format.ok() ? graph::find_element_type((*format)->float_type) : nullptr;
  return type ? type->type : graph::ElementType::undefined;
}

}  // namespace

StandardType standard_type(const formats::Use& use) {
  const formats::GroupingOptions& grouping = use.grouping;
  if (!is_plain(use) || grouping.granularity || grouping.block_size) return {};
  const graph::ElementType type = type_of(use);
  if (type == graph::ElementType::float16) return {type, 13, 65504.0f};
  if (type == graph::ElementType::bfloat16) return {type, 13, 3.38953139e38f};
  return {linear_float(use), 19};
}

graph::ElementType linear_float(const formats::Use& use) {
  using enum graph::ElementType;
  const graph::ElementType type = is_plain(use) ? type_of(use) : undefined;
  switch (type) {
    case float8e4m3fn:
    case float8e5m2:
    case float8e4m3fnuz:
    case float8e5m2fnuz:
      return type;
    default:
      return undefined;
  }
}

}  // namespace anybit::lower
