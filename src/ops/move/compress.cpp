// Compress: the slices whose condition is true. ONNX: Compress-9, -11.
#include <algorithm>

#include "ops/check.hpp"
#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer_compress(const Call& call) {
  const auto axis = call.integer("axis");
  if (!axis) return outputs_of(call, tensor(call.in(0).type, unknown_shape(1)));
  auto shape = call.in(0).shape;
  if (shape) (*shape)[TRY(axis_of(*axis, shape->size()))] = Dim();
  return outputs_of(call, tensor(call.in(0).type, std::move(shape)));
}

// Without an axis the input is flattened. If there are fewer conditions than slices, the remaining slices are
// dropped.
Result<void> run(Frame& frame) {
  const Array& input = frame.in(0);
  const Array& condition = frame.in(1);
  if (condition.type() != ElementType::boolean) return wrong_type(frame, 1);
  const auto given = frame.integer("axis");
  Dims dims{input.count()};
  std::size_t axis = 0;
  if (given) {
    dims = input.dims();
    axis = TRY(axis_of(*given, input.rank()));
  }
  const std::int64_t size = dims[axis], outer = dims.product(0, axis),
                     inner = dims.product(axis + 1, dims.size());
  if (only_checks(frame)) return {};
  const auto holds =
      condition.elements<bool>().first(static_cast<std::size_t>(std::min(condition.count(), size)));
  dims[axis] = std::ranges::count(holds, true);
  Array* out = TRY(frame.out(0, input.type(), dims));
  for_copied(input.type(), [&]<class T>(T) {
    T* to = out->mutable_data<T>();
    for (std::int64_t i = 0; i < outer; ++i) {
      for (std::size_t k = 0; k < holds.size(); ++k) {
        if (!holds[k]) continue;
        to = std::copy_n(input.data<T>() + (i * size + static_cast<std::int64_t>(k)) * inner, inner, to);
      }
    }
  });
  return {};
}

}  // namespace

std::span<const Descriptor> compress_descriptors() {
  static const Descriptor all[] = {{.name = "Compress",
                                    .domain = "",
                                    .since = {9, 11},
                                    .infer = infer_compress,
                                    .run = run,
                                    .required = 2,
                                    .traits = moves({.since = 9})}};
  return all;
}

}  // namespace anybit::ops
