// Gather, GatherElements, GatherND: elements by index. ONNX Runtime's GatherBlockQuantized: rows of a packed
// table.
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

std::optional<std::vector<Dim>> picked(const Value& data, const Value& indices) {
  if (!data.elements || !indices.elements || !data.has_rank(1)) return std::nullopt;
  const auto count = static_cast<std::int64_t>(data.elements->size());
  std::vector<Dim> list;
  for (const Dim& index : *indices.elements) {
    if (!index.known() || *index.size < -count || *index.size >= count) return std::nullopt;
    list.push_back(
        (*data.elements)[static_cast<std::size_t>(*index.size < 0 ? *index.size + count : *index.size)]);
  }
  return list;
}

Result<Values> infer_gather(const Call& call) {
  const Value& data = call.in(0);
  const Value& indices = call.in(1);
  if (!data.shape || !indices.shape) return outputs_of(call, tensor(data.type, std::nullopt));
  const std::size_t axis = TRY(axis_of(call.integer("axis", 0), data.shape->size()));
  Shape shape(data.shape->begin(), data.shape->begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.end(), indices.shape->begin(), indices.shape->end());
  shape.insert(shape.end(), data.shape->begin() + static_cast<std::ptrdiff_t>(axis) + 1, data.shape->end());
  Value value = tensor(data.type, std::move(shape));
  value.elements = picked(data, indices);
  return outputs_of(call, std::move(value));
}

Result<Values> infer_elements(const Call& call) {
  return outputs_of(call, tensor(call.in(0).type, call.in(1).shape));
}

// The last axis of the indices says how many axes of the data they address, after `batch_dims` shared ones.
Result<Values> infer_nd(const Call& call) {
  const auto& data = call.in(0).shape;
  const auto& indices = call.in(1).shape;
  if (!data || !indices || indices->empty() || !indices->back().known()) {
    return outputs_of(call, tensor(call.in(0).type, std::nullopt));
  }
  const Dim used = indices->back() + Dim(call.integer("batch_dims", 0));
  if (!used.known() || *used.size < 0 || *used.size > static_cast<std::int64_t>(data->size())) {
    return wrong(fmt::format("indices of shape [{}] address more axes than [{}] has", to_string(*indices),
                             to_string(*data)));
  }
  Shape shape(indices->begin(), indices->end() - 1);
  shape.insert(shape.end(), data->begin() + static_cast<std::ptrdiff_t>(*used.size), data->end());
  return outputs_of(call, tensor(call.in(0).type, std::move(shape)));
}

// Two 4-bit values may share a byte of the table: the row's length is then twice what is stored.
Result<Values> infer_blocks(const Call& call) {
  const auto& data = call.in(0).shape;
  const auto& indices = call.in(1).shape;
  if (!data || !indices || data->empty() || call.integer("gather_axis", 0) != 0) {
    return outputs_of(call, tensor(call.in(2).type, std::nullopt));
  }
  Shape shape = *indices;
  shape.insert(shape.end(), data->begin() + 1, data->end());
  const bool packed = call.in(0).type == ElementType::uint8 && call.integer("bits", 4) == 4;
  if (packed) shape.back() = shape.back() * Dim(2);
  return outputs_of(call, tensor(call.in(2).type, std::move(shape)));
}

}  // namespace

std::span<const Descriptor> gather_descriptors() {
  static const Descriptor all[] = {
      {.name = "Gather", .domain = "", .since = {1, 11, 13}, .infer = infer_gather},
      {.name = "GatherElements", .domain = "", .since = {11, 13}, .infer = infer_elements},
      {.name = "GatherND", .domain = "", .since = {11, 12, 13}, .infer = infer_nd},
      {.name = "GatherBlockQuantized",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer_blocks,
       .quantized = {{.input = 0, .scale = 2, .zero_point = 3}}},
  };
  return all;
}

}  // namespace anybit::ops
