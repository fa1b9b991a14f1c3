// Concat: concatenates tensors along one axis. ONNX: Concat-1 (axis may be left out: 1), -4, -11, -13; ONNX
// Runtime's QLinearConcat, whose inputs come in threes: tensor, scale, zero point.
#include "base/checked.hpp"
#include "ops/gradient.hpp"
#include "ops/move/data_movement.hpp"
#include "ops/quantized/quantization.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Value> joined(const Call& call, std::span<const Value* const> parts) {
  Value value;
  if (!parts.empty()) value.type = parts[0]->type;
  for (const Value* part : parts) {
    if (!part->shape) return value;
  }
  if (parts.empty()) return value;
  Shape shape = *parts[0]->shape;
  const std::size_t axis = TRY(axis_of(call.integer("axis", 1), shape.size()));
  for (const Value* part : parts.subspan(1)) {
    const Shape& other = *part->shape;
    if (other.size() != shape.size()) {
      return wrong(fmt::format("tensors of rank {} and {} cannot be joined", shape.size(), other.size()));
    }
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (i == axis) {
        shape[i] = shape[i] + other[i];
      } else if (!shape[i].known()) {
        shape[i] = other[i].known() ? other[i] : same(shape[i], other[i]) ? shape[i] : Dim();
      } else if (other[i].known() && !same(shape[i], other[i])) {
        return wrong(fmt::format("shapes [{}] and [{}] differ on axis {}, which is not joined",
                                 to_string(*parts[0]->shape), to_string(other), i));
      }
    }
  }
  value.shape = std::move(shape);
  return value;
}

std::optional<std::vector<Dim>> joined_elements(std::span<const Value* const> parts) {
  std::vector<Dim> list;
  for (const Value* part : parts) {
    if (!part->elements || !part->has_rank(1)) return std::nullopt;
    list.insert(list.end(), part->elements->begin(), part->elements->end());
    if (static_cast<std::int64_t>(list.size()) > kFollowed) return std::nullopt;
  }
  return list;
}

Result<Values> infer(const Call& call) {
  Value value = TRY(joined(call, call.inputs));
  if (value.has_rank(1)) value.elements = joined_elements(call.inputs);
  return outputs_of(call, std::move(value));
}

Result<Values> infer_qlinear(const Call& call) {
  std::vector<const Value*> parts;
  for (std::size_t i = 2; i < call.inputs.size(); i += 3) parts.push_back(call.inputs[i]);
  return outputs_of(call, TRY(joined(call, parts)));
}

// The dims of the concatenated inputs.
Result<Dims> joined_dims(const Frame& frame, std::size_t axis) {
  const Array& first = frame.in(0);
  Dims dims = first.dims();
  for (std::size_t i = 1; i < frame.input_count(); ++i) {
    const Array& other = frame.in(i);
    if (!frame.datum(i).is_array() || other.type() != first.type()) {
      return wrong(
          fmt::format("{} and {} cannot be joined", to_string(frame.datum(0)), to_string(frame.datum(i))),
          "tensors of the same type");
    }
    bool fits = other.rank() == dims.size();
    for (std::size_t k = 0; fits && k < dims.size(); ++k) fits = k == axis || other.dim(k) == dims[k];
    const auto size = fits ? checked_add(dims[axis], other.dim(axis)) : std::nullopt;
    if (!size) {
      return wrong(
          fmt::format("{} and {} cannot be joined on axis {}", to_string(first), to_string(other), axis),
          "equal sizes on every other axis");
    }
    dims[axis] = *size;
  }
  return dims;
}

// The common layout of the inputs, if they can be concatenated in it: every input but the last needs full
// channel blocks.
Layout common_layout(const Frame& frame, std::size_t axis) {
  const Layout layout = frame.in(0).layout();
  for (std::size_t i = 0; i < frame.input_count(); ++i) {
    const Array& input = frame.in(i);
    const bool whole = i + 1 == frame.input_count() || input.rank() < 2 || input.dim(1) % 8 == 0;
    if (input.layout() != layout || (layout == Layout::blocked8 && axis == 1 && !whole)) return Layout::plain;
  }
  return frame.in(0).rank() < Dims::kCapacity ? layout : Layout::plain;
}

Result<void> run(Frame& frame) {
  const std::size_t axis = TRY(axis_of(frame.integer("axis", 1), frame.in(0).rank()));
  const Dims dims = TRY(joined_dims(frame, axis));
  if (frame.input_count() == 1) return frame.share(0, 0, dims);
  const Layout layout = common_layout(frame, axis);
  for (std::size_t i = 0; i < frame.input_count(); ++i) {
    if (frame.in(i).layout() != layout) TRY(frame.make_plain(i));
  }
  Array* out = TRY(frame.out(0, frame.in(0).type(), dims, layout));
  const Dims strides = strides_of(stored_dims(dims, layout));
  const std::size_t joined = stored_axis(axis, dims.size(), layout);
  std::int64_t at = 0;
  for (std::size_t i = 0; i < frame.input_count(); ++i) {
    const Array& input = frame.in(i);
    const Dims sizes = stored_dims(input.dims(), layout);
    copy_view(frame, sizes, input, {0, strides_of(sizes)}, *out, {at * strides[joined], strides});
    at += sizes[joined];
  }
  return {};
}

// Each input is requantized to the result's scale by a lookup table.
Result<void> run_qlinear(Frame& frame) {
  const Array& first = frame.in(2);
  const ElementType type = first.type();
  if (!is_byte(type)) return wrong_type(frame, 2);
  const Quantization to = TRY(quantization_at(frame, 0, 1, type));
  const std::size_t axis = TRY(axis_of(frame.integer("axis", 1), first.rank()));
  Dims dims = first.dims();
  dims[axis] = 0;
  for (std::size_t i = 2; i < frame.input_count(); i += 3) {
    const Array& part = frame.in(i);
    bool fits = part.type() == type && part.rank() == dims.size();
    for (std::size_t k = 0; fits && k < dims.size(); ++k) fits = k == axis || part.dim(k) == dims[k];
    const auto size = fits ? checked_add(dims[axis], part.dim(axis)) : std::nullopt;
    if (!size) return wrong(fmt::format("{} and {} cannot be joined", to_string(first), to_string(part)));
    TRY(quantization_at(frame, i + 1, i + 2, type));
    dims[axis] = *size;
  }
  Array* out = TRY(frame.out(0, type, dims));
  const std::int64_t rows = dims.product(0, axis), inner = dims.product(axis + 1, dims.size());
  std::int64_t at = 0;
  for (std::size_t i = 2; i < frame.input_count(); i += 3) {
    const Array& part = frame.in(i);
    const Quantization from = TRY(quantization_at(frame, i + 1, i + 2, type));
    const ByteTable table = byte_table(type, from, to, [](float x) { return x; });
    const std::int64_t length = part.dim(axis) * inner;
    for (std::int64_t row = 0; row < rows; ++row) {
      look_up(table, part.data<std::uint8_t>() + row * length,
              out->mutable_data<std::uint8_t>() + (row * dims[axis] + at) * inner, length);
    }
    at += part.dim(axis);
  }
  return {};
}

// Splits dy. Sizes that are known only when the model runs come from the shapes of the inputs.
Result<void> gradient(Gradient& g) {
  const auto axis = g.integer("axis", 1);
  const std::size_t count = g.node.inputs.size();
  std::vector<std::int64_t> known;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& part = g.in(i).shape;
    if (!part) break;
    const Dim& size = (*part)[TRY(axis_of(axis, part->size()))];
    if (!size.known()) break;
    known.push_back(*size.size);
  }
  std::string sizes;
  if (known.size() == count) {
    sizes = g.integers(known);
  } else {
    std::vector<std::string> each;
    const std::string at = g.integers({axis});
    for (std::size_t i = 0; i < count; ++i) each.push_back(g.add("Gather", {g.shape(g.input(i)), at}));
    sizes = g.add("Concat", std::move(each), {graph::attribute("axis", std::int64_t{0})});
  }
  const auto parts = g.add_all("Split", {g.dy(), sizes}, count, {graph::attribute("axis", axis)});
  for (std::size_t i = 0; i < count; ++i) g.set(i, parts[i]);
  return {};
}

}  // namespace

std::span<const Descriptor> concat_descriptors() {
  static const Descriptor all[] = {
      {.name = "Concat",
       .domain = "",
       .since = {1, 4, 11, 13},
       .infer = infer,
       .run = run,
       .layouts = Layouts::each,
       .traits = moves({.since = 4}, {-1}),
       .gradient = gradient},
      {.name = "QLinearConcat",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer_qlinear,
       .quantized = {{.output = 0, .scale = 0, .zero_point = 1}},
       .run = run_qlinear,
       .required = 3},
  };
  return all;
}

}  // namespace anybit::ops
