#include "tflite/tensor_info.hpp"

#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/try.hpp"
#include "base/utf.hpp"
#include "tflite/element_types.hpp"

namespace anybit::tflite {
namespace {

using graph::ElementType;

// ONNX's names are UTF-8; other bytes become '_'.
std::string name_in_utf8(std::string_view name) {
  std::string text(name);
  if (from_utf8(text)) return text;
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '_');
  return text;
}

Result<void> read_dims(File& file, const wire::Tensor& tensor, TensorInfo& info) {
  const auto* shape = tensor.shape();
  const auto* signature = tensor.shape_signature();
  const auto rank = static_cast<std::int64_t>(shape ? shape->size() : 0);
  if (rank > file.limits().rank) {
    return error_at(Code::limit_exceeded, {}, fmt::format("its rank is {}", rank),
                    fmt::format("the limit is {}", file.limits().rank));
  }
  TRY(file.take_records(rank));
  info.has_rank = rank > 0 || tensor.has_rank() || tensor.buffer() != 0;
  for (std::uint32_t i = 0; i < rank; ++i) {
    if (shape->Get(i) < 0) return invalid_model({}, fmt::format("dimension {} is {}", i, shape->Get(i)));
    info.dims.push_back(shape->Get(i));
  }
  if (!signature || signature->size() == 0) return {};
  if (signature->size() != rank) {
    return invalid_model(
        {}, fmt::format("shape has {} dimensions and shape_signature {}", rank, signature->size()));
  }
  for (std::uint32_t i = 0; i < rank; ++i) {
    const std::int64_t size = signature->Get(i);
    if (size < -1 || (size >= 0 && size != shape->Get(i))) {
      return invalid_model(
          {}, fmt::format("dimension {} is {} in shape and {} in shape_signature", i, shape->Get(i), size));
    }
    info.dims[i] = size;
  }
  return {};
}

Result<void> check_zero_point(ElementType type, std::int64_t zero_point) {
  const int bits = graph::find(type)->bits;
  const bool is_signed = type == ElementType::int4 || type == ElementType::int8 || type == ElementType::int16;
  const std::int64_t low = is_signed ? -(std::int64_t{1} << (bits - 1)) : 0;
  const std::int64_t high = low + (std::int64_t{1} << bits) - 1;
  if (zero_point >= low && zero_point <= high) return {};
  return invalid_model({}, fmt::format("its zero point is {}", zero_point),
                       fmt::format("{} holds {} to {}", graph::name_of(type), low, high));
}

Result<void> check_counts(const TensorInfo& info, const Quantization& read) {
  const std::size_t count = read.scales.size();
  if (read.zero_points.size() != count) {
    return invalid_model({},
                         fmt::format("it has {} scales and {} zero points", count, read.zero_points.size()));
  }
  if (count == 1) return {};
  if (read.axis < 0 || read.axis >= info.rank()) {
    return invalid_model(
        {}, fmt::format("its scales lie along axis {}, and it has {} dimensions", read.axis, info.rank()));
  }
  const std::int64_t size = info.dims[static_cast<std::size_t>(read.axis)];
  if (size == static_cast<std::int64_t>(count)) return {};
  return invalid_model({}, fmt::format("it has {} scales along axis {} of size {}", count, read.axis, size));
}

Result<void> read_quantization(File& file, const wire::Tensor& tensor, TensorInfo& info) {
  const auto* stored = tensor.quantization();
  if (!stored) return {};
  const auto kind = static_cast<int>(stored->details_type());
  const bool integer =
      is_quantized_type(info.type) || info.type == ElementType::int32 || info.type == ElementType::int64;
  if (kind > 1 && integer) {
    return error_at(Code::unsupported, {}, fmt::format("its quantization is of kind {}", kind),
                    "anybit reads one scale per tensor, or one per index of an axis");
  }
  if (!integer || !stored->scale() || stored->scale()->size() == 0) return {};
  TRY(file.take_bytes(std::int64_t{12} * stored->scale()->size()));
  Quantization read;
  read.scales.assign(stored->scale()->begin(), stored->scale()->end());
  read.axis = stored->quantized_dimension();
  if (stored->zero_point() && stored->zero_point()->size() > 0) {
    TRY(file.take_bytes(std::int64_t{8} * stored->zero_point()->size()));
    read.zero_points.assign(stored->zero_point()->begin(), stored->zero_point()->end());
  } else {
    read.zero_points.assign(read.scales.size(), 0);
  }
  TRY(check_counts(info, read));
  for (const float scale : read.scales) {
    if (!std::isfinite(scale) || scale < 0) return invalid_model({}, fmt::format("its scale is {}", scale));
  }
  if (is_quantized_type(info.type)) {
    for (const std::int64_t zero_point : read.zero_points) TRY(check_zero_point(info.type, zero_point));
  }
  info.quantization = std::move(read);
  return {};
}

Result<void> read_data(File& file, const wire::Tensor& tensor, TensorInfo& info) {
  const Bytes data = TRY(file.buffer(tensor.buffer()));
  info.sparsity = tensor.sparsity();
  if (data.empty()) return {};
  info.constant = true;
  info.data = data;
  if (info.sparsity || info.type == ElementType::string || info.type == ElementType::undefined) return {};
  const auto count = element_count(info.dims);
  const auto size = count ? packed_bytes(*count, graph::find(info.type)->bits) : std::nullopt;
  if (size && *size == static_cast<std::int64_t>(data.size())) return {};
  return invalid_model(
      {}, fmt::format("its buffer {} has {} bytes", tensor.buffer(), data.size()),
      size ? fmt::format("{} elements of {} are {} bytes", *count, graph::name_of(info.type), *size)
           : "a constant has known sizes");
}

}  // namespace

bool TensorInfo::quantized() const { return quantization.has_value() && is_quantized_type(type); }

Result<TensorInfo> read_tensor(File& file, const wire::Tensor& tensor) {
  TensorInfo info;
  if (tensor.name()) {
    TRY(file.take_bytes(tensor.name()->size()));
    info.name = name_in_utf8(tensor.name()->string_view());
  }
  info.type = element_type_of(tensor.type()).value_or(ElementType::undefined);
  info.variable = tensor.is_variable();
  TRY(read_dims(file, tensor, info));
  TRY(read_quantization(file, tensor, info));
  TRY(read_data(file, tensor, info));
  return info;
}

}  // namespace anybit::tflite
