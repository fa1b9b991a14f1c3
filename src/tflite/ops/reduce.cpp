// MEAN, SUM, REDUCE_*, ARG_MAX, ARG_MIN, CUMSUM: along axes that are an input.
#include <algorithm>

#include "base/error.hpp"
#include "base/try.hpp"
#include "tflite/table.hpp"

namespace anybit::tflite {
namespace {

using graph::attribute;
using graph::ElementType;
using wire::BuiltinOperator;

// Channels first serves if the axes that are left come in the same order in both layouts.
bool keeps_order(const Dims& axes, std::int64_t rank, bool keep_dims) {
  const bool channels = std::ranges::count(axes, rank - 1) > 0;
  const auto spatial = std::ranges::count_if(axes, [&](std::int64_t a) { return a > 0 && a < rank - 1; });
  return keep_dims || channels || spatial == rank - 2;
}

// The axes of the file, sorted, each once; none in the file: none.
Result<Dims> axes_of(OperatorReader& here) {
  Dims axes;
  for (const std::int64_t axis : TRY(here.integers(1))) axes.push_back(TRY(here.axis(0, axis)));
  std::ranges::sort(axes);
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

// `bools`: TFLite reduces bools, ONNX integers.
Result<void> reduce(OperatorReader& here, std::string_view op, bool bools) {
  const bool keep_dims = here.options<wire::ReducerOptions>().keep_dims();
  const Dims axes = TRY(axes_of(here));
  const bool both = keeps_order(axes, here.in(0).rank(), keep_dims);
  const Layout layout = both ? here.common_layout() : Layout::as_stored;
  std::string x = TRY(here.value(0, layout));
  Dims places;
  for (const std::int64_t axis : axes) places.push_back(TRY(here.axis(0, axis, layout)));
  std::ranges::sort(places);
  if (bools) x = here.emit("Cast", {x}, {attribute("to", static_cast<std::int64_t>(ElementType::int32))});
  std::string y = here.emit(
      op, {x, here.graph().integers(places)},
      {attribute("keepdims", std::int64_t{keep_dims}), attribute("noop_with_empty_axes", std::int64_t{1})});
  if (bools) y = here.emit("Cast", {y}, {attribute("to", static_cast<std::int64_t>(ElementType::boolean))});
  return here.define(y, keep_dims ? layout : Layout::as_stored);
}

template <const char* op, bool bools = false>
Result<void> read_reduce(OperatorReader& here) {
  return reduce(here, op, bools);
}

// The mean over height and width is a pooling of everything, which has integer kernels.
Result<void> read_mean(OperatorReader& here) {
  const Dims axes = TRY(axes_of(here));
  if (here.in(0).rank() != 4 || axes != Dims{1, 2}) return reduce(here, "ReduceMean", false);
  std::string y = here.emit("GlobalAveragePool", {TRY(here.value(0, Layout::channels_first))});
  if (here.options<wire::ReducerOptions>().keep_dims()) return here.define(y, Layout::channels_first);
  return here.define(here.emit("Squeeze", {y, here.graph().integers({2, 3})}));
}

template <const char* op>
Result<void> read_arg(OperatorReader& here) {
  const Dims axis = TRY(here.integers(1));
  if (axis.size() != 1) return here.invalid(fmt::format("it has {} axes", axis.size()), "it takes one");
  std::string y =
      here.emit(op, {TRY(here.value(0))},
                {attribute("axis", TRY(here.axis(0, axis[0]))), attribute("keepdims", std::int64_t{0})});
  if (here.out().type != ElementType::int64)
    y = here.emit("Cast", {y}, {attribute("to", static_cast<std::int64_t>(here.out().type))});
  return here.define(y);
}

Result<void> read_cumsum(OperatorReader& here) {
  const auto& options = here.options<wire::CumsumOptions>();
  const Dims axis = TRY(here.integers(1));
  if (axis.size() != 1) return here.invalid(fmt::format("it has {} axes", axis.size()), "it takes one");
  return here.define(here.emit("CumSum", {TRY(here.value(0)), here.graph().integer(axis[0])},
                               {attribute("exclusive", std::int64_t{options.exclusive()}),
                                attribute("reverse", std::int64_t{options.reverse()})}));
}

constexpr char kSum[] = "ReduceSum", kProd[] = "ReduceProd", kMax[] = "ReduceMax", kMin[] = "ReduceMin",
               kArgMax[] = "ArgMax", kArgMin[] = "ArgMin";

constexpr Descriptor along(std::string_view name, BuiltinOperator code,
                           Result<void> (*read)(OperatorReader&)) {
  return {.name = name, .code = code, .inputs = 2, .read = read};
}

}  // namespace

std::span<const Descriptor> reduce_descriptors() {
  static const Descriptor all[] = {
      along("MEAN", BuiltinOperator::MEAN, read_mean),
      along("SUM", BuiltinOperator::SUM, read_reduce<kSum>),
      along("REDUCE_PROD", BuiltinOperator::REDUCE_PROD, read_reduce<kProd>),
      along("REDUCE_MAX", BuiltinOperator::REDUCE_MAX, read_reduce<kMax>),
      along("REDUCE_MIN", BuiltinOperator::REDUCE_MIN, read_reduce<kMin>),
      along("REDUCE_ANY", BuiltinOperator::REDUCE_ANY, read_reduce<kMax, true>),
      along("REDUCE_ALL", BuiltinOperator::REDUCE_ALL, read_reduce<kMin, true>),
      along("ARG_MAX", BuiltinOperator::ARG_MAX, read_arg<kArgMax>),
      along("ARG_MIN", BuiltinOperator::ARG_MIN, read_arg<kArgMin>),
      along("CUMSUM", BuiltinOperator::CUMSUM, read_cumsum),
  };
  return all;
}

}  // namespace anybit::tflite
