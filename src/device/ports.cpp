// A session's inputs and outputs: their descriptions, and the caller's buffers for them.
#include <algorithm>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/try.hpp"
#include "device/session.hpp"
#include "ops/number.hpp"

namespace anybit {
namespace {

using graph::ElementType;

static_assert(ANYBIT_TYPE_FLOAT32 == static_cast<int>(ElementType::float32) &&
              ANYBIT_TYPE_INT16 == static_cast<int>(ElementType::int16) &&
              ANYBIT_TYPE_INT2 == static_cast<int>(ElementType::int2));

anybit_type type_of(const Port& port) {
  const graph::ElementTypeInfo* info = graph::find_element_type(port.element_type);
  return info ? static_cast<anybit_type>(info->type) : ANYBIT_TYPE_NONE;
}

std::string name_of(anybit_type type) { return graph::name_of(static_cast<ElementType>(type)); }

std::size_t bytes_of(anybit_type type) { return ops::element_bytes(static_cast<ElementType>(type)); }

Result<void> check_index(std::size_t index, std::size_t count, const char* what) {
  if (index < count) return {};
  return invalid_argument(fmt::format("there is no {} {}", what, index),
                          fmt::format("the model has {}, counted from 0", count));
}

std::string place_of(const char* what, const Port& port) {
  return fmt::format("{} '{}'", what, shown(port.name));
}

anybit_tensor_info info_of(const Port& port, const Grid& grid) {
  anybit_tensor_info info{};
  info.name = port.name.c_str();
  info.type = type_of(port);
  info.rank = port.has_rank ? static_cast<std::int32_t>(port.dims.size()) : -1;
  std::ranges::copy(port.dims, info.dims);  // the verifier bounds the rank
  info.quantized_type = static_cast<anybit_type>(grid.type);
  info.scale = grid.scale;
  info.zero_point = grid.zero_point;
  return info;
}

// Checks whether a buffer of this type can be bound.
Result<void> check_type(const Port& port, const Grid& grid, anybit_type type) {
  if (type == ANYBIT_TYPE_NONE || type == ANYBIT_TYPE_STRING)
    return error_at(Code::unsupported, {}, "buffers hold numbers, not strings, sequences or empty optionals");
  if (type == type_of(port) || (grid.type != ElementType::undefined && type == static_cast<int>(grid.type)))
    return {};
  return invalid_argument(
      fmt::format("a buffer of {}", name_of(type)),
      grid.type == ElementType::undefined
          ? fmt::format("the model has {}", port.type)
          : fmt::format("the model has {}, quantized to {}", port.type, graph::name_of(grid.type)));
}

Error too_short(std::size_t length, anybit_type type, const std::vector<std::int64_t>& dims,
                std::size_t needed) {
  return invalid_argument(fmt::format("a buffer of {} bytes is too small for {}[{}]", length, name_of(type),
                                      fmt::join(dims, ", ")),
                          fmt::format("{} bytes", needed));
}

// The bytes of a tensor; the largest number if they cannot be counted.
std::size_t bytes_of(const std::vector<std::int64_t>& dims, anybit_type type) {
  const auto bytes = checked_mul(element_count(dims).value_or(-1), static_cast<std::int64_t>(bytes_of(type)));
  return bytes && *bytes >= 0 ? static_cast<std::size_t>(*bytes) : SIZE_MAX;
}

bool is_static(const Port& port) { return port.has_rank && std::ranges::count(port.dims, -1) == 0; }

}  // namespace

Result<anybit_tensor_info> DeviceSession::input_info(std::size_t index) const {
  TRY(check_index(index, inputs_.size(), "input"));
  anybit_tensor_info info = info_of(inputs_[index], grids().inputs[index]);
  const Buffer& buffer = input_buffers_[index];
  if (!buffer.has_dims) return info;
  info.rank = static_cast<std::int32_t>(buffer.dims.size());
  std::ranges::copy(buffer.dims, info.dims);
  return info;
}

Result<anybit_tensor_info> DeviceSession::output_info(std::size_t index) const {
  TRY(check_index(index, outputs_.size(), "output"));
  anybit_tensor_info info = info_of(outputs_[index], grids().outputs[index]);
  const Buffer& buffer = output_buffers_[index];
  if (!buffer.has_dims) return info;
  info.rank = static_cast<std::int32_t>(buffer.dims.size());
  std::ranges::copy(buffer.dims, info.dims);
  return info;
}

Result<void> DeviceSession::set_input_shape(std::size_t index, std::span<const std::int64_t> dims) {
  TRY(check_index(index, inputs_.size(), "input"));
  const Port& port = inputs_[index];
  bool fits = std::ranges::all_of(dims, [](std::int64_t one) { return one >= 0; }) && element_count(dims);
  if (port.has_rank) {
    fits = fits && dims.size() == port.dims.size();
    for (std::size_t i = 0; fits && i < dims.size(); ++i) fits = port.dims[i] < 0 || dims[i] == port.dims[i];
  }
  if (!fits)
    return error_at(Code::invalid_argument, place_of("input", port),
                    fmt::format("cannot have the shape [{}]", fmt::join(dims, ", ")),
                    fmt::format("the model has {}", port.type));
  Buffer& buffer = input_buffers_[index];
  buffer.dims.assign(dims.begin(), dims.end());
  buffer.has_dims = true;
  return {};
}

// Longer buffers are checked by the run: the shape may still change.
Result<void> DeviceSession::check_input(std::size_t index, anybit_type type, std::size_t length) const {
  const Port& port = inputs_[index];
  TRY(check_type(port, grids().inputs[index], type));
  const Buffer& known = input_buffers_[index];
  if (!known.has_dims && !port.has_rank) return {};
  // The smallest shape that the input can have: a dynamic dimension has at least one element.
  std::vector<std::int64_t> dims = known.has_dims ? known.dims : port.dims;
  std::ranges::replace(dims, -1, 1);
  const std::size_t needed = bytes_of(dims, type);
  // Without elements: some dynamic dimension is 0.
  const bool empty = length == 0 && !known.has_dims && !is_static(port);
  return needed <= length || empty ? Result<void>() : too_short(length, type, dims, needed);
}

// The shape of a dynamic output is known only after the run.
Result<void> DeviceSession::check_output(std::size_t index, anybit_type type, std::size_t length) const {
  const Port& port = outputs_[index];
  TRY(check_type(port, grids().outputs[index], type));
  if (!is_static(port)) return {};
  const Buffer& known = output_buffers_[index];
  const std::vector<std::int64_t>& dims = known.has_dims ? known.dims : port.dims;
  const std::size_t needed = bytes_of(dims, type);
  return needed <= length ? Result<void>() : too_short(length, type, dims, needed);
}

Result<void> DeviceSession::set_input(std::size_t index, anybit_type type, const void* buffer,
                                      std::size_t length) {
  TRY(check_index(index, inputs_.size(), "input"));
  Buffer& target = input_buffers_[index];
  if (buffer) {
    auto checked = check_input(index, type, length);
    if (!checked.ok()) return std::move(checked).error().within(place_of("input", inputs_[index]));
  }
  target.type = type;
  target.bytes = static_cast<std::byte*>(const_cast<void*>(buffer));
  target.length = length;
  return {};
}

Result<void> DeviceSession::set_output(std::size_t index, anybit_type type, void* buffer,
                                       std::size_t length) {
  TRY(check_index(index, outputs_.size(), "output"));
  Buffer& target = output_buffers_[index];
  if (buffer) {
    auto checked = check_output(index, type, length);
    if (!checked.ok()) return std::move(checked).error().within(place_of("output", outputs_[index]));
  }
  target.type = type;
  target.bytes = static_cast<std::byte*>(buffer);
  target.length = length;
  return {};
}

// The shape that was set. Otherwise unknown dimensions are 1, but a single unknown dimension follows from the
// buffer's size.
Result<std::vector<std::int64_t>> DeviceSession::input_dims(std::size_t index) const {
  const Buffer& buffer = input_buffers_[index];
  const Port& port = inputs_[index];
  if (buffer.has_dims) return buffer.dims;
  if (!port.has_rank)
    return invalid_argument("the model takes any shape", "anybit_set_input_shape before the run");
  std::vector<std::int64_t> dims = port.dims;
  std::ranges::replace(dims, -1, 1);
  const auto known = element_count(dims);
  if (!known) return invalid_argument("the shape is impossible");
  if (buffer.bytes && std::ranges::count(port.dims, -1) == 1 && *known > 0) {
    const auto count = static_cast<std::int64_t>(buffer.length / bytes_of(buffer.type));
    dims[static_cast<std::size_t>(std::ranges::find(port.dims, -1) - port.dims.begin())] = count / *known;
  }
  return dims;
}

Result<Value> DeviceSession::input_value(std::size_t index) const {
  const Buffer& buffer = input_buffers_[index];
  TRY(check_type(inputs_[index], grids().inputs[index], buffer.type));
  std::vector<std::int64_t> dims = TRY(input_dims(index));
  const auto bytes =
      checked_mul(element_count(dims).value_or(-1), static_cast<std::int64_t>(bytes_of(buffer.type)));
  if (!bytes || static_cast<std::size_t>(*bytes) != buffer.length)
    return invalid_argument(
        fmt::format("a buffer of {} bytes for {}[{}]", buffer.length, name_of(buffer.type),
                    fmt::join(dims, ", ")),
        fmt::format("{} bytes; anybit_set_input_shape if the shape is another", bytes.value_or(0)));
  Array array;
  array.type = inputs_[index].element_type;
  array.bytes = {buffer.bytes, buffer.length};
  if (buffer.type != type_of(inputs_[index])) {
    std::vector<float> values(static_cast<std::size_t>(element_count(dims).value_or(0)));
    from_quantized(buffer.bytes, grids().inputs[index], values);
    array = TRY(Array::from_floats(std::move(values), dims));
  }
  array.dims = std::move(dims);
  return Value(std::move(array));
}

Result<std::map<std::string, Value>> DeviceSession::input_values() const {
  std::map<std::string, Value> values;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const std::string place = place_of("input", inputs_[i]);
    if (!input_buffers_[i].bytes) {
      if (!inputs_[i].required) continue;
      return error_at(Code::invalid_argument, place, "it has no buffer", "anybit_set_input before the run");
    }
    auto value = input_value(i);
    if (!value.ok()) return std::move(value).error().within(place);
    values.emplace(inputs_[i].name, std::move(value).value());
  }
  return values;
}

Result<void> DeviceSession::check_result(std::size_t index, const Value& value) const {
  const Buffer& buffer = output_buffers_[index];
  TRY(check_type(outputs_[index], grids().outputs[index], buffer.type));
  if (value.kind != Value::Kind::tensor)
    return error_at(Code::unsupported, {}, "it is not a tensor, and buffers hold only tensors",
                    "the C++ interface returns such values");
  const std::size_t needed = bytes_of(value.tensor.dims, buffer.type);
  return needed <= buffer.length ? Result<void>()
                                 : too_short(buffer.length, buffer.type, value.tensor.dims, needed);
}

void DeviceSession::write_output(std::size_t index, const Value& value) const {
  const Buffer& buffer = output_buffers_[index];
  const auto& bytes = value.tensor.bytes;
  if (buffer.type == type_of(outputs_[index])) {
    std::ranges::copy(bytes, buffer.bytes);
    return;
  }
  const std::span values(reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float));
  to_quantized(values, grids().outputs[index], buffer.bytes);
}

// Writes all outputs, or none.
Result<void> DeviceSession::deliver(const std::vector<Value>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    output_buffers_[i].dims = values[i].tensor.dims;
    output_buffers_[i].has_dims = values[i].kind == Value::Kind::tensor;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!output_buffers_[i].bytes) continue;
    auto checked = check_result(i, values[i]);
    if (!checked.ok()) return std::move(checked).error().within(place_of("output", outputs_[i]));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (output_buffers_[i].bytes) write_output(i, values[i]);
  }
  return {};
}

}  // namespace anybit
