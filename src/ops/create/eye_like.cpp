// EyeLike: ones on a diagonal. ONNX: EyeLike-9, -22.
#include <algorithm>

#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer_eye_like(const Call& call) {
  const auto type = call.integer("dtype");
  return outputs_of(call, tensor(type ? type_of(*type) : call.in(0).type, call.in(0).shape));
}

Result<void> run(Frame& frame) {
  const Array& input = frame.in(0);
  if (input.rank() != 2) return wrong(fmt::format("the input is {}", to_string(frame.datum(0))), "a matrix");
  const auto wanted = frame.integer("dtype");
  const ElementType type = wanted ? type_of(*wanted) : input.type();
  const std::int64_t rows = input.dim(0), columns = input.dim(1), k = frame.integer("k", 0);
  Array* out = TRY(frame.out(0, type, {rows, columns}));
  const auto fill = [&]<class T>(T) {
    T* to = out->mutable_data<T>();
    std::fill_n(to, out->count(), static_cast<T>(static_cast<Computed<T>>(0)));
    const T one = static_cast<T>(static_cast<Computed<T>>(1));
    if (k >= columns || k <= -rows) return;
    for (std::int64_t row = std::max<std::int64_t>(0, -k); row < rows && row + k < columns; ++row)
      to[row * columns + row + k] = one;
  };
  if (type == ElementType::boolean) return fill(bool()), Result<void>();
  return for_number(type, fill) ? Result<void>() : wrong_type(frame, 0);
}

}  // namespace

std::span<const Descriptor> eye_like_descriptors() {
  static const Descriptor all[] = {
      {.name = "EyeLike", .domain = "", .since = {9, 22}, .infer = infer_eye_like, .run = run}};
  return all;
}

}  // namespace anybit::ops
