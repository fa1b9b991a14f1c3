#include "tflite/element_types.hpp"

#include <algorithm>
#include <array>

namespace anybit::tflite {
namespace {

using graph::ElementType;
using wire::TensorType;

struct TypePair {
  TensorType wire;
  ElementType element;
};

constexpr std::array kTypePairs = {
    TypePair{TensorType::FLOAT32, ElementType::float32},
    TypePair{TensorType::FLOAT16, ElementType::float16},
    TypePair{TensorType::INT32, ElementType::int32},
    TypePair{TensorType::UINT8, ElementType::uint8},
    TypePair{TensorType::INT64, ElementType::int64},
    TypePair{TensorType::STRING, ElementType::string},
    TypePair{TensorType::BOOL, ElementType::boolean},
    TypePair{TensorType::INT16, ElementType::int16},
    TypePair{TensorType::COMPLEX64, ElementType::complex64},
    TypePair{TensorType::INT8, ElementType::int8},
    TypePair{TensorType::FLOAT64, ElementType::float64},
    TypePair{TensorType::COMPLEX128, ElementType::complex128},
    TypePair{TensorType::UINT64, ElementType::uint64},
    TypePair{TensorType::UINT32, ElementType::uint32},
    TypePair{TensorType::UINT16, ElementType::uint16},
    TypePair{TensorType::INT4, ElementType::int4},
    TypePair{TensorType::BFLOAT16, ElementType::bfloat16},
    TypePair{TensorType::UINT4, ElementType::uint4},
};

constexpr std::array kQuantizedTypes = {ElementType::int4,  ElementType::uint4, ElementType::int8,
                                        ElementType::uint8, ElementType::int16, ElementType::uint16};

}  // namespace

std::optional<ElementType> element_type_of(TensorType type) {
  const auto* found = std::ranges::find(kTypePairs, type, &TypePair::wire);
  if (found == kTypePairs.end()) return std::nullopt;
  return found->element;
}

std::optional<TensorType> wire_type_of(ElementType type) {
  const auto* found = std::ranges::find(kTypePairs, type, &TypePair::element);
  if (found == kTypePairs.end()) return std::nullopt;
  return found->wire;
}

bool is_quantized_type(ElementType type) {
  return std::ranges::find(kQuantizedTypes, type) != kQuantizedTypes.end();
}

}  // namespace anybit::tflite
