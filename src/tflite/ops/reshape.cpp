// RESHAPE, SQUEEZE, EXPAND_DIMS, SHAPE, RANK, BROADCAST_TO, TILE, FILL: shapes as constants or as computed
// values.
#include <algorithm>

#include "base/error.hpp"
#include "base/try.hpp"
#include "tflite/table.hpp"

namespace anybit::tflite {
namespace {

using graph::attribute;
using graph::ElementType;

std::string cast_to(OperatorReader& here, const std::string& value, ElementType type) {
  return here.emit("Cast", {value}, {attribute("to", static_cast<std::int64_t>(type))});
}

// A 0 is a size here; in ONNX it would keep the input's.
std::string reshape(OperatorReader& here, const std::string& x, const Dims& shape) {
  std::vector<graph::Attribute> attributes;
  if (std::ranges::count(shape, 0) > 0) attributes.push_back(attribute("allowzero", std::int64_t{1}));
  return here.emit("Reshape", {x, here.graph().integers(shape)}, std::move(attributes));
}

Result<void> read_reshape(OperatorReader& here) {
  const std::string x = TRY(here.value(0));
  const auto* option = here.options<wire::ReshapeOptions>().new_shape();
  if (here.constant(1) || (here.has(1) && here.in(1).dims == Dims{0}))
    return here.define(reshape(here, x, TRY(here.integers(1))));
  if (here.has(1)) {
    const std::string shape = TRY(here.indices(1));
    return here.define(here.emit("Reshape", {x, shape}));
  }
  if (!option) return here.invalid("it has no shape");
  TRY(here.graph().file().take_records(option->size()));
  return here.define(reshape(here, x, Dims(option->begin(), option->end())));
}

Result<void> read_squeeze(OperatorReader& here) {
  const std::string x = TRY(here.value(0));
  const auto* dims = here.options<wire::SqueezeOptions>().squeeze_dims();
  if (!dims || dims->size() == 0) return here.define(here.emit("Squeeze", {x}));
  Dims axes;
  TRY(here.graph().file().take_records(dims->size()));
  for (const std::int32_t axis : *dims) axes.push_back(TRY(here.axis(0, axis)));
  return here.define(here.emit("Squeeze", {x, here.graph().integers(axes)}));
}

Result<void> read_expand_dims(OperatorReader& here) {
  const Dims axis = TRY(here.integers(1));
  if (axis.size() != 1) return here.invalid(fmt::format("it has {} axes", axis.size()), "it takes one");
  return here.define(here.emit("Unsqueeze", {TRY(here.value(0)), here.graph().integers(axis)}));
}

// Of the layout that the value has, so that no transpose is needed.
Result<void> read_shape(OperatorReader& here) {
  const Layout layout = here.constant(0) ? Layout::as_stored : here.layout(0);
  std::string shape = here.emit("Shape", {TRY(here.graph().stored(here.input(0), layout))});
  if (layout == Layout::channels_first)
    shape = here.emit("Gather", {shape, here.graph().integers(to_channels_last(here.in(0).rank()))});
  if (here.out().type != ElementType::int64) shape = cast_to(here, shape, here.out().type);
  return here.define(shape);
}

Result<void> read_rank(OperatorReader& here) {
  if (!here.in(0).has_rank) return here.unsupported("the rank of its input is unknown");
  const std::string rank = here.graph().integer(here.in(0).rank());
  return here.define(cast_to(here, rank, ElementType::int32));
}

Result<void> read_broadcast_to(OperatorReader& here) {
  const std::string x = TRY(here.value(0)), shape = TRY(here.indices(1));
  return here.define(here.emit("Expand", {x, shape}));
}

Result<void> read_tile(OperatorReader& here) {
  const std::string x = TRY(here.value(0)), repeats = TRY(here.indices(1));
  return here.define(here.emit("Tile", {x, repeats}));
}

Result<void> read_fill(OperatorReader& here) {
  const std::string value = TRY(here.value(1)), shape = TRY(here.indices(0));
  return here.define(here.emit("Expand", {value, shape}));
}

}  // namespace

std::span<const Descriptor> reshape_descriptors() {
  using wire::BuiltinOperator;
  static const Descriptor all[] = {
      {.name = "RESHAPE", .code = BuiltinOperator::RESHAPE, .inputs = 1, .read = read_reshape},
      {.name = "SQUEEZE", .code = BuiltinOperator::SQUEEZE, .inputs = 1, .read = read_squeeze},
      {.name = "EXPAND_DIMS", .code = BuiltinOperator::EXPAND_DIMS, .inputs = 2, .read = read_expand_dims},
      {.name = "SHAPE", .code = BuiltinOperator::SHAPE, .inputs = 1, .read = read_shape},
      {.name = "RANK", .code = BuiltinOperator::RANK, .inputs = 1, .read = read_rank},
      {.name = "BROADCAST_TO", .code = BuiltinOperator::BROADCAST_TO, .inputs = 2, .read = read_broadcast_to},
      {.name = "TILE", .code = BuiltinOperator::TILE, .inputs = 2, .read = read_tile},
      {.name = "FILL", .code = BuiltinOperator::FILL, .inputs = 2, .read = read_fill},
  };
  return all;
}

}  // namespace anybit::tflite
