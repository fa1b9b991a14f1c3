// Sliding windows: kernel, strides, dilations and padding of convolutions and pooling.
#pragma once

#include <vector>

#include "anybit/result.hpp"
#include "graph/model.hpp"
#include "tflite/operator_reader.hpp"

namespace anybit::tflite {

struct Window {
  Dims kernel, strides, dilations;  // of the spatial axes, the outer one first
  wire::Padding padding = wire::Padding::VALID;
};

// ONNX's attributes for a window over input i. With SAME the pads are numbers if the sizes are known.
Result<std::vector<graph::Attribute>> window_attributes(const OperatorReader& here, std::size_t i,
                                                        const Window& window, bool dilated);

// TFLite's SAME: as many outputs as strides fit; the odd one of the pads comes after.
std::int64_t same_padding(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t dilation);

}  // namespace anybit::tflite
