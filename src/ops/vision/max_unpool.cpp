// MaxUnpool: writes the maxima of a MaxPool back to their positions and fills the rest with zeros. ONNX:
// MaxUnpool-9, -11, -22.
#include <algorithm>

#include "base/checked.hpp"
#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  const auto& x = call.in(0).shape;
  if (call.has(2) || !x || x->size() < 3) {
    const auto& sizes = call.in(2).elements;
    return outputs_of(call, tensor(call.in(0).type, sizes ? std::optional(*sizes) : std::nullopt));
  }
  const auto kernel = call.integers("kernel_shape"), strides = call.integers("strides"),
             pads = call.integers("pads");
  const std::size_t axes = x->size() - 2;
  if (!kernel || kernel->size() != axes) return wrong("kernel_shape does not fit the input");
  Shape shape{(*x)[0], (*x)[1]};
  for (std::size_t i = 0; i < axes; ++i) {
    const Dim stride = strides && i < strides->size() ? (*strides)[i] : 1;
    const Dim padding = pads && pads->size() == 2 * axes ? Dim((*pads)[i]) + Dim((*pads)[axes + i]) : Dim(0);
    shape.push_back(((*x)[i + 2] - 1) * stride + Dim((*kernel)[i]) - padding);
  }
  return outputs_of(call, tensor(call.in(0).type, std::move(shape)));
}

Result<std::int64_t> checked(std::optional<std::int64_t> size) {
  if (!size || *size < 0)
    return wrong("the output size cannot be computed from kernel_shape, strides and pads");
  return *size;
}

// Input dims of the matching MaxPool: the indices refer to them.
Result<Dims> pooled_dims(const Frame& frame, const Dims& x) {
  const auto kernel = frame.ints("kernel_shape"), strides = frame.ints("strides"), pads = frame.ints("pads");
  const std::size_t axes = x.size() - 2;
  if (!kernel || kernel->size() != axes || (strides && strides->size() != axes) ||
      (pads && pads->size() != 2 * axes)) {
    return wrong(fmt::format("kernel_shape, strides or pads do not fit {} spatial axes", axes));
  }
  Dims dims{x[0], x[1]};
  for (std::size_t i = 0; i < axes; ++i) {
    std::int64_t size =
        TRY(checked(checked_mul(std::max<std::int64_t>(0, x[i + 2] - 1), strides ? (*strides)[i] : 1)));
    size = TRY(checked(checked_add(size, (*kernel)[i])));
    const std::int64_t before = pads ? (*pads)[i] : 0, after = pads ? (*pads)[axes + i] : 0;
    if (before < 0 || after < 0 || before > size || after > size - before)
      return wrong("pads are negative, or larger than the output");
    dims.push_back(size - before - after);
  }
  return dims;
}

Result<void> run(Frame& frame) {
  const Array &x = frame.in(0), &places = frame.in(1);
  if (x.rank() < 3) return wrong(fmt::format("the input is {}", to_string(x)), "batch, channels and space");
  if (places.type() != ElementType::int64 || !(places.dims() == x.dims()))
    return wrong(fmt::format("the indices are {}", to_string(places)), "int64, one for each element");
  const Dims pooled = TRY(pooled_dims(frame, x.dims()));
  const Dims dims = frame.has(2) ? TRY(dims_from(frame.in(2), "output_shape")) : pooled;
  const auto count = element_count(pooled.span());
  if (dims.size() != pooled.size() || !count || std::ranges::any_of(dims, [](auto dim) { return dim < 0; }))
    return wrong(fmt::format("output_shape is {}", to_string(dims)),
                 "as many sizes as the input has axes, none negative");
  if (!for_real(x.type(), [](auto) {})) return wrong_type(frame, 0);
  Array* out = TRY(frame.out(0, x.type(), dims));
  const Dims from = strides_of(pooled), to = strides_of(dims);
  bool inside = true;
  for_real(x.type(), [&]<class T>(T) {
    std::ranges::fill(out->elements<T>(), T(0.0f));
    for (std::int64_t i = 0; i < x.count(); ++i) {
      std::int64_t place = places.data<std::int64_t>()[i], target = 0;
      inside = inside && place >= 0 && place < *count;
      for (std::size_t axis = 0; inside && axis < dims.size(); ++axis) {
        const std::int64_t at = place / from[axis];
        place %= from[axis];
        inside = at < dims[axis];
        target += at * to[axis];
      }
      if (inside) out->mutable_data<T>()[target] = x.data<T>()[i];
    }
  });
  if (!inside) return wrong("an index lies outside the output");
  return {};
}

}  // namespace

std::span<const Descriptor> max_unpool_descriptors() {
  static const Descriptor all[] = {{.name = "MaxUnpool",
                                    .domain = "",
                                    .since = {9, 11, 22},
                                    .infer = infer,
                                    .run = run,
                                    .pairwise = true,
                                    .required = 2,
                                    .traits = moves()}};
  return all;
}

}  // namespace anybit::ops
