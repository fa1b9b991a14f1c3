// Gather: slices by index. ONNX: Gather-1, -11, -13. ONNX Runtime's GatherBlockQuantized: rows of a packed
// embedding table.
#include <algorithm>

#include "ops/gradient.hpp"
#include "ops/move/data_movement.hpp"
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

// Two 4-bit values may share a byte of the table: a row is then twice as long as it is stored.
Result<Values> infer_blocks(const Call& call) {
  const auto& data = call.in(0).shape;
  const auto& indices = call.in(1).shape;
  if (!data || !indices || data->empty() || call.integer("gather_axis", 0) != 0) {
    return outputs_of(call, tensor(call.in(2).type, std::nullopt));
  }
  Shape shape = *indices;
  shape.insert(shape.end(), data->begin() + 1, data->end());
  const bool packed = call.in(0).type == ElementType::uint8 && call.integer("bits", 4) == 4;
  if (packed && !shape.empty()) shape.back() = shape.back() * Dim(2);
  return outputs_of(call, tensor(call.in(2).type, std::move(shape)));
}

template <class T, class Index>
void gather(const Frame& frame, const Array& data, std::size_t axis, std::span<const Index> indices,
            Array& out) {
  const std::int64_t size = data.dim(axis), inner = data.dims().product(axis + 1, data.rank());
  const std::int64_t outer = data.dims().product(0, axis), count = std::ssize(indices);
  const T* from = data.data<T>();
  T* to = out.mutable_data<T>();
  const auto body = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t at = first; at < last; ++at) {
      const std::int64_t place = place_of(indices[static_cast<std::size_t>(at % count)], size);
      const T* source = from + (at / count * size + place) * inner;
      if (inner == 1) {
        to[at] = *source;
      } else {
        std::copy_n(source, inner, to + at * inner);
      }
    }
  };
  parallel(frame, outer * count, 3.0 + 0.2 * static_cast<double>(inner) * sizeof(T), std::ref(body));
}

Result<void> run_gather(Frame& frame) {
  const Array& data = frame.in(0);
  const Array& indices = frame.in(1);
  const std::size_t axis = TRY(axis_of(frame.integer("axis", 0), data.rank()));
  const std::size_t rank = data.rank() - 1 + indices.rank();
  if (rank > Dims::kCapacity) return wrong(fmt::format("the output has rank {}", rank), "a smaller one");
  Dims dims;
  for (std::size_t i = 0; i < axis; ++i) dims.push_back(data.dim(i));
  for (const std::int64_t dim : indices.dims()) dims.push_back(dim);
  for (std::size_t i = axis + 1; i < data.rank(); ++i) dims.push_back(data.dim(i));
  TRY(check_indices(frame, 1, data.dim(axis)));
  Array* out = TRY(frame.out(0, data.type(), dims));
  if (out->count() == 0) return {};
  for_index(indices.type(), [&]<class Index>(Index) {
    for_copied(data.type(),
               [&]<class T>(T) { gather<T, Index>(frame, data, axis, indices.elements<Index>(), *out); });
  });
  return {};
}

// In an embedding table, each row is a channel.
std::int64_t gathered_axis(const graph::Node& node, std::size_t rank) {
  const graph::Attribute* given = node.attribute("axis");
  const auto* axis = given ? std::get_if<std::int64_t>(&given->value) : nullptr;
  if (!axis) return 0;
  return *axis < 0 ? *axis + static_cast<std::int64_t>(rank) : *axis;
}

Result<void> gradient(Gradient& g) {
  g.set(0, g.add("ScatterAdd", {g.input(1), g.dy(), g.shape(g.input(0))},
                 {graph::attribute("axis", g.integer("axis", 0))}, kTraining));
  return {};
}

}  // namespace

std::span<const Descriptor> gather_descriptors() {
  static const Descriptor all[] = {
      {.name = "Gather",
       .domain = "",
       .since = {1, 11, 13},
       .infer = infer_gather,
       .run = run_gather,
       .required = 2,
       .traits = {.role = Traits::Role::move,
                  .weights = {{0, gathered_axis}},
                  .pass_through = {.since = 1},
                  .alias = "embedding"},
       .gradient = gradient},
      {.name = "GatherBlockQuantized",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer_blocks,
       .quantized = {{.input = 0, .scale = 2, .zero_point = 3}}},
  };
  return all;
}

}  // namespace anybit::ops
