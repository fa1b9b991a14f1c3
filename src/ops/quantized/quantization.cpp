#include "ops/quantized/quantization.hpp"

#include <algorithm>
#include <cmath>

#include "graph/quantization.hpp"
#include "kernels/elementwise/look_up.hpp"
#include "ops/check.hpp"
#include "ops/convert.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {

using enum ElementType;

bool is_byte(ElementType type) { return type == uint8 || type == int8; }
bool is_code(ElementType type) { return is_byte(type) || type == uint16 || type == int16; }

std::int32_t code_at(const Array& integers, std::int64_t i) {
  switch (integers.type()) {
    case int2:
    case int4:
    case int8:
      return integers.data<std::int8_t>()[i];
    case uint2:
    case uint4:
    case uint8:
      return integers.data<std::uint8_t>()[i];
    case int16:
      return integers.data<std::int16_t>()[i];
    case uint16:
      return integers.data<std::uint16_t>()[i];
    case int32:
      return integers.data<std::int32_t>()[i];
    default:
      return 0;
  }
}

QuantizedRange range_of(ElementType type) {
  const graph::IntegerRange range = graph::integer_range(type);
  return range.bits <= 16 ? QuantizedRange{range.low, range.high} : QuantizedRange{0, 0};
}

std::int32_t quantized(double x, std::int32_t zero_point, QuantizedRange range) {
  if (std::isnan(x)) return zero_point;
  const double shifted = std::nearbyint(x) + zero_point;
  return static_cast<std::int32_t>(
      std::clamp(shifted, static_cast<double>(range.low), static_cast<double>(range.high)));
}

Result<Quantization> quantization_of(const Array* scale, const Array* zero_point, ElementType type) {
  Quantization result;
  if (!scale || scale->count() != 1 || scale->type() != float32) {
    return wrong(fmt::format("a scale is {}", scale ? to_string(*scale) : "missing"), "a single float32");
  }
  result.scale = has_elements(*scale) ? *scale->data<float>() : 1.0f;
  if (zero_point) {
    if (zero_point->count() != 1 || zero_point->type() != type) {
      return wrong(fmt::format("a zero point is {}", to_string(*zero_point)),
                   fmt::format("a single {}", graph::name_of(type)));
    }
    if (has_elements(*zero_point))
      convert(type, zero_point->bytes(), int32, reinterpret_cast<std::byte*>(&result.zero_point), 1);
  }
  return result;
}

Result<Quantization> quantization_at(const Frame& frame, std::size_t scale, std::size_t zero_point,
                                     ElementType type) {
  return quantization_of(frame.has(scale) ? &frame.in(scale) : nullptr,
                         frame.has(zero_point) ? &frame.in(zero_point) : nullptr, type);
}

void look_up(const ByteTable& table, const std::uint8_t* in, std::uint8_t* out, std::int64_t n) {
  kernels::look_up(in, table.data(), out, static_cast<std::size_t>(n));
}

Result<ParameterRuns> ParameterRuns::of(const Frame& frame, const Array& tensor, const Array& scale) {
  ParameterRuns runs;
  if (scale.count() == 1 && scale.rank() <= 1) {
    runs.per_tensor_ = true;
    return runs;
  }
  const auto misfit = [&] {
    return wrong(fmt::format("scales {1} do not match the tensor {0}", to_string(tensor), to_string(scale)),
                 "one scale per tensor, per index of the axis, or per block");
  };
  if (tensor.rank() == 0) return misfit();
  const std::size_t axis = TRY(axis_of(frame.integer("axis", 1), tensor.rank()));
  runs.size_ = tensor.dim(axis);
  runs.inner_ = tensor.dims().product(axis + 1, tensor.rank());
  const std::int64_t outer = tensor.dims().product(0, axis);
  const std::int64_t block = frame.integer("block_size", 0);
  if (block == 0) {
    if (scale.rank() != 1 || scale.count() != runs.size_) return misfit();
    runs.count_ = runs.inner_ == 1 ? outer : outer * runs.size_;
    return runs;
  }
  if (block < 0) return wrong(fmt::format("block_size is {}", block), "a positive number");
  runs.blocked_ = true;
  runs.block_ = std::min(block, std::max<std::int64_t>(runs.size_, 1));
  runs.blocks_ = (runs.size_ + runs.block_ - 1) / runs.block_;
  Dims dims = tensor.dims();
  dims[axis] = runs.blocks_;
  if (!(scale.dims() == dims)) return misfit();
  runs.count_ = outer * (runs.inner_ == 1 ? runs.blocks_ : runs.size_);
  return runs;
}

ParameterRuns::Run ParameterRuns::at(std::int64_t i) const {
  if (!blocked_) {
    if (inner_ == 1) return {i * size_, size_, 0, 1};
    return {i * inner_, inner_, i % size_, 0};
  }
  if (inner_ == 1) {
    const std::int64_t row = i / blocks_, first = i % blocks_ * block_;
    return {row * size_ + first, std::min(block_, size_ - first), i, 0};
  }
  const std::int64_t row = i / size_, place = i % size_;
  return {i * inner_, inner_, (row * blocks_ + place / block_) * inner_, 1};
}

}  // namespace anybit::ops
