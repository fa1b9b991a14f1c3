// FULLY_CONNECTED: ONNX's Gemm over the last dimension; weights are [outputs, inputs] in both.
#include <algorithm>

#include "base/error.hpp"
#include "base/try.hpp"
#include "tflite/table.hpp"

namespace anybit::tflite {
namespace {

using graph::attribute;

// The dimensions of the result in front of the last one, as a constant or computed.
Result<std::string> kept_shape(OperatorReader& here, const std::string& x, std::int64_t outputs) {
  Dims shape = here.in(0).dims;
  shape.back() = outputs;
  if (std::ranges::count(shape, -1) <= 1) return here.graph().integers(shape);
  const std::string all = here.emit("Shape", {x}, {attribute("end", std::int64_t{-1})});
  return here.emit("Concat", {all, here.graph().integers({outputs})}, {attribute("axis", std::int64_t{0})});
}

Result<void> read_fully_connected(OperatorReader& here) {
  const auto& options = here.options<wire::FullyConnectedOptions>();
  const Dims weights = here.in(1).dims;
  if (options.weights_format() != 0) return here.unsupported("its weights are stored in shuffled order");
  if (weights.size() != 2)
    return here.invalid(fmt::format("its weights have {} dimensions", weights.size()), "it takes 2");
  if (weights[1] < 1 || weights[0] < 1) return here.unsupported("the sizes of its weights are unknown");
  if (!here.in(0).has_rank) return here.unsupported("the rank of its input is unknown");
  std::string x = TRY(here.value(0));
  const std::string all = x;
  const bool flat = here.in(0).rank() == 2 && (here.in(0).dims[1] == weights[1] || here.in(0).dims[1] < 0);
  if (!flat) x = here.emit("Reshape", {x, here.graph().integers({-1, weights[1]})});
  const std::string w = TRY(here.value(1));
  std::vector<std::string> inputs{x, w};
  if (here.has(2)) inputs.push_back(TRY(here.graph().bias(here.input(2), here.input(0), here.input(1))));
  std::string y = here.emit("Gemm", std::move(inputs), {attribute("transB", std::int64_t{1})});
  TRY(here.fuse(y, options.fused_activation_function()));
  if (options.keep_num_dims() && here.in(0).rank() != 2) {
    const std::string shape = TRY(kept_shape(here, all, weights[0]));
    y = here.emit("Reshape", {y, shape});
  }
  return here.define(y);
}

}  // namespace

std::span<const Descriptor> fully_connected_descriptors() {
  static const Descriptor all[] = {{.name = "FULLY_CONNECTED",
                                    .code = wire::BuiltinOperator::FULLY_CONNECTED,
                                    .inputs = 2,
                                    .read = read_fully_connected}};
  return all;
}

}  // namespace anybit::tflite
