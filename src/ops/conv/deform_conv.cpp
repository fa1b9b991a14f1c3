// DeformConv: a convolution whose taps are displaced by offsets and sampled by interpolation. ONNX:
// DeformConv-19, -22, over two spatial axes.
#include <cmath>
#include <vector>

#include "ops/check.hpp"
#include "ops/conv/conv_call.hpp"
#include "ops/conv/conv_rules.hpp"
#include "ops/conv/window.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

using kernels::ConvSizes;

Result<Values> infer(const Call& call) {
  return outputs_of(call, tensor(call.in(0).type, TRY(conv_shape(call, call.in(0), call.in(1)))));
}
Dim macs(const Call& call, std::span<const Value> outputs) { return conv_macs(call.in(1), outputs); }

// Bilinear interpolation; pixels outside the image are zero.
template <class T>
Computed<T> sample(const T* map, std::int64_t height, std::int64_t width, Computed<T> y, Computed<T> x) {
  using Real = Computed<T>;
  if (!(y > Real(-1) && x > Real(-1) && y < static_cast<Real>(height) && x < static_cast<Real>(width))) {
    return 0;
  }
  const Real top = std::floor(y), left = std::floor(x);
  const Real down = y - top, right = x - left;
  const auto pixel = [&](std::int64_t row, std::int64_t column) {
    const bool inside = row >= 0 && row < height && column >= 0 && column < width;
    return inside ? static_cast<Real>(map[row * width + column]) : Real(0);
  };
  const auto row = static_cast<std::int64_t>(top), column = static_cast<std::int64_t>(left);
  return (1 - down) * ((1 - right) * pixel(row, column) + right * pixel(row, column + 1)) +
         down * ((1 - right) * pixel(row + 1, column) + right * pixel(row + 1, column + 1));
}

struct Deformed {
  ConvSizes sizes;
  std::int64_t offset_groups;
};

// Output row `row` (of batch · height): samples the taps of each position once, for all output channels.
template <class T>
void do_row(const Frame& frame, const Deformed& deformed, std::int64_t row, std::vector<Computed<T>>& samples,
            T* out) {
  using Real = Computed<T>;
  const ConvSizes& sizes = deformed.sizes;
  const auto& [unused, h, w] = sizes.window;
  const std::int64_t taps = h.kernel * w.kernel, space = h.output * w.output, in_space = h.input * w.input;
  const std::int64_t n = row / h.output, oh = row % h.output;
  const T* x = frame.in(0).data<T>() + n * sizes.in_channels * in_space;
  const T* offset = frame.in(2).data<T>() + n * deformed.offset_groups * taps * 2 * space;
  const T* mask = frame.has(4) ? frame.in(4).data<T>() + n * deformed.offset_groups * taps * space : nullptr;
  const std::int64_t channels_each = sizes.in_channels / deformed.offset_groups, depth = sizes.depth();
  for (std::int64_t ow = 0; ow < w.output; ++ow) {
    const std::int64_t place = oh * w.output + ow;
    for (std::int64_t c = 0; c < sizes.in_channels; ++c) {
      for (std::int64_t k = 0; k < taps; ++k) {
        const std::int64_t tap = c / channels_each * taps + k;
        const std::int64_t line = start_of(h, oh) + k / w.kernel * h.dilation;
        const Real y = static_cast<Real>(line) + static_cast<Real>(offset[2 * tap * space + place]);
        const Real column = static_cast<Real>(start_of(w, ow) + k % w.kernel * w.dilation) +
                            static_cast<Real>(offset[(2 * tap + 1) * space + place]);
        Real value = sample(x + c * in_space, h.input, w.input, y, column);
        if (mask) value *= static_cast<Real>(mask[tap * space + place]);
        samples[static_cast<std::size_t>(c * taps + k)] = value;
      }
    }
    for (std::int64_t oc = 0; oc < sizes.out_channels; ++oc) {
      const T* weights = frame.in(1).data<T>() + oc * depth;
      const Real* group = samples.data() + oc / sizes.out_per_group() * depth;
      Real sum = frame.has(3) ? static_cast<Real>(frame.in(3).data<T>()[oc]) : Real(0);
      for (std::int64_t k = 0; k < depth; ++k) sum += static_cast<Real>(weights[k]) * group[k];
      out[(n * sizes.out_channels + oc) * space + place] = static_cast<T>(sum);
    }
  }
}

Result<void> check(const Frame& frame, const Deformed& deformed) {
  const ConvSizes& sizes = deformed.sizes;
  const ElementType type = frame.in(0).type();
  TRY(expect_inputs(frame, {2}));
  for (std::size_t i = 1; i <= 4; ++i) {
    if (frame.has(i) && frame.in(i).type() != type) return wrong_type(frame, i);
  }
  if (frame.has(3)) TRY(check_bias(frame.in(3), type, sizes.out_channels));
  if (deformed.offset_groups < 1 || sizes.in_channels % deformed.offset_groups != 0) {
    return wrong(fmt::format("offset_group is {}", deformed.offset_groups),
                 fmt::format("a divisor of {} channels", sizes.in_channels));
  }
  const std::int64_t taps = deformed.offset_groups * kernel_size(sizes.window);
  for (const auto& [input, each] : {std::pair<std::size_t, std::int64_t>{2, 2}, {4, 1}}) {
    if (!frame.has(input)) continue;
    const Dims wanted = output_dims(sizes.batch, each * taps, sizes.window, 4);
    if (!(frame.in(input).dims() == wanted)) {
      return wrong(fmt::format("input {} is {}", input, to_string(frame.in(input))), to_string(wanted));
    }
  }
  return {};
}

Result<void> run(Frame& frame) {
  const Array& x = frame.in(0);
  if (x.rank() != 4) return wrong(fmt::format("the input is {}", to_string(x)), "two spatial axes");
  const Deformed deformed{TRY(conv_sizes(frame, x.dims(), frame.in(1).dims())),
                          frame.integer("offset_group", 1)};
  TRY(check(frame, deformed));
  if (!for_real(x.type(), [](auto) {})) return wrong_type(frame, 0);
  const ConvSizes& sizes = deformed.sizes;
  Array* out = TRY(frame.out(0, x.type(), output_dims(sizes.batch, sizes.out_channels, sizes.window, 4)));
  if (out->count() == 0) return {};
  const double cost = static_cast<double>(sizes.window[2].output) * static_cast<double>(sizes.depth()) *
                      static_cast<double>(sizes.out_channels);
  for_real(x.type(), [&]<class T>(T) {
    parallel(frame, sizes.batch * sizes.window[1].output, cost, [&](std::int64_t first, std::int64_t last) {
      std::vector<Computed<T>> samples(
          static_cast<std::size_t>(sizes.in_channels * kernel_size(sizes.window)));
      for (std::int64_t row = first; row < last; ++row) {
        do_row<T>(frame, deformed, row, samples, out->mutable_data<T>());
      }
    });
  });
  return {};
}

}  // namespace

std::span<const Descriptor> deform_conv_descriptors() {
  static const Descriptor all[] = {{.name = "DeformConv",
                                    .domain = "",
                                    .since = {19, 22},
                                    .infer = infer,
                                    .macs = macs,
                                    .run = run,
                                    .required = 3,
                                    .traits = {.role = Traits::Role::compute,
                                               .data = {0, 1},
                                               .weights = {{1, first_axis}},
                                               .bias = 3,
                                               .sensitive = true}}};
  return all;
}

}  // namespace anybit::ops
