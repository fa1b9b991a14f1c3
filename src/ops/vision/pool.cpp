// Pooling over windows, and global pooling. ONNX: MaxPool-1 … -22, AveragePool-1 … -22, LpPool-1 … -22 and
// the Global variants. They keep the layout of their input.
#include "kernels/conv/pool_gradient.hpp"
#include "ops/conv/window.hpp"
#include "ops/gradient.hpp"
#include "ops/layout.hpp"
#include "ops/quantized/quantization.hpp"
#include "ops/rules.hpp"
#include "ops/vision/pool_run.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  Values values = outputs_of(call, tensor(call.in(0).type, TRY(pooled_shape(call, call.in(0).shape))));
  if (values.size() > 1) values[1] = tensor(ElementType::int64, values[0].shape);  // MaxPool's indices
  return values;
}

Result<Values> infer_global(const Call& call) {
  return outputs_of(call, tensor(call.in(0).type, TRY(global_shape(call.in(0).shape))));
}

bool is_real(ElementType type) {
  return for_real(type, [](auto) {});
}

// Calls body(T(), first row, last row) in parallel.
template <class Body>
void over_rows(const Frame& frame, const kernels::PoolSizes& sizes, ElementType type, const Body& body) {
  const double cost = static_cast<double>(sizes.window[2].output * sizes.lanes) *
                      static_cast<double>(kernel_size(sizes.window));
  for_number(type, [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T> || (std::is_integral_v<T> && sizeof(T) <= 2)) {
      const auto rows = [&](std::int64_t first, std::int64_t last) { body(T(), first, last); };
      parallel(frame, sizes.rows(), cost, [&rows](std::int64_t a, std::int64_t b) { rows(a, b); });
    }
  });
}

// Indices of the maxima in the entire tensor, row-major or column-major (storage_order).
template <class T>
void find_indices(const Frame& frame, const kernels::PoolSizes& sizes, const Array& x,
                  std::int64_t* indices) {
  const auto& [d, h, w] = sizes.window;
  const bool columns_first = frame.flag("storage_order");
  const std::int64_t space = input_size(sizes.window), out_space = output_size(sizes.window);
  for (std::int64_t i = 0; i < sizes.maps * out_space; ++i) {
    const std::int64_t ow = i % w.output, oh = i / w.output % h.output,
                       od = i / (w.output * h.output) % d.output;
    const T* map = x.data<T>() + i / out_space * space;
    const kernels::Range depth = taps_inside(d, od), height = taps_inside(h, oh), width = taps_inside(w, ow);
    const T* best = nullptr;
    std::int64_t at = 0;
    for (std::int64_t kd = depth.first; kd < depth.last; ++kd) {
      for (std::int64_t kh = height.first; kh < height.last; ++kh) {
        for (std::int64_t kw = width.first; kw < width.last; ++kw) {
          const std::int64_t id = start_of(d, od) + kd * d.dilation, ih = start_of(h, oh) + kh * h.dilation;
          const std::int64_t iw = start_of(w, ow) + kw * w.dilation;
          const T* place = map + (id * h.input + ih) * w.input + iw;
          if (best && !(*place > *best)) continue;
          best = place;
          at = columns_first ? (iw * h.input + ih) * d.input + id : place - map;
        }
      }
    }
    indices[i] = i / out_space * space + at;
  }
}

Result<void> run_max(Frame& frame) {
  const bool indexed = frame.wants(1);
  const Array x = indexed ? TRY(in_layout(frame, frame.in(0), Layout::plain)) : frame.in(0);
  if (!is_real(x.type()) && !is_code(x.type())) return wrong_type(frame, 0);
  const kernels::PoolSizes sizes = TRY(pool_sizes(frame, x));
  const Dims dims = output_dims(x.dim(0), x.dim(1), sizes.window, x.rank());
  TRY(with_computed(frame, x, dims, [&](const Array& from, Array& to) {
    if (from.type() == ElementType::float32 && sizes.lanes % 8 == 0) {
      const double cost = 0.2 * static_cast<double>(output_size(sizes.window) * sizes.lanes) *
                          static_cast<double>(kernel_size(sizes.window));
      parallel(frame, sizes.maps, cost, [&](std::int64_t first, std::int64_t last) {
        kernels::max_pool_of_lanes(sizes, from.data<float>(), first, last, to.mutable_data<float>());
      });
      return;
    }
    over_rows(frame, sizes, from.type(), [&]<class T>(T, std::int64_t first, std::int64_t last) {
      kernels::max_pool(sizes, from.data<T>(), first, last, to.mutable_data<T>());
    });
  }));
  if (!indexed) return {};
  Array* indices = TRY(frame.out(1, ElementType::int64, dims));
  if (indices->count() == 0) return {};
  for_number(x.type(),
             [&]<class T>(T) { find_indices<T>(frame, sizes, x, indices->mutable_data<std::int64_t>()); });
  return {};
}

Result<void> run_average(Frame& frame) {
  const Array& x = frame.in(0);
  if (!is_real(x.type())) return wrong_type(frame, 0);
  const kernels::PoolSizes sizes = TRY(pool_sizes(frame, x));
  const bool include = frame.flag("count_include_pad");
  return with_computed(
      frame, x, output_dims(x.dim(0), x.dim(1), sizes.window, x.rank()), [&](const Array& from, Array& to) {
        over_rows(frame, sizes, from.type(), [&]<class T>(T, std::int64_t first, std::int64_t last) {
          if constexpr (std::is_floating_point_v<T>)
            kernels::average_pool(sizes, include, from.data<T>(), first, last, to.mutable_data<T>());
        });
      });
}

// Attribute p; a float in version 1.
Result<double> exponent(const Frame& frame) {
  const auto whole = frame.integer("p");
  const double p = whole ? static_cast<double>(*whole) : frame.real("p", 2.0);
  if (!(p >= 1) || p > 1e6) return wrong(fmt::format("p is {}", p), "1 or more");
  return p;
}

Result<void> pool_lp(Frame& frame, const kernels::PoolSizes& sizes, const Dims& dims) {
  const double p = TRY(exponent(frame));
  return with_computed(frame, frame.in(0), dims, [&](const Array& from, Array& to) {
    over_rows(frame, sizes, from.type(), [&]<class T>(T, std::int64_t first, std::int64_t last) {
      if constexpr (std::is_floating_point_v<T>)
        kernels::lp_pool(sizes, p, from.data<T>(), first, last, to.mutable_data<T>());
    });
  });
}

Result<void> run_lp(Frame& frame) {
  const Array& x = frame.in(0);
  if (!is_real(x.type())) return wrong_type(frame, 0);
  const kernels::PoolSizes sizes = TRY(pool_sizes(frame, x));
  return pool_lp(frame, sizes, output_dims(x.dim(0), x.dim(1), sizes.window, x.rank()));
}

Result<void> run_global_lp(Frame& frame) {
  if (!is_real(frame.in(0).type())) return wrong_type(frame, 0);
  return pool_lp(frame, TRY(global_sizes(frame.in(0))), global_dims(frame.in(0).dims()));
}

// One result per lane of each map, over all positions. Sums are in double, since there may be many elements.
template <class Body>
Result<void> run_global(Frame& frame, const Body& body) {
  const Array& x = frame.in(0);
  const kernels::PoolSizes sizes = TRY(global_sizes(x));
  return with_computed(frame, x, global_dims(x.dims()), [&](const Array& from, Array& to) {
    over_rows(frame, sizes, from.type(), [&]<class T>(T, std::int64_t first, std::int64_t last) {
      const std::int64_t space = sizes.window[2].input;
      for (std::int64_t map = first; map < last; ++map) {
        body(from.data<T>() + map * space * sizes.lanes, space, sizes.lanes,
             to.mutable_data<T>() + map * sizes.lanes);
      }
    });
  });
}

Result<void> run_global_average(Frame& frame) {
  if (!is_real(frame.in(0).type())) return wrong_type(frame, 0);
  return run_global(frame, []<class T>(const T* x, std::int64_t space, std::int64_t lanes, T* y) {
    if constexpr (std::is_floating_point_v<T>) kernels::mean_over(x, space, lanes, y);
  });
}

// Also takes quantized tensors, for fusions: quantization keeps the order.
Result<void> run_global_max(Frame& frame) {
  if (!is_real(frame.in(0).type()) && !is_code(frame.in(0).type())) return wrong_type(frame, 0);
  return run_global(frame, [](const auto* x, std::int64_t space, std::int64_t lanes, auto* y) {
    kernels::most_over(x, space, lanes, y);
  });
}

Gradient::NodeAttributes pool_attributes(const Gradient& g) {
  return attributes_of(g, {"auto_pad", "ceil_mode", "count_include_pad", "dilations", "kernel_shape", "pads",
                           "storage_order", "strides"});
}

Result<void> max_gradient(Gradient& g) {
  if (!g.dy().empty())
    g.set(0, g.add("MaxPoolGradient", {g.dy(), g.input(0)}, pool_attributes(g), kTraining));
  return {};
}

Result<void> average_gradient(Gradient& g) {
  g.set(0, g.add("AveragePoolGradient", {g.dy(), g.shape(g.input(0))}, pool_attributes(g), kTraining));
  return {};
}

// dy / (elements of a channel)
Result<void> global_average_gradient(Gradient& g) {
  const std::string shape = g.shape(g.input(0));
  const auto& sizes = g.in(0).shape;
  const Dim area = sizes && sizes->size() >= 2 ? product(std::span(*sizes).subspan(2)) : Dim();
  std::string count = g.number(static_cast<double>(area.size.value_or(1)));
  if (!area.known()) {
    const std::string space = g.add("Slice", {shape, g.integers({2}), g.integers({INT64_MAX})});
    const std::string exact = g.add("ReduceProd", {space}, {graph::attribute("keepdims", std::int64_t{0})});
    count = in_type_of(g, exact, g.in(0));
  }
  g.set(0, g.add("Expand", {g.add("Div", {g.dy(), count}), shape}));
  return {};
}

// Elements that share the maximum share its gradient.
Result<void> global_max_gradient(Gradient& g) {
  const auto& shape = g.in(0).shape;
  if (!shape) return wrong("the rank of its input is not known before the model runs");
  std::vector<std::int64_t> axes;
  for (std::size_t i = 2; i < shape->size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  const std::string chosen = as_numbers(g, g.add("Equal", {g.input(0), g.output()}));
  const std::string share = g.add("Div", {g.dy(), g.add("ReduceSum", {chosen, g.integers(axes)})});
  g.set(0, g.add("Mul", {chosen, share}));
  return {};
}

}  // namespace

std::span<const Descriptor> pool_descriptors() {
  static const Descriptor all[] = {
      {.name = "MaxPool",
       .domain = "",
       .since = {1, 8, 10, 11, 12, 22},
       .infer = infer,
       .run = run_max,
       .pairwise = true,
       .layouts = Layouts::each,
       .traits = moves({.since = 12}),
       .gradient = max_gradient},
      {.name = "AveragePool",
       .domain = "",
       .since = {1, 7, 10, 11, 19, 22},
       .infer = infer,
       .run = run_average,
       .pairwise = true,
       .layouts = Layouts::each,
       .traits = computes().with_sign(Traits::Sign::of_inputs),
       .gradient = average_gradient},
      {.name = "LpPool",
       .domain = "",
       .since = {1, 2, 11, 18, 22},
       .infer = infer,
       .run = run_lp,
       .pairwise = true,
       .layouts = Layouts::each,
       .traits = computes()},
      {.name = "GlobalAveragePool",
       .domain = "",
       .since = {1, 22},
       .infer = infer_global,
       .run = run_global_average,
       .layouts = Layouts::each,
       .traits = computes().with_sign(Traits::Sign::of_inputs),
       .gradient = global_average_gradient},
      {.name = "GlobalMaxPool",
       .domain = "",
       .since = {1, 22},
       .infer = infer_global,
       .run = run_global_max,
       .layouts = Layouts::each,
       .traits = moves({.ours = true}),
       .gradient = global_max_gradient},
      {.name = "GlobalLpPool",
       .domain = "",
       .since = {1, 2, 22},
       .infer = infer_global,
       .run = run_global_lp,
       .layouts = Layouts::each,
       .traits = computes()},
  };
  return all;
}

}  // namespace anybit::ops
