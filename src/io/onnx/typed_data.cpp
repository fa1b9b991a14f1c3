// The mapping of types to typed fields: onnx.proto's comments on TensorProto. Types of 8 and 16 bits take one
// int32 per value (zero-extended, but signed integers sign-extended), 4- and 2-bit types one int32 per packed
// byte, complex numbers two floats or doubles.
#include "io/onnx/typed_data.hpp"

#include <limits>
#include <vector>

#include "base/error.hpp"

namespace anybit::onnx {
namespace {

using graph::ElementType;
using graph::TypedField;

template <class To, class Values>
Result<Bytes> narrow(const Values& values, ElementType type, To largest = std::numeric_limits<To>::max()) {
  std::vector<To> out;
  out.reserve(static_cast<std::size_t>(values.size()));
  for (const auto value : values) {
    if (std::cmp_less(value, std::numeric_limits<To>::min()) || std::cmp_greater(value, largest)) {
      return invalid_model({}, fmt::format("value {} does not fit {}", value, graph::name_of(type)),
                           fmt::format("values from {} to {} do", std::numeric_limits<To>::min(), largest));
    }
    out.push_back(static_cast<To>(value));
  }
  return Bytes::own(std::move(out));
}

template <class Values>
Bytes copy(const Values& values) {
  return Bytes::own(std::vector<typename Values::value_type>(values.begin(), values.end()));
}

Result<Bytes> from_int32(const wire::Tensor& tensor, ElementType type) {
  const auto& values = tensor.int32_data();
  switch (type) {
    case ElementType::int32:
      return copy(values);
    case ElementType::int8:
      return narrow<std::int8_t>(values, type);
    case ElementType::int16:
      return narrow<std::int16_t>(values, type);
    case ElementType::boolean:
      return narrow<std::uint8_t>(values, type, 1);
    default:
      if (typed_width(type) == 2) return narrow<std::uint16_t>(values, type);
      return narrow<std::uint8_t>(values, type);
  }
}

TypedField field_of(ElementType type) {
  const graph::ElementTypeInfo* info = graph::find(type);
  return info ? info->field : TypedField::none;
}

}  // namespace

int typed_count(const wire::Tensor& tensor, ElementType type) {
  switch (field_of(type)) {
    case TypedField::none:
      return 0;
    case TypedField::float_data:
      return tensor.float_data_size();
    case TypedField::int32_data:
      return tensor.int32_data_size();
    case TypedField::string_data:
      return tensor.string_data_size();
    case TypedField::int64_data:
      return tensor.int64_data_size();
    case TypedField::double_data:
      return tensor.double_data_size();
    case TypedField::uint64_data:
      return tensor.uint64_data_size();
  }
  return 0;
}

Result<Bytes> take_typed(wire::Tensor& tensor, ElementType type) {
  Result<Bytes> data = Bytes();
  switch (field_of(type)) {
    case TypedField::none:
    case TypedField::string_data:
      break;
    case TypedField::float_data:
      data = copy(tensor.float_data());
      tensor.clear_float_data();
      break;
    case TypedField::int32_data:
      data = from_int32(tensor, type);
      tensor.clear_int32_data();
      break;
    case TypedField::int64_data:
      data = copy(tensor.int64_data());
      tensor.clear_int64_data();
      break;
    case TypedField::double_data:
      data = copy(tensor.double_data());
      tensor.clear_double_data();
      break;
    case TypedField::uint64_data:
      data = type == ElementType::uint32 ? narrow<std::uint32_t>(tensor.uint64_data(), type)
                                         : copy(tensor.uint64_data());
      tensor.clear_uint64_data();
      break;
  }
  return data;
}

std::size_t typed_width(ElementType type) {
  const graph::ElementTypeInfo* info = graph::find(type);
  if (!info || info->bits < 8) return 1;
  const auto bytes = static_cast<std::size_t>(info->bits) / 8;
  const bool complex = type == ElementType::complex64 || type == ElementType::complex128;
  return complex ? bytes / 2 : bytes;
}

std::uint64_t varint_value(const Bytes& bytes, ElementType type, std::size_t index) {
  // Negative numbers are sign-extended to 64 bits, as protobuf writes them.
  const auto wide = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  switch (type) {
    case ElementType::int8:
      return wide(bytes.at<std::int8_t>(index));
    case ElementType::int16:
      return wide(bytes.at<std::int16_t>(index));
    case ElementType::int32:
      return wide(bytes.at<std::int32_t>(index));
    default:
      break;
  }
  switch (typed_width(type)) {
    case 2:
      return bytes.at<std::uint16_t>(index);
    case 4:
      return bytes.at<std::uint32_t>(index);
    case 8:
      return bytes.at<std::uint64_t>(index);
    default:
      return bytes.at<std::uint8_t>(index);
  }
}

}  // namespace anybit::onnx
