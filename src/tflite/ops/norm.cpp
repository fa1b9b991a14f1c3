// L2_NORMALIZATION, LOCAL_RESPONSE_NORMALIZATION; Circle's INSTANCE_NORM and RMS_NORM.
#include "base/error.hpp"
#include "base/try.hpp"
#include "tflite/table.hpp"

namespace anybit::tflite {
namespace {

using graph::attribute;

// x / sqrt(max(Σx², 1e-6)) over the last dimension.
Result<void> read_l2_normalization(OperatorReader& here) {
  const Layout layout = here.common_layout();
  const std::int64_t channels = layout == Layout::channels_first ? 1 : -1;
  GraphReader& graph = here.graph();
  const std::string x = TRY(here.value(0, layout));
  const std::string squares = here.emit("ReduceSumSquare", {x, graph.integers({channels})});
  const std::string length = here.emit("Sqrt", {here.emit("Max", {squares, graph.number(1e-6F)})});
  return here.define_activated(here.emit("Div", {x, length}),
                               here.options<wire::L2NormOptions>().fused_activation_function(), layout);
}

// ONNX divides alpha by the number of channels in the window.
Result<void> read_local_response_normalization(OperatorReader& here) {
  const auto& options = here.options<wire::LocalResponseNormalizationOptions>();
  const std::int64_t size = 2 * std::int64_t{options.radius()} + 1;
  if (size < 1) return here.invalid(fmt::format("its radius is {}", options.radius()));
  const std::string x = TRY(here.value(0, Layout::channels_first));
  return here.define(here.emit("LRN", {x},
                               {attribute("size", size), attribute("bias", options.bias()),
                                attribute("alpha", options.alpha() * static_cast<float>(size)),
                                attribute("beta", options.beta())}),
                     Layout::channels_first);
}

Result<void> read_instance_norm(OperatorReader& here) {
  const auto& options = here.options<wire::InstanceNormOptions>();
  const std::string x = TRY(here.value(0, Layout::channels_first));
  const std::string gamma = TRY(here.value(1)), beta = TRY(here.value(2));
  return here.define_activated(
      here.emit("InstanceNormalization", {x, gamma, beta}, {attribute("epsilon", options.epsilon())}),
      options.fused_activation_function(), Layout::channels_first);
}

// x / sqrt(mean(x²) + epsilon) · gamma over the last dimension.
Result<void> read_rms_norm(OperatorReader& here) {
  GraphReader& graph = here.graph();
  const std::string x = TRY(here.value(0));
  const std::string mean = here.emit("ReduceMean", {here.emit("Mul", {x, x}), graph.integers({-1})});
  const float epsilon = here.options<wire::RmsNormOptions>().epsilon();
  const std::string length = here.emit("Sqrt", {here.emit("Add", {mean, graph.number(epsilon)})});
  const std::string gamma = TRY(here.value(1)), normal = here.emit("Div", {x, length});
  return here.define(here.emit("Mul", {normal, gamma}));
}

}  // namespace

std::span<const Descriptor> norm_descriptors() {
  using wire::BuiltinOperator;
  static const Descriptor all[] = {
      {.name = "L2_NORMALIZATION",
       .code = BuiltinOperator::L2_NORMALIZATION,
       .inputs = 1,
       .read = read_l2_normalization},
      {.name = "LOCAL_RESPONSE_NORMALIZATION",
       .code = BuiltinOperator::LOCAL_RESPONSE_NORMALIZATION,
       .inputs = 1,
       .read = read_local_response_normalization},
      {.name = "INSTANCE_NORM",
       .code = BuiltinOperator::INSTANCE_NORM,
       .inputs = 3,
       .read = read_instance_norm},
      {.name = "RMS_NORM", .code = BuiltinOperator::RMS_NORM, .inputs = 2, .read = read_rms_norm},
  };
  return all;
}

}  // namespace anybit::tflite
