// CONCATENATION, PACK, UNPACK, SPLIT, SPLIT_V: values side by side along one axis.
#include "base/error.hpp"
#include "base/try.hpp"
#include "tflite/broadcast.hpp"
#include "tflite/table.hpp"

namespace anybit::tflite {
namespace {

using graph::attribute;

bool same_ranks(const OperatorReader& here) {
  for (std::size_t i = 0; i < here.inputs(); ++i) {
    if (here.in(i).rank() != here.in(0).rank() || !here.in(i).has_rank) return false;
  }
  return true;
}

Result<void> read_concatenation(OperatorReader& here) {
  const auto& options = here.options<wire::ConcatenationOptions>();
  const Layout layout = same_ranks(here) ? here.common_layout() : Layout::as_stored;
  std::vector<std::string> values;
  for (std::size_t i = 0; i < here.inputs(); ++i) values.push_back(TRY(here.value(i, layout)));
  const std::int64_t axis = TRY(here.axis(0, options.axis(), layout));
  return here.define_activated(here.emit("Concat", std::move(values), {attribute("axis", axis)}),
                               options.fused_activation_function(), layout);
}

Result<void> read_pack(OperatorReader& here) {
  std::int64_t axis = here.options<wire::PackOptions>().axis();
  const std::int64_t rank = here.in(0).rank() + 1;
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank || !here.in(0).has_rank)
    return here.invalid("its axis lies outside of the result");
  std::vector<std::string> values;
  for (std::size_t i = 0; i < here.inputs(); ++i)
    values.push_back(here.emit("Unsqueeze", {TRY(here.value(i)), here.graph().integers({axis})}));
  return here.define(here.emit("Concat", std::move(values), {attribute("axis", axis)}));
}

Result<void> define_all(OperatorReader& here, const std::vector<std::string>& values, Layout layout) {
  for (std::size_t i = 0; i < values.size(); ++i) TRY(here.define(values[i], layout, i));
  return {};
}

Result<void> read_unpack(OperatorReader& here) {
  const std::int64_t axis = TRY(here.axis(0, here.options<wire::UnpackOptions>().axis()));
  std::vector<std::string> parts{TRY(here.value(0))};
  if (here.outputs() > 1)
    parts = here.graph().emit_many(
        "Split", {parts[0]}, here.outputs(),
        {attribute("axis", axis), attribute("num_outputs", static_cast<std::int64_t>(here.outputs()))});
  for (std::string& part : parts) part = here.emit("Squeeze", {part, here.graph().integers({axis})});
  return define_all(here, parts, Layout::as_stored);
}

// Equal parts; the axis is an input.
Result<void> read_split(OperatorReader& here) {
  const Dims axis = TRY(here.integers(0));
  if (axis.size() != 1) return here.invalid("its axis is not one number");
  const Layout layout = here.common_layout();
  const std::int64_t place = TRY(here.axis(1, axis[0], layout));
  const auto parts = here.graph().emit_many(
      "Split", {TRY(here.value(1, layout))}, here.outputs(),
      {attribute("axis", place), attribute("num_outputs", static_cast<std::int64_t>(here.outputs()))});
  return define_all(here, parts, layout);
}

Result<void> read_split_v(OperatorReader& here) {
  const Dims axis = TRY(here.integers(2));
  Dims sizes = TRY(here.integers(1));
  if (axis.size() != 1 || sizes.size() != here.outputs())
    return here.invalid(
        fmt::format("it has {} axes, {} sizes and {} outputs", axis.size(), sizes.size(), here.outputs()));
  const Layout layout = here.common_layout();
  const std::int64_t place = TRY(here.axis(0, axis[0], layout));
  std::int64_t rest = here.in(0).dims[static_cast<std::size_t>(TRY(here.axis(0, axis[0])))];
  for (const std::int64_t size : sizes) rest -= std::max<std::int64_t>(size, 0);
  for (std::int64_t& size : sizes) {  // one size may be -1: the rest
    if (size < 0 && rest < 0) return here.unsupported("the size of one part is unknown");
    if (size < 0) size = rest;
  }
  const auto parts =
      here.graph().emit_many("Split", {TRY(here.value(0, layout)), here.graph().integers(sizes)},
                             here.outputs(), {attribute("axis", place)});
  return define_all(here, parts, layout);
}

}  // namespace

std::span<const Descriptor> concatenation_descriptors() {
  using wire::BuiltinOperator;
  static const Descriptor all[] = {
      {.name = "CONCATENATION",
       .code = BuiltinOperator::CONCATENATION,
       .inputs = 1,
       .read = read_concatenation},
      {.name = "PACK", .code = BuiltinOperator::PACK, .inputs = 1, .read = read_pack},
      {.name = "UNPACK", .code = BuiltinOperator::UNPACK, .inputs = 1, .read = read_unpack},
      {.name = "SPLIT", .code = BuiltinOperator::SPLIT, .inputs = 2, .read = read_split},
      {.name = "SPLIT_V", .code = BuiltinOperator::SPLIT_V, .inputs = 3, .read = read_split_v},
  };
  return all;
}

}  // namespace anybit::tflite
