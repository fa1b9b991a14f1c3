// Resize and Upsample: other sizes by scales or as given. ONNX: Upsample-1, -7 (attribute), -9, -10;
// Resize-10 … -19.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ops/move.hpp"
#include "ops/resize_axis.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<std::vector<std::size_t>> axes_for(const Call& call, std::size_t rank) {
  const auto given = call.integers("axes");
  if (given) return axes_of(*given, rank);
  std::vector<std::size_t> axes(rank);
  for (std::size_t i = 0; i < rank; ++i) axes[i] = i;
  return axes;
}

Result<Shape> by_scales(const Shape& input, const std::vector<std::size_t>& axes,
                        const std::vector<double>& scales) {
  if (scales.size() != axes.size()) {
    return wrong(fmt::format("{} scales are given for {} axes", scales.size(), axes.size()));
  }
  Shape shape = input;
  // The scale is a float32, and so is its product with the size.
  for (std::size_t i = 0; i < axes.size(); ++i) shape[axes[i]] = scaled(input[axes[i]], scales[i]);
  return shape;
}

// keep_aspect_ratio_policy: one scale for all axes, the smallest or the largest that the sizes ask for.
Result<Shape> by_sizes(const Call& call, const Shape& input, const std::vector<std::size_t>& axes,
                       const std::vector<Dim>& sizes) {
  if (sizes.size() != axes.size()) {
    return wrong(fmt::format("{} sizes are given for {} axes", sizes.size(), axes.size()));
  }
  Shape shape = input;
  const std::string_view policy = call.text("keep_aspect_ratio_policy", "stretch");
  std::optional<double> scale;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Dim& from = input[axes[i]];
    const bool usable = from.known() && *from.size > 0 && sizes[i].known();
    if (policy != "stretch" && !usable) {
      for (const std::size_t axis : axes) shape[axis] = Dim();
      return shape;
    }
    shape[axes[i]] = sizes[i];
    if (!usable) continue;
    const double ratio = static_cast<double>(*sizes[i].size) / static_cast<double>(*from.size);
    scale = !scale ? ratio : policy == "not_larger" ? std::min(*scale, ratio) : std::max(*scale, ratio);
  }
  if (policy != "stretch" && scale) {
    for (const std::size_t axis : axes) {
      const double size = std::round(static_cast<double>(*input[axis].size) * *scale);
      shape[axis] = scaled(Dim(1), size);
    }
  }
  return shape;
}

Result<Values> infer_resize(const Call& call) {
  const Value& input = call.in(0);
  if (!input.shape) return infer_same(call);
  const std::size_t scales_at = call.version < 11 ? 1 : 2;
  const auto axes = TRY(axes_for(call, input.shape->size()));
  if (call.has(3) && call.in(3).elements && call.version >= 11) {
    return outputs_of(call,
                      tensor(input.type, TRY(by_sizes(call, *input.shape, axes, *call.in(3).elements))));
  }
  const auto scales = reals(call.in(scales_at));
  if (scales && !scales->empty()) {
    return outputs_of(call, tensor(input.type, TRY(by_scales(*input.shape, axes, *scales))));
  }
  Shape shape = *input.shape;
  for (const std::size_t axis : axes) shape[axis] = Dim();
  return outputs_of(call, tensor(input.type, std::move(shape)));
}

Result<Values> infer_upsample(const Call& call) {
  const Value& input = call.in(0);
  if (!input.shape) return infer_same(call);
  const std::size_t rank = input.shape->size();
  const auto scales = call.version < 9 ? call.reals("scales") : reals(call.in(1));
  if (!scales) return outputs_of(call, tensor(input.type, unknown_shape(rank)));
  return outputs_of(call,
                    tensor(input.type, TRY(by_scales(*input.shape, TRY(axes_for(call, rank)), *scales))));
}

struct Plan {
  ResizeRule rule;
  std::array<ResizeAxis, Dims::kCapacity> axes;
  Dims dims;  // of the output
};

// Numbers of any float type, from an input or an attribute; nothing if they are not there or none.
Result<std::optional<std::array<double, 2 * Dims::kCapacity>>> factors(const Frame& frame, std::size_t i,
                                                                       std::string_view attribute,
                                                                       std::size_t count) {
  using Numbers = std::array<double, 2 * Dims::kCapacity>;
  Numbers numbers{};
  const auto list = attribute.empty() ? std::nullopt : frame.floats(attribute);
  if (!list && (!frame.has(i) || frame.in(i).count() == 0)) return std::optional<Numbers>();
  const std::size_t given = list ? list->size() : static_cast<std::size_t>(frame.in(i).count());
  if (given != count)
    return wrong(fmt::format("input {} has {} numbers", i, given), fmt::format("{}", count));
  if (list) {
    std::ranges::copy(*list, numbers.begin());
  } else if (!for_real(frame.in(i).type(), [&]<class T>(T) {
               const auto elements = frame.in(i).elements<T>();
               for (std::size_t k = 0; k < count; ++k)
                 numbers[k] = static_cast<double>(static_cast<Computed<T>>(elements[k]));
             })) {
    return wrong_type(frame, i);
  }
  return std::optional(numbers);
}

Result<void> scale_by(Plan& plan, const Dims& axes, std::span<const double> scales) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& axis = plan.axes[static_cast<std::size_t>(axes[i])];
    const Dim size = scaled(Dim(axis.in), scales[i]);
    if (!(scales[i] > 0) || !size.known()) return wrong(fmt::format("a scale is {}", scales[i]), "above 0");
    axis.scale = scales[i];
    axis.out = *size.size;
  }
  return {};
}

Result<void> scale_to(const Frame& frame, Plan& plan, const Dims& axes, const Dims& sizes) {
  if (sizes.size() != axes.size())
    return wrong(fmt::format("{} sizes are given for {} axes", sizes.size(), axes.size()));
  const std::string_view policy = frame.text("keep_aspect_ratio_policy", "stretch");
  const bool larger = policy == "not_smaller";
  if (!larger && policy != "stretch" && policy != "not_larger")
    return wrong(fmt::format("keep_aspect_ratio_policy is '{}'", policy),
                 "stretch, not_larger or not_smaller");
  std::optional<double> common;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& axis = plan.axes[static_cast<std::size_t>(axes[i])];
    if (sizes[i] < 0 || (axis.in == 0 && sizes[i] > 0))
      return wrong(fmt::format("size {} is made from {}", sizes[i], axis.in));
    axis.out = sizes[i];
    if (axis.in == 0) continue;
    axis.scale = static_cast<double>(sizes[i]) / static_cast<double>(axis.in);
    common = !common ? axis.scale : larger ? std::max(*common, axis.scale) : std::min(*common, axis.scale);
  }
  if (policy == "stretch" || !common) return {};
  for (const std::int64_t at : axes) {
    ResizeAxis& axis = plan.axes[static_cast<std::size_t>(at)];
    const Dim size = scaled(Dim(1), std::floor(static_cast<double>(axis.in) * *common + 0.5));
    if (!size.known()) return wrong("the output is too large");
    axis.scale = *common;
    axis.out = *size.size;
  }
  return {};
}

Result<Plan> plan_of(const Frame& frame) {
  const Array& input = frame.in(0);
  Plan plan{TRY(resize_rule(frame)), {}, {}};
  Dims axes;
  for (std::size_t i = 0; i < input.rank(); ++i) {
    plan.axes[i] = {input.dim(i), input.dim(i)};
    axes.push_back(static_cast<std::int64_t>(i));
  }
  const bool upsample = frame.node.op_type.str() == "Upsample", old = upsample || frame.version < 11;
  if (const auto given = frame.ints("axes"); given && !old) axes = TRY(axes_within(*given, input.rank()));
  const auto scales =
      TRY(factors(frame, old ? 1 : 2, upsample && frame.version < 9 ? "scales" : "", axes.size()));
  if (scales) {
    TRY(scale_by(plan, axes, *scales));
  } else if (!old && frame.has(3)) {
    TRY(scale_to(frame, plan, axes, TRY(dims_from(frame.in(3), "sizes"))));
  } else {
    return wrong("neither scales nor sizes are given");
  }
  if (plan.rule.coordinates == ResizeRule::Coordinates::tf_crop_and_resize) {
    const auto roi = TRY(factors(frame, 1, "", 2 * axes.size()));
    if (!roi) return wrong("roi is not given", "a start and an end for each axis");
    for (std::size_t i = 0; i < axes.size(); ++i) {
      plan.axes[static_cast<std::size_t>(axes[i])].start = (*roi)[i];
      plan.axes[static_cast<std::size_t>(axes[i])].end = (*roi)[axes.size() + i];
    }
  }
  for (std::size_t i = 0; i < input.rank(); ++i) plan.dims.push_back(plan.axes[i].out);
  return plan;
}

using Places = std::array<std::span<const std::int64_t>, Dims::kCapacity>;

// How often each element of the last axis is repeated, if that is all that happens to it; else 0.
std::int64_t repeats(std::span<const std::int64_t> places, std::int64_t in) {
  const auto times = std::ssize(places) / std::max<std::int64_t>(in, 1);
  if (times * in != std::ssize(places)) return 0;
  for (std::size_t j = 0; j < places.size(); ++j) {
    if (places[j] != static_cast<std::int64_t>(j) / times) return 0;
  }
  return times;
}

// Row by row; a row that is made from the same one as its neighbour before is a copy of that.
template <class T>
void pick_rows(const Frame& frame, const Places& places, Array& out) {
  const Array& input = frame.in(0);
  const std::size_t last = out.rank() - 1;
  const std::int64_t width = out.dim(last), rows = out.count() / width;
  const std::int64_t times = repeats(places[last], input.dim(last));
  const Dims strides = strides_of(input.dims());
  const auto body = [&](std::int64_t begin, std::int64_t end) {
    std::int64_t before = -1;
    for (std::int64_t row = begin; row < end; ++row) {
      std::int64_t rest = row, at = 0;
      for (std::size_t i = last; i-- > 0;) {
        at += places[i][static_cast<std::size_t>(rest % out.dim(i))] * strides[i];
        rest /= out.dim(i);
      }
      T* to = out.mutable_data<T>() + row * width;
      if (at == before) {
        std::copy_n(to - width, width, to);
      } else if (times > 0) {
        kernels::repeat_row(input.data<T>() + at, input.dim(last), times, to);
      } else {
        kernels::pick_row(input.data<T>() + at, places[last], to);
      }
      before = at;
    }
  };
  parallel(frame, rows, 10.0 + 0.3 * static_cast<double>(width), std::ref(body));
}

// What lies outside the input under tf_crop_and_resize.
Result<void> extrapolate(Frame& frame, const Plan& plan, Array& out) {
  if (plan.rule.coordinates != ResizeRule::Coordinates::tf_crop_and_resize) return {};
  std::array<std::span<bool>, Dims::kCapacity> outside;
  for (std::size_t i = 0; i < out.rank(); ++i) {
    outside[i] = TRY(frame.scratch_of<bool>(out.dim(i)));
    for (std::int64_t j = 0; j < out.dim(i); ++j)
      outside[i][static_cast<std::size_t>(j)] = plan.axes[i].outside(plan.rule, j);
  }
  const bool known = for_number(out.type(), [&]<class T>(T) {
    const T value = static_cast<T>(static_cast<Computed<T>>(plan.rule.extrapolation));
    for (std::int64_t at = 0; at < out.count(); ++at) {
      std::int64_t rest = at;
      for (std::size_t i = out.rank(); i-- > 0; rest /= out.dim(i)) {
        if (outside[i][static_cast<std::size_t>(rest % out.dim(i))]) out.mutable_data<T>()[at] = value;
      }
    }
  });
  return known ? Result<void>() : wrong_type(frame, 0);
}

Result<void> run_nearest(Frame& frame, const Plan& plan, Array& out) {
  Places places;
  for (std::size_t i = 0; i < out.rank(); ++i) {
    places[i] = TRY(nearest_places(frame, plan.rule, plan.axes[i]));
  }
  for_moved(out.type(), [&]<class T>(T) { pick_rows<T>(frame, places, out); });
  return extrapolate(frame, plan, out);
}

// One axis after the other, in C; the two innermost of an image at once. The result is in `from` or in memory
// of the frame.
template <class C>
Result<const C*> interpolate(Frame& frame, const Plan& plan, const C* from, C* result) {
  Dims dims = frame.in(0).dims();
  const std::size_t rank = dims.size();
  std::size_t left = 0;  // axes that are still to be done
  for (std::size_t i = 0; i < rank; ++i) left += plan.axes[i].still(plan.rule) ? 0 : 1;
  const auto next = [&](std::int64_t count) -> Result<C*> {
    if (left == 0) return result;
    return TRY(frame.scratch_of<C>(count)).data();
  };
  for (std::size_t i = 0; i < rank; ++i) {
    const ResizeAxis& axis = plan.axes[i];
    if (axis.still(plan.rule)) continue;
    const auto taps = TRY(resize_taps<C>(frame, plan.rule, axis));
    const std::int64_t outer = dims.product(0, i), inner = dims.product(i + 1, rank);
    if constexpr (std::is_same_v<C, float>) {
      if (left == 2 && i + 2 == rank && taps.taps <= 16) {
        const auto columns = TRY(resize_taps<C>(frame, plan.rule, plan.axes[i + 1]));
        constexpr std::int64_t kRows = 64;  // of a part: each needs memory of its own
        const std::int64_t parts = (taps.out + kRows - 1) / kRows;
        const auto scratch = TRY(frame.scratch_of<float>(outer * parts * taps.taps * columns.out));
        const auto body = [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t part = begin; part < end; ++part) {
            const std::int64_t image = part / parts, row = part % parts * kRows;
            kernels::resize_rows(
                taps, columns, from + image * taps.in * columns.in, result + image * taps.out * columns.out,
                row, std::min(row + kRows, taps.out), scratch.data() + part * taps.taps * columns.out);
          }
        };
        parallel(frame, outer * parts, 3.0 * static_cast<double>(std::min(kRows, taps.out) * columns.out),
                 std::ref(body));
        return result;
      }
    }
    --left;
    dims[i] = axis.out;
    C* to = TRY(next(dims.count()));
    // Whole lines where neighbours lie side by side.
    const std::int64_t together = inner == 1 ? axis.out : 1;
    const auto body = [&](std::int64_t begin, std::int64_t end) {
      kernels::resize_slices(taps, inner, from, to, begin * together, end * together);
    };
    parallel(frame, outer * axis.out / together, 1.0 * static_cast<double>(together * inner * taps.taps),
             std::ref(body));
    from = to;
  }
  return from;
}

template <class T>
T rounded(double value) {
  if constexpr (std::is_integral_v<T>) {
    const double whole = std::nearbyint(value);
    constexpr auto low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    if (!(whole > static_cast<double>(low))) return low;
    return whole >= static_cast<double>(high) ? high : static_cast<T>(whole);
  } else {
    return static_cast<T>(static_cast<Computed<T>>(value));
  }
}

template <class T>
Result<void> run_weighted(Frame& frame, const Plan& plan, Array& out) {
  // Small types are exact in float32.
  using C = std::conditional_t<sizeof(T) <= 2 || std::is_same_v<T, float>, float, double>;
  const Array& input = frame.in(0);
  if constexpr (std::is_same_v<C, T>) {
    TRY(interpolate<C>(frame, plan, input.data<T>(), out.mutable_data<T>()));
  } else {
    const auto wide = TRY(frame.scratch_of<C>(input.count()));
    const auto result = TRY(frame.scratch_of<C>(out.count()));
    std::ranges::transform(input.elements<T>(), wide.begin(),
                           [](T element) { return static_cast<C>(static_cast<Computed<T>>(element)); });
    const C* found = TRY(interpolate<C>(frame, plan, wide.data(), result.data()));
    std::transform(found, found + out.count(), out.mutable_data<T>(),
                   [](C value) { return rounded<T>(static_cast<double>(value)); });
  }
  return extrapolate(frame, plan, out);
}

Result<void> run(Frame& frame) {
  const Array& input = frame.in(0);
  const Plan plan = TRY(plan_of(frame));
  const bool still =
      std::all_of(plan.axes.begin(), plan.axes.begin() + static_cast<std::ptrdiff_t>(input.rank()),
                  [&](const ResizeAxis& axis) { return axis.still(plan.rule); });
  if (still) return frame.share(0, 0, input.dims());
  Array* out = TRY(frame.out(0, input.type(), plan.dims));
  if (out->count() == 0) return {};
  if (input.count() == 0) return wrong("nothing cannot be resized to something");
  if (plan.rule.mode == ResizeRule::Mode::nearest) return run_nearest(frame, plan, *out);
  Result<void> result = wrong_type(frame, 0);
  for_number(input.type(), [&]<class T>(T) { result = run_weighted<T>(frame, plan, *out); });
  return result;
}

}  // namespace

std::span<const Descriptor> resize_descriptors() {
  static const Descriptor all[] = {
      {.name = "Resize", .domain = "", .since = {10, 11, 13, 18, 19}, .infer = infer_resize, .run = run},
      {.name = "Upsample", .domain = "", .since = {1, 7, 9, 10}, .infer = infer_upsample, .run = run},
  };
  return all;
}

}  // namespace anybit::ops
