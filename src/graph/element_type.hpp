// The element types of ONNX tensors, under ONNX's own numbers (TensorProto.DataType).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace anybit::graph {

enum class ElementType : std::int32_t {
  undefined = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  complex64 = 14,
  complex128 = 15,
  bfloat16 = 16,
  float8e4m3fn = 17,
  float8e4m3fnuz = 18,
  float8e5m2 = 19,
  float8e5m2fnuz = 20,
  uint4 = 21,
  int4 = 22,
  float4e2m1 = 23,
  float8e8m0 = 24,
  uint2 = 25,
  int2 = 26,
};

// The typed field of TensorProto that holds the values of a type if raw_data does not.
enum class TypedField { none, float_data, int32_data, string_data, int64_data, double_data, uint64_data };

struct ElementTypeInfo {
  ElementType type;
  std::string_view name;  // "float32", "int4", … as numpy and ml_dtypes spell it
  int bits;               // 0 for strings and undefined
  TypedField field;
  std::int32_t since_ir;  // the IR version that added it
};

// All types except `undefined`, sorted by number.
std::span<const ElementTypeInfo> element_types();
// Null for `undefined` and unknown numbers.
const ElementTypeInfo* find(ElementType type);
const ElementTypeInfo* find_element_type(std::string_view name);
// The name, or "type 99".
std::string name_of(ElementType type);

}  // namespace anybit::graph
