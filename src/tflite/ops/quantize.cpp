// QUANTIZE, DEQUANTIZE, DENSIFY, FAKE_QUANT, CAST: changes of the type, and constants that are stored in
// another form.
#include <cmath>

#include "base/error.hpp"
#include "base/try.hpp"
#include "tflite/constants.hpp"
#include "tflite/table.hpp"

namespace anybit::tflite {
namespace {

using graph::attribute;
using graph::ElementType;

// From float, or from other parameters. The value itself passes; the tensors have the parameters.
Result<void> read_quantize(OperatorReader& here) {
  const Layout layout = here.common_layout();
  return here.define(TRY(here.value(0, layout)), layout);
}

Result<std::string> cast(OperatorReader& here, std::size_t i, ElementType type, Layout layout) {
  std::string x = TRY(here.value(i, layout));
  if (here.in(i).type == type) return x;
  return here.emit("Cast", {x}, {attribute("to", static_cast<std::int64_t>(type))});
}

// Constants of float16 and of integers stay constants, as operators take their weights.
Result<void> read_dequantize(OperatorReader& here) {
  const TensorInfo& from = here.in(0);
  const bool half = from.type == ElementType::float16;
  if (!half && !from.quantized()) return here.unsupported("its input has no scale");
  if (here.constant(0) && half) {
    TensorInfo wide = from;
    wide.data = TRY(float32_of_float16(here.graph().file(), TRY(dense_data(here.graph().file(), from))));
    wide.type = ElementType::float32;
    wide.sparsity = nullptr;
    return here.graph().define_constant(here.output(), std::move(wide));
  }
  if (here.constant(0)) return here.graph().define_constant(here.output(), from);
  const Layout layout = here.common_layout();
  if (half) return here.define(TRY(cast(here, 0, ElementType::float32, layout)), layout);
  return here.define(TRY(here.value(0, layout)), layout);
}

// A sparse constant as a dense one.
Result<void> read_densify(OperatorReader& here) {
  if (!here.constant(0)) return here.unsupported("its input has to be a constant");
  TensorInfo dense = here.in(0);
  dense.data = TRY(dense_data(here.graph().file(), dense));
  dense.sparsity = nullptr;
  return here.graph().define_constant(here.output(), std::move(dense));
}

Result<void> read_cast(OperatorReader& here) {
  const Layout layout = here.common_layout();
  if (here.in(0).quantized() || here.out().quantized())
    return here.unsupported("it changes the type of a quantized tensor");
  return here.define(TRY(cast(here, 0, here.out().type, layout)), layout);
}

// Quantizes and dequantizes. The range is moved so that zero is one of its values (Jacob et al., CVPR 2018,
// appendix B).
Result<void> read_fake_quant(OperatorReader& here) {
  const auto& options = here.options<wire::FakeQuantOptions>();
  const int bits = options.num_bits();
  if (bits < 2 || bits > 16) return here.unsupported(fmt::format("it has {} bits", bits), "it takes 2 to 16");
  const double low = options.narrow_range() ? 1 : 0, high = std::ldexp(1.0, bits) - 1;
  const double first = static_cast<double>(options.min()), last = static_cast<double>(options.max());
  const double step = (last - first) / (high - low);
  if (!(first <= 0 && last >= 0 && std::isfinite(step) && step > 0))
    return here.invalid(fmt::format("its range is {} to {}", first, last), "a range contains 0");
  const double zero = std::min(std::max(std::nearbyint(low - first / step), low), high);
  GraphReader& graph = here.graph();
  const Layout layout = here.common_layout();
  const std::string unit = graph.number(static_cast<float>(step));
  std::string x = TRY(here.value(0, layout));
  x = here.emit("Clip", {x, graph.number(static_cast<float>((low - zero) * step)),
                         graph.number(static_cast<float>((high - zero) * step))});
  x = here.emit("Mul", {here.emit("Round", {here.emit("Div", {x, unit})}), unit});
  return here.define(x, layout);
}

}  // namespace

std::span<const Descriptor> quantize_descriptors() {
  using wire::BuiltinOperator;
  static const Descriptor all[] = {
      {.name = "QUANTIZE", .code = BuiltinOperator::QUANTIZE, .inputs = 1, .read = read_quantize},
      {.name = "DEQUANTIZE", .code = BuiltinOperator::DEQUANTIZE, .inputs = 1, .read = read_dequantize},
      {.name = "DENSIFY", .code = BuiltinOperator::DENSIFY, .inputs = 1, .read = read_densify},
      {.name = "CAST", .code = BuiltinOperator::CAST, .inputs = 1, .read = read_cast},
      {.name = "FAKE_QUANT", .code = BuiltinOperator::FAKE_QUANT, .inputs = 1, .read = read_fake_quant},
  };
  return all;
}

}  // namespace anybit::tflite
