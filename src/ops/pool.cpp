// Pools over windows, and over all of space. ONNX: MaxPool, AveragePool, LpPool and the Global pools; ONNX
// Runtime's QLinearAveragePool and QLinearGlobalAveragePool.
#include "ops/rules.hpp"
#include "ops/window.hpp"

namespace anybit::ops {
namespace {

Result<std::optional<Shape>> pooled(const Call& call, const Value& x) {
  if (!x.shape) return std::optional<Shape>();
  if (x.shape->size() < 3) return wrong("the input needs batch, channels and space");
  const auto kernel = TRY(kernel_of(call, std::nullopt, x.shape->size() - 2));
  Shape shape = TRY(slide(TRY(window_of(call, kernel)), std::span(*x.shape).subspan(2)));
  shape.insert(shape.begin(), {(*x.shape)[0], (*x.shape)[1]});
  return std::optional(std::move(shape));
}

Result<Values> infer(const Call& call) {
  Values values = outputs_of(call, tensor(call.in(0).type, TRY(pooled(call, call.in(0)))));
  if (values.size() > 1) values[1] = tensor(ElementType::int64, values[0].shape);  // MaxPool's indices
  return values;
}

Result<std::optional<Shape>> global_shape(const std::optional<Shape>& x) {
  if (!x) return std::optional<Shape>();
  if (x->size() < 2) return wrong("the input needs batch and channels");
  Shape shape(x->size(), Dim(1));
  shape[0] = (*x)[0];
  shape[1] = (*x)[1];
  return std::optional(std::move(shape));
}

Result<Values> infer_global(const Call& call) {
  return outputs_of(call, tensor(call.in(0).type, TRY(global_shape(call.in(0).shape))));
}

Result<Values> infer_global_qlinear(const Call& call) {
  if (call.integer("channels_last", 0) == 0) return infer_global(call);
  if (!call.in(0).shape || call.in(0).shape->size() < 2) return unknown_outputs(call);
  Shape shape(call.in(0).shape->size(), Dim(1));
  shape.front() = call.in(0).shape->front();
  shape.back() = call.in(0).shape->back();
  return outputs_of(call, tensor(call.in(0).type, std::move(shape)));
}

Result<Values> infer_qlinear(const Call& call) {
  if (call.integer("channels_last", 0) == 0) return infer(call);
  return outputs_of(call, tensor(call.in(0).type, std::nullopt));
}

std::vector<QuantizedTensor> qlinear_tensors() {
  return {{.input = 0, .scale = 1, .zero_point = 2}, {.output = 0, .scale = 3, .zero_point = 4}};
}

}  // namespace

std::span<const Descriptor> pool_descriptors() {
  static const Descriptor all[] = {
      {.name = "MaxPool", .domain = "", .since = {1, 8, 10, 11, 12, 22}, .infer = infer},
      {.name = "AveragePool", .domain = "", .since = {1, 7, 10, 11, 19, 22}, .infer = infer},
      {.name = "LpPool", .domain = "", .since = {1, 2, 11, 18, 22}, .infer = infer},
      {.name = "GlobalAveragePool", .domain = "", .since = {1, 22}, .infer = infer_global},
      {.name = "GlobalMaxPool", .domain = "", .since = {1, 22}, .infer = infer_global},
      {.name = "GlobalLpPool", .domain = "", .since = {1, 2, 22}, .infer = infer_global},
      {.name = "QLinearAveragePool",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer_qlinear,
       .quantized = qlinear_tensors()},
      {.name = "QLinearGlobalAveragePool",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer_global_qlinear,
       .quantized = qlinear_tensors()},
  };
  return all;
}

}  // namespace anybit::ops
