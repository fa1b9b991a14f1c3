// StringConcat: strings joined element by element, with broadcasting. ONNX: StringConcat-20.
#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  return outputs_of(call, tensor(ElementType::string, TRY(broadcast(call.in(0).shape, call.in(1).shape))));
}

Result<void> run(Frame& frame) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (frame.in(i).type() != ElementType::string) return wrong_type(frame, i);
  }
  const Array &a = frame.in(0), &b = frame.in(1);
  const Dims dims = TRY(broadcast_dims(a.dims(), b.dims()));
  Array* out = TRY(frame.out(0, ElementType::string, dims));
  const Dims steps_a = broadcast_strides(a.dims(), dims), steps_b = broadcast_strides(b.dims(), dims);
  Dims index(dims.size(), 0);
  std::int64_t at_a = 0, at_b = 0;
  for (std::string& text : out->elements<std::string>()) {
    text = a.data<std::string>()[at_a] + b.data<std::string>()[at_b];
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      at_a += steps_a[axis];
      at_b += steps_b[axis];
      if (++index[axis] < dims[axis]) break;
      at_a -= steps_a[axis] * dims[axis];
      at_b -= steps_b[axis] * dims[axis];
      index[axis] = 0;
    }
  }
  return {};
}

}  // namespace

std::span<const Descriptor> string_concat_descriptors() {
  static const Descriptor all[] = {
      {.name = "StringConcat", .domain = "", .since = {20}, .infer = infer, .run = run, .required = 2}};
  return all;
}

}  // namespace anybit::ops
