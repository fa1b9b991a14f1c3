// The table of ONNX's element types: names, widths, typed fields. Source: the comments on TensorProto in
// onnx.proto, IR 13.
#include "graph/element_type.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace anybit::graph {
namespace {

constexpr std::array kTypes = {
    ElementTypeInfo{ElementType::float32, "float32", 32, TypedField::float_data, 3},
    ElementTypeInfo{ElementType::uint8, "uint8", 8, TypedField::int32_data, 3},
    ElementTypeInfo{ElementType::int8, "int8", 8, TypedField::int32_data, 3},
    ElementTypeInfo{ElementType::uint16, "uint16", 16, TypedField::int32_data, 3},
    ElementTypeInfo{ElementType::int16, "int16", 16, TypedField::int32_data, 3},
    ElementTypeInfo{ElementType::int32, "int32", 32, TypedField::int32_data, 3},
    ElementTypeInfo{ElementType::int64, "int64", 64, TypedField::int64_data, 3},
    ElementTypeInfo{ElementType::string, "string", 0, TypedField::string_data, 3},
    ElementTypeInfo{ElementType::boolean, "bool", 8, TypedField::int32_data, 3},
    ElementTypeInfo{ElementType::float16, "float16", 16, TypedField::int32_data, 3},
    ElementTypeInfo{ElementType::float64, "float64", 64, TypedField::double_data, 3},
    ElementTypeInfo{ElementType::uint32, "uint32", 32, TypedField::uint64_data, 3},
    ElementTypeInfo{ElementType::uint64, "uint64", 64, TypedField::uint64_data, 3},
    ElementTypeInfo{ElementType::complex64, "complex64", 64, TypedField::float_data, 3},
    ElementTypeInfo{ElementType::complex128, "complex128", 128, TypedField::double_data, 3},
    ElementTypeInfo{ElementType::bfloat16, "bfloat16", 16, TypedField::int32_data, 3},
    ElementTypeInfo{ElementType::float8e4m3fn, "float8_e4m3fn", 8, TypedField::int32_data, 9},
    ElementTypeInfo{ElementType::float8e4m3fnuz, "float8_e4m3fnuz", 8, TypedField::int32_data, 9},
    ElementTypeInfo{ElementType::float8e5m2, "float8_e5m2", 8, TypedField::int32_data, 9},
    ElementTypeInfo{ElementType::float8e5m2fnuz, "float8_e5m2fnuz", 8, TypedField::int32_data, 9},
    ElementTypeInfo{ElementType::uint4, "uint4", 4, TypedField::int32_data, 10},
    ElementTypeInfo{ElementType::int4, "int4", 4, TypedField::int32_data, 10},
    ElementTypeInfo{ElementType::float4e2m1, "float4_e2m1fn", 4, TypedField::int32_data, 11},
    ElementTypeInfo{ElementType::float8e8m0, "float8_e8m0fnu", 8, TypedField::int32_data, 12},
    ElementTypeInfo{ElementType::uint2, "uint2", 2, TypedField::int32_data, 13},
    ElementTypeInfo{ElementType::int2, "int2", 2, TypedField::int32_data, 13},
};

constexpr bool numbers_count_up() {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (static_cast<std::size_t>(kTypes[i].type) != i + 1) return false;
  }
  return true;
}
static_assert(numbers_count_up(), "find() indexes the table by ONNX's number");

}  // namespace

std::span<const ElementTypeInfo> element_types() { return kTypes; }

const ElementTypeInfo* find(ElementType type) {
  const auto number = static_cast<std::int32_t>(type);
  if (number < 1 || number > static_cast<std::int32_t>(kTypes.size())) return nullptr;
  return &kTypes[static_cast<std::size_t>(number) - 1];
}

const ElementTypeInfo* find_element_type(std::string_view name) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(),
                                  [&](const ElementTypeInfo& info) { return info.name == name; });
  return found == kTypes.end() ? nullptr : &*found;
}

std::string name_of(ElementType type) {
  if (const ElementTypeInfo* info = find(type)) return std::string(info->name);
  return fmt::format("type {}", static_cast<std::int32_t>(type));
}

}  // namespace anybit::graph
