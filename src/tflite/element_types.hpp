// The element types of TFLite as those of ONNX, and back.
#pragma once

#include <optional>

#include "graph/element_type.hpp"
#include "tflite/tflite_generated.h"

namespace anybit::tflite {

// Empty for types that ONNX lacks (resources, variants) and for numbers that are not types.
std::optional<graph::ElementType> element_type_of(wire::TensorType type);
std::optional<wire::TensorType> wire_type_of(graph::ElementType type);

// Whether a tensor of this type with scales is a quantized tensor. int32 is not one of them: it is a bias,
// and only its operator knows.
bool is_quantized_type(graph::ElementType type);

}  // namespace anybit::tflite
