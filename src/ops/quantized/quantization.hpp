// Scales and zero points of quantized tensors at run time.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "ops/frame.hpp"

namespace anybit::ops {

// Per-tensor quantization parameters.
struct Quantization {
  float scale = 1;
  std::int32_t zero_point = 0;
};
// Reads them from inputs with one element each; the zero point has the tensor's type and may be omitted
// (null).
Result<Quantization> quantization_of(const Array* scale, const Array* zero_point, ElementType type);
// The same, by input index of a node.
Result<Quantization> quantization_at(const Frame& frame, std::size_t scale, std::size_t zero_point,
                                     ElementType type);

bool is_byte(ElementType type);  // uint8 or int8
bool is_code(ElementType type);  // those, uint16 or int16
// Calls body(Q()) with the C++ type of 8- and 16-bit integers; false for other types.
template <class Body>
bool for_code(ElementType type, const Body& body) {
  switch (type) {
    case ElementType::uint8:
      body(std::uint8_t());
      return true;
    case ElementType::int8:
      body(std::int8_t());
      return true;
    case ElementType::uint16:
      body(std::uint16_t());
      return true;
    case ElementType::int16:
      body(std::int16_t());
      return true;
    default:
      return false;
  }
}
std::int32_t code_at(const Array& integers, std::int64_t i);
struct QuantizedRange {
  std::int32_t low, high;
};
// The range of an integer type of at most 16 bits; {0, 0} for others.
QuantizedRange range_of(ElementType type);
// clamp(round(x) + zero_point); NaN gives the zero point.
std::int32_t quantized(double x, std::int32_t zero_point, QuantizedRange range);

// A unary function of an 8-bit quantized tensor as a 256-entry table; f gets real numbers.
using ByteTable = std::array<std::uint8_t, 256>;
template <class F>
ByteTable byte_table(ElementType type, Quantization in, Quantization out, const F& f) {
  ByteTable table;
  const QuantizedRange range = range_of(type);
  for (std::size_t code = 0; code < table.size(); ++code) {
    const auto byte = static_cast<std::uint8_t>(code);
    const std::int32_t integer = type == ElementType::int8 ? static_cast<std::int8_t>(byte) : byte;
    const float x = static_cast<float>(integer - in.zero_point) * in.scale;
    const float y = static_cast<float>(f(x)) / out.scale;
    table[code] = static_cast<std::uint8_t>(quantized(y, out.zero_point, range));
  }
  return table;
}
void look_up(const ByteTable& table, const std::uint8_t* in, std::uint8_t* out, std::int64_t n);

// Maps the parameters of QuantizeLinear (per tensor, per axis, blocked) to runs of elements that share one
// parameter or have one each.
class ParameterRuns {
 public:
  struct Run {
    std::int64_t first, length;  // elements
    std::int64_t parameter;
    std::size_t step;  // 0: one parameter for the run; 1: the next one for each element
  };
  // An error if the shape of the scale does not match the tensor, the axis and the block size.
  static Result<ParameterRuns> of(const Frame& frame, const Array& tensor, const Array& scale);
  bool per_tensor() const { return per_tensor_; }
  std::int64_t count() const { return count_; }
  std::int64_t length() const { return blocked_ && inner_ == 1 ? block_ : inner_ == 1 ? size_ : inner_; }
  Run at(std::int64_t i) const;

 private:
  bool per_tensor_ = false, blocked_ = false;
  std::int64_t count_ = 0, size_ = 1, inner_ = 1, block_ = 1, blocks_ = 1;
};

}  // namespace anybit::ops
