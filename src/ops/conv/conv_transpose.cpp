// ConvTranspose: transposed convolution. ONNX: ConvTranspose-1, -11, -22. float32 runs in blocked
// layout (ops/conv/conv_transpose_blocked.hpp), or as GEMM; everything else as direct loops.
#include "base/checked.hpp"
#include "kernels/conv/conv_direct.hpp"
#include "ops/check.hpp"
#include "ops/conv/conv_call.hpp"
#include "ops/conv/conv_transpose_blocked.hpp"
#include "ops/conv/conv_transpose_gemm.hpp"
#include "ops/conv/conv_transpose_sizes.hpp"
#include "ops/conv/window.hpp"
#include "ops/gradient.hpp"
#include "ops/layout.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Shape> spread(const Call& call, const Window& window, std::span<const Dim> input) {
  const auto wanted = call.integers("output_shape");
  const auto extra = call.integers("output_padding");
  Shape shape;
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (wanted && wanted->size() >= input.size()) {  // old files include batch and channels
      shape.push_back((*wanted)[wanted->size() - input.size() + i]);
      continue;
    }
    if (window.padding == Window::Padding::same_upper || window.padding == Window::Padding::same_lower) {
      shape.push_back(input[i] * window.stride[i]);
      continue;
    }
    const Dim extent = window.dilation[i] * (window.kernel[i] - 1) + 1;
    const Dim added = extra && i < extra->size() ? Dim((*extra)[i]) : Dim(0);
    Dim size = window.stride[i] * (input[i] - 1) + added + extent - window.before[i] - window.after[i];
    if (size.known() && *size.size < 0) return wrong("the padding is larger than the output");
    shape.push_back(std::move(size));
  }
  return shape;
}

Result<Values> infer(const Call& call) {
  const Value& x = call.in(0);
  const Value& w = call.in(1);
  if (!x.shape) return outputs_of(call, tensor(x.type, std::nullopt));
  if (x.shape->size() < 3) return wrong("the input needs batch, channels and space");
  if (w.shape && w.shape->size() != x.shape->size()) {
    return wrong(fmt::format("the weight has rank {}, the input {}", w.shape->size(), x.shape->size()));
  }
  const auto kernel = TRY(kernel_of(call, w.shape, x.shape->size() - 2));
  const Window window = TRY(window_of(call, kernel));
  Shape shape = TRY(spread(call, window, std::span(*x.shape).subspan(2)));
  const Dim channels = w.shape ? (*w.shape)[1] * Dim(call.integer("group", 1)) : Dim();
  shape.insert(shape.begin(), {(*x.shape)[0], channels});
  return outputs_of(call, tensor(x.type, std::move(shape)));
}

Dim macs(const Call& call, std::span<const Value>) {
  const auto& w = call.in(1).shape;
  if (!call.in(0).shape || !w || w->size() < 2) return {};
  return product(*call.in(0).shape) * product(std::span(*w).subspan(1));
}

// Adds the contributions of one input channel to one output channel.
template <class T>
void spread_map(const kernels::Window& window, const T* x, const T* w, Computed<T>* y) {
  using Sum = Computed<T>;
  const auto& [d, h, c] = window;
  for (std::int64_t kd = 0; kd < d.kernel; ++kd) {
    const kernels::Range depth = outputs_inside(d, kd);
    for (std::int64_t kh = 0; kh < h.kernel; ++kh) {
      const kernels::Range height = outputs_inside(h, kh);
      for (std::int64_t kw = 0; kw < c.kernel; ++kw) {
        const kernels::Range width = outputs_inside(c, kw);
        const Sum weight = static_cast<Sum>(w[(kd * h.kernel + kh) * c.kernel + kw]);
        for (std::int64_t id = depth.first; id < depth.last; ++id) {
          const std::int64_t od = start_of(d, id) + kd * d.dilation;
          for (std::int64_t ih = height.first; ih < height.last; ++ih) {
            const std::int64_t oh = start_of(h, ih) + kh * h.dilation;
            const T* from = x + (id * h.output + ih) * c.output;
            Sum* to = y + (od * h.input + oh) * c.input + kw * c.dilation - c.before;
            for (std::int64_t iw = width.first; iw < width.last; ++iw) {
              to[iw * c.stride] += weight * static_cast<Sum>(from[iw]);
            }
          }
        }
      }
    }
  }
}

template <class T>
Result<void> run_as(Frame& frame, const kernels::ConvSizes& sizes, Array& out) {
  using Sum = Computed<T>;
  const std::int64_t space = input_size(sizes.window), in_space = output_size(sizes.window);
  const std::int64_t taps = kernel_size(sizes.window);
  std::span<Sum> sums;
  if constexpr (std::is_same_v<Sum, T>) {
    sums = out.elements<T>();
  } else {
    sums = TRY(frame.scratch_of<Sum>(out.count()));
  }
  const auto body = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t map = first; map < last; ++map) {
      const std::int64_t n = map / sizes.in_channels, oc = map % sizes.in_channels;
      const std::int64_t group = oc / sizes.in_per_group();
      Sum* y = sums.data() + map * space;
      std::fill_n(y, space, frame.has(2) ? static_cast<Sum>(frame.in(2).data<T>()[oc]) : Sum(0));
      for (std::int64_t i = 0; i < sizes.out_per_group(); ++i) {
        const std::int64_t ic = group * sizes.out_per_group() + i;
        spread_map(sizes.window, frame.in(0).data<T>() + (n * sizes.out_channels + ic) * in_space,
                   frame.in(1).data<T>() + (ic * sizes.in_per_group() + oc % sizes.in_per_group()) * taps, y);
      }
      if constexpr (!std::is_same_v<Sum, T>) {
        for (std::int64_t i = 0; i < space; ++i)
          out.mutable_data<T>()[map * space + i] = static_cast<T>(y[i]);
      }
    }
  };
  const double cost = static_cast<double>(in_space * taps) * static_cast<double>(sizes.out_per_group());
  parallel(frame, sizes.batch * sizes.in_channels, cost,
           [&body](std::int64_t first, std::int64_t last) { body(first, last); });
  return {};
}

struct TransposePrepared : Prepared {
  std::unique_ptr<const BlockedTranspose> blocked;
  SpreadMatrices matrices;  // without `blocked`
  std::int64_t bytes() const override { return bytes_of_all(matrices.groups); }
};

Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  const Array* w = setup.constant(1);
  if (!w) return std::shared_ptr<const Prepared>();
  auto prepared = std::make_shared<TransposePrepared>();
  prepared->blocked = TRY(BlockedTranspose::make(setup, *setup.memory, *w));
  if (!prepared->blocked) prepared->matrices = spread_matrices(*w, setup.integer("group", 1));
  return std::shared_ptr<const Prepared>(std::move(prepared));
}

// Weights that change from run to run are ordered in each.
Result<bool> run_floats(Frame& frame, const kernels::ConvSizes& sizes, const Dims& dims) {
  const auto* prepared = frame.prepared<TransposePrepared>();
  std::unique_ptr<const BlockedTranspose> own;
  if (!prepared && !only_checks(frame)) {
    TRY(frame.make_plain(1));
    own = TRY(BlockedTranspose::make(frame, frame.memory(), frame.in(1)));
  }
  const BlockedTranspose* blocked = prepared ? prepared->blocked.get() : own.get();
  const Array* bias = frame.has(2) ? &frame.in(2) : nullptr;
  if (blocked) {
    TRY(blocked->run(frame, sizes, dims, bias));
    return true;
  }
  if (!prepared && only_checks(frame)) return false;
  const SpreadMatrices matrices = prepared ? SpreadMatrices() : spread_matrices(frame.in(1), sizes.groups);
  const SpreadMatrices& packed = prepared ? prepared->matrices : matrices;
  if (packed.groups.empty()) return false;
  TRY(run_spread(frame, sizes, dims, packed, bias));
  return true;
}

Result<void> run(Frame& frame) {
  const Array &x = frame.in(0), &w = frame.in(1);
  const kernels::ConvSizes sizes = TRY(backward_sizes(frame, x.dims(), w.dims()));
  if (w.type() != x.type()) return wrong_type(frame, 1);
  if (frame.has(2)) TRY(check_bias(frame.in(2), x.type(), sizes.in_channels));
  const Dims dims = TRY(spread_dims(sizes, x.rank()));
  if (dims.count() > 0 && !for_real(x.type(), [](auto) {})) return wrong_type(frame, 0);
  if (x.type() == ElementType::float32 && dims.count() > 0 && x.count() > 0 &&
      TRY(run_floats(frame, sizes, dims)))
    return {};
  for (std::size_t i = 0; i < frame.input_count(); ++i) TRY(frame.make_plain(i));
  Array* out = TRY(frame.out(0, frame.in(0).type(), dims));
  if (out->count() == 0) return {};
  Result<void> done;
  if (!for_real(out->type(), [&]<class T>(T) { done = run_as<T>(frame, sizes, *out); }))
    return wrong_type(frame, 0);
  return done;
}

// Explicit pads of the convolution whose gradient by its input this operator is; they follow from the output
// size unless they are attributes.
Result<Gradient::NodeAttributes> backward_attributes(Gradient& g) {
  auto attributes = attributes_of(g, {"dilations", "group", "kernel_shape", "strides"});
  const bool given = g.text("auto_pad", "NOTSET") == "NOTSET" && !g.find("output_shape");
  if (given || g.text("auto_pad", "NOTSET") == "VALID") {
    const auto pads = attributes_of(g, {"pads"});
    if (given) attributes.insert(attributes.end(), pads.begin(), pads.end());
    return attributes;
  }
  // Of the space only: batches may be of any size.
  const auto space = [](const Value& value) {
    return value.shape && value.shape->size() >= 2 ? numbers(std::span(*value.shape).subspan(2))
                                                   : std::nullopt;
  };
  const auto from = space(g.in(0)), kernel = space(g.in(1)), to = space(g.out());
  if (!from || !kernel || !to)
    return wrong("its pads depend on sizes that are not known before the model runs", "explicit pads");
  const std::size_t axes = from->size();
  const auto list = [&](std::string_view name) {
    return g.integers(name).value_or(std::vector<std::int64_t>(axes, 1));
  };
  const auto strides = list("strides"), dilations = list("dilations");
  auto extra = g.integers("output_padding").value_or(std::vector<std::int64_t>(axes, 0));
  std::vector<std::int64_t> pads(2 * axes);
  const bool more_before = g.text("auto_pad", "NOTSET") != "SAME_UPPER";
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t extent = ((*kernel)[i] - 1) * dilations[i] + 1;
    const std::int64_t all = strides[i] * ((*from)[i] - 1) + extra[i] + extent - (*to)[i];
    const std::int64_t total = std::max<std::int64_t>(all, 0);
    pads[i] = more_before ? total - total / 2 : total / 2;
    pads[axes + i] = total - pads[i];
  }
  attributes.push_back(graph::attribute("pads", std::move(pads)));
  return attributes;
}

Result<void> gradient(Gradient& g) {
  const auto& shape = g.out().shape;
  if (!shape) return wrong("the rank of its output is not known before the model runs");
  const auto attributes = TRY(backward_attributes(g));
  if (g.wants(0)) g.set(0, g.add("Conv", {g.dy(), g.input(1)}, attributes));
  if (g.wants(1))
    g.set(1, g.add("ConvGradientWeight", {g.input(0), g.dy(), g.shape(g.input(1))}, attributes, kTraining));
  std::vector<std::int64_t> axes = {0};
  for (std::size_t i = 2; i < shape->size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (g.wants(2))
    g.set(2, g.add("ReduceSum", {g.dy(), g.integers(axes)}, {graph::attribute("keepdims", std::int64_t{0})}));
  return {};
}

}  // namespace

std::span<const Descriptor> conv_transpose_descriptors() {
  static const Descriptor all[] = {{.name = "ConvTranspose",
                                    .domain = "",
                                    .since = {1, 11, 22},
                                    .infer = infer,
                                    .macs = macs,
                                    .run = run,
                                    .prepare = prepare,
                                    .required = 2,
                                    .layouts = Layouts::each,
                                    .traits = {.role = Traits::Role::compute,
                                               .data = {0, 1},
                                               .weights = {{1, second_axis}},
                                               .bias = 2,
                                               .linear = Traits::Linear::transposed_convolution},
                                    .gradient = gradient}};
  return all;
}

}  // namespace anybit::ops
