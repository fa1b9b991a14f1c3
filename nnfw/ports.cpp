// Inputs and outputs: their descriptions and buffers.
#include <algorithm>
#include <cstdint>

#include "session.hpp"

namespace anybit::nnfw {
namespace {

// The bytes of an element; 0 if onert has no such type.
std::size_t element_bytes(anybit_type type) {
  switch (type) {
    case ANYBIT_TYPE_UINT8:
    case ANYBIT_TYPE_INT8:
    case ANYBIT_TYPE_BOOL:
      return 1;
    case ANYBIT_TYPE_INT16:
      return 2;
    case ANYBIT_TYPE_FLOAT32:
    case ANYBIT_TYPE_INT32:
      return 4;
    case ANYBIT_TYPE_INT64:
      return 8;
    default:
      return 0;
  }
}

std::optional<NNFW_TYPE> onert_type(anybit_type type) {
  switch (type) {
    case ANYBIT_TYPE_FLOAT32:
      return NNFW_TYPE_TENSOR_FLOAT32;
    case ANYBIT_TYPE_INT32:
      return NNFW_TYPE_TENSOR_INT32;
    case ANYBIT_TYPE_BOOL:
      return NNFW_TYPE_TENSOR_BOOL;
    case ANYBIT_TYPE_UINT8:
      return NNFW_TYPE_TENSOR_UINT8;
    case ANYBIT_TYPE_INT64:
      return NNFW_TYPE_TENSOR_INT64;
    case ANYBIT_TYPE_INT8:
      return NNFW_TYPE_TENSOR_QUANT8_ASYMM_SIGNED;
    case ANYBIT_TYPE_INT16:
      return NNFW_TYPE_TENSOR_QUANT16_SYMM_SIGNED;
    default:
      return std::nullopt;
  }
}

template <class Info>
NNFW_STATUS find_name(const Info& info, std::size_t count, const std::string& name, std::uint32_t* index) {
  for (std::uint32_t i = 0; i < count; ++i) {
    anybit_tensor_info port;
    if (info(i, &port) != ANYBIT_OK || name != port.name) continue;
    *index = i;
    return NNFW_STATUS_NO_ERROR;
  }
  return NNFW_STATUS_ERROR;
}

}  // namespace

anybit_type type_of(NNFW_TYPE type) {
  switch (type) {
    case NNFW_TYPE_TENSOR_FLOAT32:
      return ANYBIT_TYPE_FLOAT32;
    case NNFW_TYPE_TENSOR_INT32:
      return ANYBIT_TYPE_INT32;
    case NNFW_TYPE_TENSOR_QUANT8_ASYMM:
    case NNFW_TYPE_TENSOR_UINT8:
      return ANYBIT_TYPE_UINT8;
    case NNFW_TYPE_TENSOR_BOOL:
      return ANYBIT_TYPE_BOOL;
    case NNFW_TYPE_TENSOR_INT64:
      return ANYBIT_TYPE_INT64;
    case NNFW_TYPE_TENSOR_QUANT8_ASYMM_SIGNED:
      return ANYBIT_TYPE_INT8;
    case NNFW_TYPE_TENSOR_QUANT16_SYMM_SIGNED:
      return ANYBIT_TYPE_INT16;
  }
  return ANYBIT_TYPE_NONE;
}

std::optional<std::size_t> bytes_of(const anybit_tensor_info& info, anybit_type type) {
  std::size_t bytes = element_bytes(type);
  if (info.rank < 0 || bytes == 0) return std::nullopt;
  for (std::int32_t i = 0; i < info.rank; ++i) {
    if (info.dims[i] < 0 || __builtin_mul_overflow(bytes, static_cast<std::size_t>(info.dims[i]), &bytes))
      return std::nullopt;
  }
  return bytes;
}

NNFW_STATUS Session::check_index(std::uint32_t index, std::size_t count, const char* what) {
  if (index < count) return NNFW_STATUS_NO_ERROR;
  return fail(NNFW_STATUS_ERROR, "there is no " + std::string(what) + " " + std::to_string(index) +
                                     ": the model has " + std::to_string(count) + ", counted from 0");
}

NNFW_STATUS Session::fill(const anybit_tensor_info& from, nnfw_tensorinfo* info) {
  const auto type = onert_type(from.type);
  const bool fits =
      from.rank >= 0 && from.rank <= NNFW_MAX_RANK &&
      std::all_of(from.dims, from.dims + from.rank, [](std::int64_t dim) { return dim <= INT32_MAX; });
  if (!type || !fits)
    return fail(NNFW_STATUS_ERROR, "'" + std::string(from.name) +
                                       "' has a type or a shape that nnfw_tensorinfo " +
                                       "cannot hold; anybit/anybit.h can");
  *info = {};
  info->dtype = *type;
  info->rank = from.rank;
  for (std::int32_t i = 0; i < from.rank; ++i) info->dims[i] = static_cast<std::int32_t>(from.dims[i]);
  return NNFW_STATUS_NO_ERROR;
}

NNFW_STATUS Session::input_info(std::uint32_t index, nnfw_tensorinfo* info) {
  if (const auto bad = check_index(index, inputs_.size(), "input")) return bad;
  anybit_tensor_info port;
  const anybit_status status = anybit_input_info(session_.get(), index, &port);
  return status == ANYBIT_OK ? fill(port, info) : of(status);
}

NNFW_STATUS Session::output_info(std::uint32_t index, nnfw_tensorinfo* info) {
  if (const auto bad = check_index(index, outputs_.size(), "output")) return bad;
  anybit_tensor_info port;
  const anybit_status status = anybit_output_info(session_.get(), index, &port);
  return status == ANYBIT_OK ? fill(port, info) : of(status);
}

NNFW_STATUS Session::input_index(const std::string& name, std::uint32_t* index) {
  const auto info = [&](std::uint32_t i, anybit_tensor_info* port) {
    return anybit_input_info(session_.get(), i, port);
  };
  const NNFW_STATUS found = find_name(info, inputs_.size(), name, index);
  return found ? fail(found, "the model has no input '" + name + "'") : found;
}

NNFW_STATUS Session::output_index(const std::string& name, std::uint32_t* index) {
  const auto info = [&](std::uint32_t i, anybit_tensor_info* port) {
    return anybit_output_info(session_.get(), i, port);
  };
  const NNFW_STATUS found = find_name(info, outputs_.size(), name, index);
  return found ? fail(found, "the model has no output '" + name + "'") : found;
}

NNFW_STATUS Session::check_type(const anybit_tensor_info& info, NNFW_TYPE type) {
  const anybit_type wanted = type_of(type);
  if (wanted != ANYBIT_TYPE_NONE && (wanted == info.type || wanted == info.quantized_type))
    return NNFW_STATUS_NO_ERROR;
  return fail(NNFW_STATUS_ERROR, "'" + std::string(info.name) + "' has another type than " +
                                     std::to_string(static_cast<int>(type)) +
                                     "; nnfw_input_tensorinfo and nnfw_output_tensorinfo describe it");
}

// Longer buffers than the input are allowed: their end is not read.
anybit_status Session::give_input(std::uint32_t index, const anybit_tensor_info& info) {
  const Input& input = inputs_[index];
  const anybit_type type = type_of(input.type);
  const std::size_t length = std::min(input.length, bytes_of(info, type).value_or(input.length));
  return anybit_set_input(session_.get(), index, type, input.bytes, length);
}

NNFW_STATUS Session::set_input(std::uint32_t index, NNFW_TYPE type, const void* bytes, std::size_t length) {
  if (const auto bad = check_index(index, inputs_.size(), "input")) return bad;
  if (!bytes && length != 0) return fail(NNFW_STATUS_ERROR, "the buffer is NULL, but its length is not 0");
  anybit_tensor_info info;
  if (const auto status = anybit_input_info(session_.get(), index, &info)) return of(status);
  if (const auto bad = bytes ? check_type(info, type) : NNFW_STATUS_NO_ERROR) return bad;
  const Input before = inputs_[index];
  inputs_[index] = {type, bytes, length};
  const anybit_status status = give_input(index, info);
  if (status != ANYBIT_OK) inputs_[index] = before;
  return of(status);
}

NNFW_STATUS Session::set_output(std::uint32_t index, NNFW_TYPE type, void* bytes, std::size_t length) {
  if (const auto bad = check_index(index, outputs_.size(), "output")) return bad;
  if (!bytes && length != 0) return fail(NNFW_STATUS_ERROR, "the buffer is NULL, but its length is not 0");
  anybit_tensor_info info;
  if (const auto status = anybit_output_info(session_.get(), index, &info)) return of(status);
  if (const auto bad = bytes ? check_type(info, type) : NNFW_STATUS_NO_ERROR) return bad;
  const anybit_type wanted = type_of(type);
  const anybit_status status = anybit_set_output(session_.get(), index, wanted, bytes, length);
  if (status == ANYBIT_OK) {
    outputs_[index] = {bytes != nullptr, length, bytes ? wanted : ANYBIT_TYPE_NONE, {}};
    return NNFW_STATUS_NO_ERROR;
  }
  const NNFW_STATUS failed = of(status);
  const auto needed = bytes_of(info, wanted);
  return status == ANYBIT_INVALID_ARGUMENT && needed && *needed > length
             ? NNFW_STATUS_INSUFFICIENT_OUTPUT_SIZE
             : failed;
}

NNFW_STATUS Session::set_input_shape(std::uint32_t index, const nnfw_tensorinfo& info) {
  if (const auto bad = check_index(index, inputs_.size(), "input")) return bad;
  const bool fits = info.rank >= 0 && info.rank <= NNFW_MAX_RANK &&
                    std::all_of(info.dims, info.dims + info.rank, [](std::int32_t dim) { return dim > 0; });
  if (!fits)
    return fail(NNFW_STATUS_ERROR,
                "a rank of 0 to " + std::to_string(NNFW_MAX_RANK) + " and dimensions from 1 would be right");
  anybit_tensor_info port;
  if (const auto status = anybit_input_info(session_.get(), index, &port)) return of(status);
  if (const auto bad = check_type(port, info.dtype)) return bad;
  const std::vector<std::int64_t> dims(info.dims, info.dims + info.rank);
  const anybit_status status = anybit_set_input_shape(session_.get(), index, info.rank, dims.data());
  if (status != ANYBIT_OK) return of(status);
  // A buffer that is too short for the new shape is an error of the run, unless the caller sets another.
  if (inputs_[index].bytes && anybit_input_info(session_.get(), index, &port) == ANYBIT_OK)
    give_input(index, port);
  return NNFW_STATUS_NO_ERROR;
}

NNFW_STATUS Session::check_input_type(std::uint32_t index, NNFW_TYPE type) {
  if (const auto bad = check_index(index, inputs_.size(), "input")) return bad;
  anybit_tensor_info info;
  if (const auto status = anybit_input_info(session_.get(), index, &info)) return of(status);
  return type == NNFW_TYPE_TENSOR_FLOAT32 ? check_type(info, type)
                                          : fail(NNFW_STATUS_ERROR, "only float32 can be set");
}

NNFW_STATUS Session::check_output_type(std::uint32_t index, NNFW_TYPE type) {
  if (const auto bad = check_index(index, outputs_.size(), "output")) return bad;
  anybit_tensor_info info;
  if (const auto status = anybit_output_info(session_.get(), index, &info)) return of(status);
  return type == NNFW_TYPE_TENSOR_FLOAT32 ? check_type(info, type)
                                          : fail(NNFW_STATUS_ERROR, "only float32 can be set");
}

NNFW_STATUS Session::get_output(std::uint32_t index, nnfw_tensorinfo* info, const void** bytes) {
  if (const auto bad = output_info(index, info)) return bad;
  const Output& output = outputs_[index];
  if (output.own.empty())
    return fail(NNFW_STATUS_ERROR,
                "the output is not kept: NNFW_ENABLE_INTERNAL_OUTPUT_ALLOC before nnfw_prepare, "
                "and no buffer of the caller's");
  *bytes = output.own.data();
  return NNFW_STATUS_NO_ERROR;
}

}  // namespace anybit::nnfw
