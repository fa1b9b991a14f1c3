// GATHER, GATHER_ND, SCATTER_ND, EMBEDDING_LOOKUP, ONE_HOT, TOPK_V2, WHERE, RANGE: elements by their indices.
#include <algorithm>

#include "base/error.hpp"
#include "base/try.hpp"
#include "tflite/table.hpp"

namespace anybit::tflite {
namespace {

using graph::attribute;
using graph::ElementType;

std::string cast_integers(OperatorReader& here, const std::string& value, ElementType to) {
  if (to == ElementType::int64) return value;
  return here.emit("Cast", {value}, {attribute("to", static_cast<std::int64_t>(to))});
}

Result<void> read_gather(OperatorReader& here) {
  const auto& options = here.options<wire::GatherOptions>();
  const std::int64_t axis = TRY(here.axis(0, options.axis()));
  const std::int64_t batch = options.batch_dims() + (options.batch_dims() < 0 ? here.in(1).rank() : 0);
  if (batch == 0) {
    const std::string x = TRY(here.value(0)), at = TRY(here.value(1));
    return here.define(here.emit("Gather", {x, at}, {attribute("axis", axis)}));
  }
  if (batch != axis || batch < 0)
    return here.unsupported(fmt::format("it has {} batch dimensions and axis {}", batch, axis));
  const std::string indices = here.emit("Unsqueeze", {TRY(here.indices(1)), here.graph().integers({-1})});
  return here.define(here.emit("GatherND", {TRY(here.value(0)), indices}, {attribute("batch_dims", batch)}));
}

// A list of int64 with the dimensions of input i.
Result<std::string> wide_indices(OperatorReader& here, std::size_t i) {
  const std::string value = TRY(here.value(i));
  if (here.in(i).type == ElementType::int64) return value;
  return here.emit("Cast", {value}, {attribute("to", static_cast<std::int64_t>(ElementType::int64))});
}

Result<void> read_gather_nd(OperatorReader& here) {
  const std::string x = TRY(here.value(0)), at = TRY(wide_indices(here, 1));
  return here.define(here.emit("GatherND", {x, at}));
}

// Updates of one place are added up.
Result<void> read_scatter_nd(OperatorReader& here) {
  const graph::ElementTypeInfo* type =
      graph::find(here.in(1).quantized() ? ElementType::float32 : here.in(1).type);
  if (!type || type->bits % 8 != 0 || type->bits == 0) return here.unsupported("values of this type");
  graph::Tensor zero;
  zero.element = static_cast<std::int32_t>(type->type);
  zero.dims = {1};
  zero.data = Bytes::own(std::string(static_cast<std::size_t>(type->bits) / 8, '\0'));
  const std::string zeros =
      here.emit("ConstantOfShape", {TRY(here.indices(2))}, {attribute("value", std::move(zero))});
  const std::string at = TRY(wide_indices(here, 0)), updates = TRY(here.value(1));
  return here.define(
      here.emit("ScatterND", {zeros, at, updates}, {attribute("reduction", std::string("add"))}));
}

Result<void> read_embedding_lookup(OperatorReader& here) {
  const std::string table = TRY(here.value(1)), rows = TRY(here.value(0));
  return here.define(here.emit("Gather", {table, rows}, {attribute("axis", std::int64_t{0})}));
}

Result<void> read_one_hot(OperatorReader& here) {
  const std::string depth = here.emit("Reshape", {TRY(here.value(1)), here.graph().integers({1})});
  const std::string on = here.emit("Reshape", {TRY(here.value(2)), here.graph().integers({1})});
  const std::string off = here.emit("Reshape", {TRY(here.value(3)), here.graph().integers({1})});
  const std::string values = here.emit("Concat", {off, on}, {attribute("axis", std::int64_t{0})});
  const std::int64_t axis = here.options<wire::OneHotOptions>().axis();
  return here.define(here.emit("OneHot", {TRY(here.value(0)), depth, values}, {attribute("axis", axis)}));
}

Result<void> read_topk(OperatorReader& here) {
  const std::string count = here.constant(1)
                                ? TRY(here.indices(1))
                                : here.emit("Reshape", {TRY(here.indices(1)), here.graph().integers({1})});
  const auto both = here.graph().emit_many("TopK", {TRY(here.value(0)), count}, 2);
  TRY(here.define(both[0], Layout::as_stored, 0));
  return here.define(cast_integers(here, both[1], here.out(1).type), Layout::as_stored, 1);
}

Result<void> read_where(OperatorReader& here) {
  const std::string columns = here.emit("NonZero", {TRY(here.value(0))});
  return here.define(cast_integers(here, here.emit("Transpose", {columns}, {attribute("perm", Dims{1, 0})}),
                                   here.out().type));
}

Result<void> read_range(OperatorReader& here) {
  const std::string start = TRY(here.value(0)), limit = TRY(here.value(1)), step = TRY(here.value(2));
  return here.define(here.emit("Range", {start, limit, step}));
}

}  // namespace

std::span<const Descriptor> gather_descriptors() {
  using wire::BuiltinOperator;
  static const Descriptor all[] = {
      {.name = "GATHER", .code = BuiltinOperator::GATHER, .inputs = 2, .read = read_gather},
      {.name = "GATHER_ND", .code = BuiltinOperator::GATHER_ND, .inputs = 2, .read = read_gather_nd},
      {.name = "SCATTER_ND", .code = BuiltinOperator::SCATTER_ND, .inputs = 3, .read = read_scatter_nd},
      {.name = "EMBEDDING_LOOKUP",
       .code = BuiltinOperator::EMBEDDING_LOOKUP,
       .inputs = 2,
       .read = read_embedding_lookup},
      {.name = "ONE_HOT", .code = BuiltinOperator::ONE_HOT, .inputs = 4, .read = read_one_hot},
      {.name = "TOPK_V2", .code = BuiltinOperator::TOPK_V2, .inputs = 2, .outputs = 2, .read = read_topk},
      {.name = "WHERE", .code = BuiltinOperator::WHERE, .inputs = 1, .read = read_where},
      {.name = "RANGE", .code = BuiltinOperator::RANGE, .inputs = 3, .read = read_range},
  };
  return all;
}

}  // namespace anybit::tflite
