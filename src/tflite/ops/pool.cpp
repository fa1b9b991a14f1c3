// AVERAGE_POOL_2D, MAX_POOL_2D, L2_POOL_2D: ONNX's AveragePool and MaxPool. Padding does not count in
// averages.
#include "base/try.hpp"
#include "tflite/table.hpp"
#include "tflite/window.hpp"

namespace anybit::tflite {
namespace {

Result<std::string> pooled(OperatorReader& here, std::string_view op, std::string value) {
  const auto& options = here.options<wire::Pool2DOptions>();
  const Window window{{options.filter_height(), options.filter_width()},
                      {options.stride_h(), options.stride_w()},
                      {1, 1},
                      options.padding()};
  return here.emit(op, {std::move(value)}, TRY(window_attributes(here, 0, window, false)));
}

Result<void> read_pool(OperatorReader& here, std::string_view op) {
  const std::string x = TRY(here.value(0, Layout::channels_first));
  return here.define_activated(TRY(pooled(here, op, x)),
                               here.options<wire::Pool2DOptions>().fused_activation_function(),
                               Layout::channels_first);
}

Result<void> read_average_pool(OperatorReader& here) { return read_pool(here, "AveragePool"); }
Result<void> read_max_pool(OperatorReader& here) { return read_pool(here, "MaxPool"); }

// The root of the mean square.
Result<void> read_l2_pool(OperatorReader& here) {
  const std::string x = TRY(here.value(0, Layout::channels_first));
  const std::string mean = TRY(pooled(here, "AveragePool", here.emit("Mul", {x, x})));
  return here.define_activated(here.emit("Sqrt", {mean}),
                               here.options<wire::Pool2DOptions>().fused_activation_function(),
                               Layout::channels_first);
}

}  // namespace

std::span<const Descriptor> pool_descriptors() {
  using wire::BuiltinOperator;
  static const Descriptor all[] = {
      {.name = "AVERAGE_POOL_2D",
       .code = BuiltinOperator::AVERAGE_POOL_2D,
       .inputs = 1,
       .read = read_average_pool},
      {.name = "MAX_POOL_2D", .code = BuiltinOperator::MAX_POOL_2D, .inputs = 1, .read = read_max_pool},
      {.name = "L2_POOL_2D", .code = BuiltinOperator::L2_POOL_2D, .inputs = 1, .read = read_l2_pool},
  };
  return all;
}

}  // namespace anybit::tflite
