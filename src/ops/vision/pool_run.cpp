#include "ops/vision/pool_run.hpp"

#include "base/checked.hpp"
#include "ops/conv/window.hpp"
#include "ops/layout.hpp"

namespace anybit::ops {
namespace {

// Maps and lanes of a tensor; padding channels of the blocked layout are pooled like the others.
void lay_out(const Array& x, kernels::PoolSizes& sizes) {
  const std::int64_t batch = x.dim(0), channels = x.dim(1);
  sizes.lanes = 1;
  sizes.maps = batch * channels;
  if (x.layout() == Layout::blocked8) {
    sizes.lanes = 8;
    sizes.maps = batch * ((channels + 7) / 8);
  } else if (x.layout() == Layout::channels_last) {
    sizes.lanes = channels;
    sizes.maps = batch;
  }
}

template <class T>
void convert(const Array& from, Array& to) {
  const auto source = from.elements<T>();
  const auto target = to.elements<float>();
  for (std::size_t i = 0; i < source.size(); ++i) target[i] = static_cast<float>(source[i]);
}

template <class T>
void convert_back(const Array& from, Array& to) {
  const auto source = from.elements<float>();
  const auto target = to.elements<T>();
  for (std::size_t i = 0; i < source.size(); ++i) target[i] = T(source[i]);
}

}  // namespace

Result<kernels::PoolSizes> pool_sizes(const Frame& frame, const Array& x) {
  if (x.rank() < 3)
    return wrong(fmt::format("the input is {}", to_string(x)), "batch, channels, and 1 to 3 spatial axes");
  kernels::PoolSizes sizes;
  const auto kernel = TRY(pool_kernel(frame, x.rank() - 2));
  if (!element_count(kernel)) return wrong(fmt::format("kernel_shape is [{}]", fmt::join(kernel, ", ")));
  sizes.window = TRY(window_over(frame, kernel, x.dims().span().subspan(2)));
  lay_out(x, sizes);
  return sizes;
}

Result<kernels::PoolSizes> global_sizes(const Array& x) {
  if (x.rank() < 2) return wrong(fmt::format("the input is {}", to_string(x)), "batch and channels");
  kernels::PoolSizes sizes;
  const std::int64_t space = x.dims().product(2, x.rank());
  sizes.window[2] = {.input = space, .output = 1, .kernel = space};
  lay_out(x, sizes);
  return sizes;
}

Dims global_dims(const Dims& x) {
  Dims dims(x.size(), 1);
  dims[0] = x[0];
  dims[1] = x[1];
  return dims;
}

Result<void> with_computed(Frame& frame, const Array& x, const Dims& dims,
                           const FunctionRef<const Array&, Array&>& body) {
  Array* out = TRY(frame.out(0, x.type(), dims, x.layout()));
  if (x.type() != ElementType::float16 && x.type() != ElementType::bfloat16) {
    if (out->count() > 0) body(x, *out);
    return {};
  }
  Array wide_x = TRY(scratch_array(frame, ElementType::float32, x.dims(), x.layout()));
  Array wide_y = TRY(scratch_array(frame, ElementType::float32, dims, x.layout()));
  if (out->count() == 0) return {};
  for_real(x.type(), [&]<class T>(T) {
    if constexpr (kIsHalf<T>) {
      convert<T>(x, wide_x);
      body(wide_x, wide_y);
      convert_back<T>(wide_y, *out);
    }
  });
  return {};
}

}  // namespace anybit::ops
