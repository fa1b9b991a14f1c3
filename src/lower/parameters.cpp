#include "lower/parameters.hpp"

#include <algorithm>

namespace anybit::lower {

using graph::ElementType;

std::int64_t opset_of(ElementType type, bool by_channel, bool by_block) {
  const graph::ElementTypeInfo* info = graph::find(type);
  if (info->bits == 2) return 25;
  if (type == ElementType::float4e2m1) return 23;
  if (info->bits != 8 || by_block) return 21;
  if (graph::integer_range(type).bits == 0) return 19;  // floating point
  return by_channel ? 13 : 10;
}

Places::Places(std::span<const std::int64_t> dims, std::int64_t axis, std::int64_t block_size)
    : length(dims[static_cast<std::size_t>(axis)]), block(block_size), single(false) {
  for (const std::int64_t dim : dims.subspan(static_cast<std::size_t>(axis) + 1)) inner *= dim;
  if (block > 0) blocks = (length + block - 1) / block;
}

namespace {

// Returns true if the scales have the same layout over `dims` as over `grouped`.
bool lie_alike(const std::vector<std::int64_t>& grouped, const std::vector<std::int64_t>& dims,
               const Parameters& parameters) {
  if (parameters.per_tensor()) return true;
  if (dims.size() < grouped.size()) return false;
  if (parameters.block_size == 0 && parameters.axis == 0) return dims[0] == grouped[0];
  const auto rest = dims.begin() + std::ssize(grouped);
  return std::equal(grouped.begin(), grouped.end(), dims.begin(), rest) &&
         std::count(rest, dims.end(), 1) == dims.end() - rest;
}

graph::Tensor named(ElementType type, std::vector<std::int64_t> dims, std::string name) {
  graph::Tensor tensor;
  tensor.name = graph::Text(std::move(name));
  tensor.element = static_cast<std::int32_t>(type);
  tensor.dims = std::move(dims);
  return tensor;
}

template <class T>
Bytes narrowed(const std::vector<std::int32_t>& quantized) {
  std::vector<T> values;
  for (const std::int32_t one : quantized) values.push_back(static_cast<T>(one));
  return Bytes::own(std::move(values));
}

}  // namespace

std::vector<std::int64_t> fit(Parameters& parameters, const std::vector<std::int64_t>& grouped,
                              const std::vector<std::int64_t>& dims) {
  if (!lie_alike(grouped, dims, parameters)) return grouped;
  if (parameters.block_size > 0) parameters.dims.resize(dims.size(), 1);
  return dims;
}

Bytes pack(std::vector<std::uint8_t> values, int bits) {
  if (bits >= 8) return Bytes::own(std::move(values));
  const auto width = static_cast<std::size_t>(bits), each = 8 / width;
  std::vector<std::uint8_t> bytes((values.size() + each - 1) / each);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const unsigned kept = values[i] & ((1U << width) - 1U);
    bytes[i / each] = static_cast<std::uint8_t>(bytes[i / each] | kept << (i % each * width));
  }
  return Bytes::own(std::move(bytes));
}

graph::Tensor code_tensor(ElementType type, const std::vector<std::int64_t>& dims,
                          const std::vector<std::int32_t>& values, std::string name) {
  graph::Tensor tensor = named(type, dims, std::move(name));
  const int bits = graph::find(type)->bits;
  if (bits == 32) tensor.data = Bytes::own(values);
  if (bits == 16) tensor.data = narrowed<std::uint16_t>(values);
  if (bits > 8) return tensor;
  std::vector<std::uint8_t> bytes;
  for (const std::int32_t code : values) bytes.push_back(static_cast<std::uint8_t>(code));
  tensor.data = pack(std::move(bytes), bits);
  return tensor;
}

graph::Tensor scale_tensor(const Parameters& of, std::string name) {
  graph::Tensor tensor = named(ElementType::float32, of.dims, std::move(name));
  tensor.data = Bytes::own(of.scales);
  return tensor;
}

graph::Tensor zero_point_tensor(const Parameters& of, std::string name) {
  return code_tensor(of.type, of.dims, of.zero_points, std::move(name));
}

}  // namespace anybit::lower
