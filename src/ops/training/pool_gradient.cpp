// MaxPoolGradient(dy, x) and AveragePoolGradient(dy, x_shape), with the attributes of the pools. Of equal
// maxima the first wins, in row-major order. They keep the layout of their inputs. Domain ai.anybit.training.
#include "kernels/conv/pool_gradient.hpp"
#include "ops/conv/window.hpp"
#include "ops/training/training.hpp"
#include "ops/vision/pool_run.hpp"

namespace anybit::ops {
namespace {

Result<void> expect_pooled(const Frame& frame, const Dims& x, const kernels::PoolSizes& sizes) {
  const Dims dims = output_dims(x[0], x[1], sizes.window, x.size());
  if (frame.in(0).dims() == dims) return {};
  return wrong(fmt::format("the gradient is {}", to_string(frame.in(0))),
               fmt::format("the output's shape: {}", to_string(dims)));
}

// The layout for a tensor that is given in one of two: blocked channels fill vectors.
Layout layout_for(ElementType type, const Dims& dims, Layout given) {
  const bool fills = type == ElementType::float32 && dims.size() >= 3 && dims[1] % 8 == 0 && dims[1] > 0;
  return fills ? Layout::blocked8 : given == Layout::blocked8 ? Layout::plain : given;
}

// Calls body(T(), first map, last map) on the threads.
template <class Body>
void over_maps(const Frame& frame, const kernels::PoolSizes& sizes, ElementType type, const Body& body) {
  const double cost = static_cast<double>(output_size(sizes.window) * sizes.lanes) *
                      static_cast<double>(kernel_size(sizes.window));
  for_trained(type, [&]<class T>(T) {
    parallel(frame, sizes.maps, cost, [&](std::int64_t first, std::int64_t last) { body(T(), first, last); });
  });
}

Result<void> run_max_pool_gradient(Frame& frame) {
  TRY(expect_trained(frame, 1));
  if (frame.in(0).type() != frame.in(1).type()) return wrong_type(frame, 0);
  TRY(expect_pooled(frame, frame.in(1).dims(), TRY(pool_sizes(frame, frame.in(1)))));
  const Layout layout = layout_for(frame.in(1).type(), frame.in(1).dims(), frame.in(1).layout());
  Array* dx = TRY(frame.out(0, frame.in(1).type(), frame.in(1).dims(), layout));
  if (dx->count() == 0) return {};
  const Array dy = TRY(in_layout(frame, frame.in(0), layout)), x = TRY(in_layout(frame, frame.in(1), layout));
  const kernels::PoolSizes sizes = TRY(pool_sizes(frame, x));
  over_maps(frame, sizes, x.type(), [&]<class T>(T, std::int64_t first, std::int64_t last) {
    kernels::max_pool_gradient(sizes, dy.data<T>(), x.data<T>(), first, last, dx->mutable_data<T>());
  });
  return {};
}

Result<void> run_average_pool_gradient(Frame& frame) {
  TRY(expect_trained(frame, 0));
  const ElementType type = frame.in(0).type();
  const Dims dims = TRY(sizes_from(frame, 1));
  const Layout layout = layout_for(type, dims, frame.in(0).layout());
  const Array like = Array::over(type, dims, nullptr, {}, dims.size() < 3 ? Layout::plain : layout);
  const kernels::PoolSizes sizes = TRY(pool_sizes(frame, like));
  TRY(expect_pooled(frame, dims, sizes));
  Array* dx = TRY(frame.out(0, type, dims, layout));
  if (dx->count() == 0) return {};
  const Array dy = TRY(in_layout(frame, frame.in(0), layout));
  const bool include = frame.flag("count_include_pad");
  over_maps(frame, sizes, type, [&]<class T>(T, std::int64_t first, std::int64_t last) {
    kernels::average_pool_gradient(sizes, include, dy.data<T>(), first, last, dx->mutable_data<T>());
  });
  return {};
}

Result<Values> infer_max_pool_gradient(const Call& call) {
  return outputs_of(call, tensor(call.in(1).type, call.in(1).shape));
}
Result<Values> infer_average_pool_gradient(const Call& call) {
  return outputs_of(call, tensor(call.in(0).type, shape_in(call, 1)));
}

}  // namespace

std::span<const Descriptor> pool_gradient_descriptors() {
  static const Descriptor all[] = {
      training_operator("MaxPoolGradient", infer_max_pool_gradient, run_max_pool_gradient, 2, Layouts::each),
      training_operator("AveragePoolGradient", infer_average_pool_gradient, run_average_pool_gradient, 2,
                        Layouts::each),
  };
  return all;
}

}  // namespace anybit::ops
