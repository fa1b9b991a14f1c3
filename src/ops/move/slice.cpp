// Slice: a strided range on some axes. ONNX: Slice-1 (attributes), -10 (inputs, steps), -11, -13.
#include <algorithm>
#include <cstring>

#include "ops/elements.hpp"
#include "ops/gradient.hpp"
#include "ops/move/data_movement.hpp"
#include "ops/raise.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

struct Range {
  std::int64_t start, step, count;
};

// Negative bounds count from the end; both are then clamped to the axis. A negative step walks backwards: its
// start is an element, its end may lie before the first.
std::optional<Range> range_of(const Dim& size, const Dim& start, const Dim& end, const Dim& step) {
  if (!size.known() || !start.known() || !end.known() || !step.known() || step.is(0)) return std::nullopt;
  const std::int64_t n = *size.size;
  const bool forward = *step.size > 0;
  const std::int64_t highest = forward ? n : n - 1, lowest_end = forward ? 0 : -1;
  // Avoids bound + n if that would overflow.
  const auto clamp = [&](std::int64_t bound, std::int64_t lowest) {
    return bound < -n ? lowest : std::clamp(bound < 0 ? bound + n : bound, lowest, highest);
  };
  const std::int64_t first = clamp(*start.size, std::min<std::int64_t>(0, highest));
  const std::int64_t last = clamp(*end.size, lowest_end);
  const Dim length = forward ? Dim(last - first) : Dim(first - last);
  const Dim stride = forward ? step : Dim(0) - step;
  const Dim count = ceil_div(length, stride);
  if (!count.known()) return std::nullopt;
  return Range{first, *step.size, std::max<std::int64_t>(*count.size, 0)};
}

struct Bounds {
  std::vector<Dim> starts, ends, steps;
  std::vector<std::size_t> axes;
};

Result<std::optional<Bounds>> bounds_of(const Call& call, std::size_t rank) {
  const auto starts = call.list(1, "starts");
  const auto ends = call.list(2, "ends");
  auto axes = call.list(3, "axes");
  if (!starts || !ends || starts->size() != ends->size()) return std::optional<Bounds>();
  if (!axes && (call.has(3) || call.find("axes"))) return std::optional<Bounds>();
  if (!axes) {
    axes.emplace();
    for (std::size_t i = 0; i < starts->size(); ++i) axes->push_back(static_cast<std::int64_t>(i));
  }
  const auto which = numbers(*axes);
  if (!which) return std::optional<Bounds>();
  if (which->size() != starts->size()) {
    return wrong(fmt::format("{} axes are given for {} starts", which->size(), starts->size()));
  }
  auto sliced = TRY(axes_of(*which, rank));
  Bounds bounds{*starts, *ends, std::vector<Dim>(starts->size(), Dim(1)), std::move(sliced)};
  if (call.has(4)) bounds.steps = call.in(4).elements.value_or(std::vector<Dim>(starts->size()));
  if (bounds.steps.size() != starts->size()) return wrong("steps and starts differ in number");
  return std::optional(std::move(bounds));
}

// Whether the slice is the entire axis, even if its size is unknown: exporters write a very large integer for
// "to the end".
bool takes_all(const Dim& start, const Dim& end, const Dim& step) {
  return start.is(0) && step.is(1) && end.known() && *end.size >= INT32_MAX;
}

// The sliced contents, if every axis is known: `ranges` has one entry per axis.
std::optional<std::vector<Dim>> sliced(const Value& input, const std::vector<Range>& ranges) {
  const auto sizes = numbers(*input.shape);
  if (!input.elements || !sizes || ranges.size() != sizes->size()) return std::nullopt;
  std::vector<std::int64_t> counts, steps = row_major(*sizes);
  std::int64_t first = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    counts.push_back(ranges[i].count);
    if (ranges[i].count == 0) continue;
    first += ranges[i].start * steps[i];
    // With one element, the step is unused: it may be so large that the multiplication overflows.
    steps[i] = ranges[i].count > 1 ? steps[i] * ranges[i].step : 0;
  }
  return view_of(*input.elements, counts, first, steps);
}

Result<Values> infer(const Call& call) {
  const Value& input = call.in(0);
  if (!input.shape) return infer_same(call);
  const auto bounds = TRY(bounds_of(call, input.shape->size()));
  if (!bounds) return outputs_of(call, tensor(input.type, unknown_shape(input.shape->size())));
  Value value = tensor(input.type, input.shape);
  std::vector<Range> ranges;
  for (std::size_t axis = 0; axis < input.shape->size(); ++axis) {
    Dim& dim = (*value.shape)[axis];
    const auto found = std::find(bounds->axes.begin(), bounds->axes.end(), axis);
    const auto i = static_cast<std::size_t>(found - bounds->axes.begin());
    const bool whole =
        found == bounds->axes.end() || takes_all(bounds->starts[i], bounds->ends[i], bounds->steps[i]);
    const auto range = whole ? range_of(dim, 0, dim, 1)
                             : range_of(dim, bounds->starts[i], bounds->ends[i], bounds->steps[i]);
    if (!whole) dim = range ? Dim(range->count) : Dim();
    if (range) ranges.push_back(*range);
  }
  value.elements = sliced(input, ranges);
  return outputs_of(call, std::move(value));
}

// Steps beyond the axis are equivalent: clamped, so that nothing below overflows.
Range range_of(std::int64_t size, std::int64_t start, std::int64_t end, std::int64_t step) {
  return *range_of(Dim(size), Dim(start), Dim(end), Dim(std::clamp(step, -size - 1, size + 1)));
}

Result<void> run(Frame& frame) {
  const Array& input = frame.in(0);
  const auto starts = TRY(dims_of(frame, 1, "starts")), ends = TRY(dims_of(frame, 2, "ends"));
  const auto axes = TRY(dims_of(frame, 3, "axes"));
  std::optional<Dims> steps;  // never an attribute
  if (frame.has(4)) steps = TRY(dims_from(frame.in(4), "steps"));
  if (!starts || !ends) return wrong("starts or ends are not given");
  Dims which;
  for (std::size_t i = 0; i < starts->size(); ++i) which.push_back(static_cast<std::int64_t>(i));
  which = TRY(axes_within(axes ? axes->span() : which.span(), input.rank()));
  if (ends->size() != starts->size() || which.size() != starts->size() ||
      (steps && steps->size() != starts->size())) {
    return wrong("starts, ends, axes and steps differ in number");
  }
  Dims dims = input.dims();
  View view{0, strides_of(dims)};
  bool whole = true;
  for (std::size_t i = 0; i < which.size(); ++i) {
    const auto axis = static_cast<std::size_t>(which[i]);
    const std::int64_t size = input.dim(axis), step = steps ? (*steps)[i] : 1;
    if (step == 0) return wrong("a step is 0");
    const Range range = range_of(size, (*starts)[i], (*ends)[i], step);
    whole = whole && range.count == size && (step > 0 || size <= 1);
    dims[axis] = range.count;
    if (range.count > 0) view.first += range.start * view.strides[axis];
    view.strides[axis] *= range.step;
  }
  if (whole) return frame.share(0, 0, dims);
  Array* out = TRY(frame.out(0, input.type(), dims));
  copy_view(frame, input, view, *out);
  return {};
}

Result<void> raise_to_10(Raising& raising) {
  TRY(raising.integers_to_input("starts", 1));
  TRY(raising.integers_to_input("ends", 2));
  TRY(raising.integers_to_input("axes", 3));
  return {};
}

Result<void> gradient(Gradient& g) {
  const auto list = [&](std::size_t i, std::string_view name) {
    const auto found = g.ints(name);
    return g.has(i) ? g.input(i) : found ? g.integers(*found) : std::string();
  };
  g.set(0, g.add("SliceGradient",
                 {g.dy(), g.shape(g.input(0)), list(1, "starts"), list(2, "ends"), list(3, "axes"),
                  list(4, "steps")},
                 {}, kTraining));
  return {};
}

Result<Values> infer_gradient(const Call& call) {
  const auto& sizes = call.in(1).elements;
  return outputs_of(call, tensor(call.in(0).type, sizes ? std::optional<Shape>(*sizes) : std::nullopt));
}

// SliceGradient(dy, shape of x, starts, ends, axes, steps): dy where Slice took it from, 0 elsewhere.
Result<void> run_gradient(Frame& frame) {
  const Array& dy = frame.in(0);
  const Dims dims = TRY(dims_from(frame.in(1), "the shape"));
  const Dims starts = TRY(dims_from(frame.in(2), "starts")), ends = TRY(dims_from(frame.in(3), "ends"));
  Dims axes, steps(starts.size(), 1);
  for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (frame.has(4)) axes = TRY(dims_from(frame.in(4), "axes"));
  if (frame.has(5)) steps = TRY(dims_from(frame.in(5), "steps"));
  axes = TRY(axes_within(axes.span(), dims.size()));
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    return wrong("starts, ends, axes and steps differ in number");
  TRY(array_bytes(dy.type(), dims, Layout::plain));  // no dimension is negative or too large
  Dims sizes = dims;
  View view{0, strides_of(dims)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    if (steps[i] == 0) return wrong("a step is 0");
    const Range range = range_of(dims[axis], starts[i], ends[i], steps[i]);
    sizes[axis] = range.count;
    if (range.count > 0) view.first += range.start * view.strides[axis];
    view.strides[axis] *= range.step;
  }
  if (!(sizes == dy.dims())) {
    return wrong(fmt::format("the gradient is {}", to_string(dy)),
                 fmt::format("of shape {}, as the slice", to_string(sizes)));
  }
  Array* dx = TRY(frame.out(0, dy.type(), dims));
  if (dx->byte_count() > 0) std::memset(dx->mutable_bytes(), 0, dx->byte_count());
  if (dy.count() == 0) return {};
  const std::int64_t row = sizes.empty() ? 1 : sizes.back(), rows = dy.count() / row;
  const std::int64_t step = sizes.empty() ? 1 : view.strides.back();
  const bool known = for_copied(dy.type(), [&]<class T>(T) {
    parallel(frame, rows, 10 + static_cast<double>(row), [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        std::int64_t rest = i, at = view.first;
        for (std::size_t axis = sizes.empty() ? 0 : sizes.size() - 1; axis-- > 0;) {
          at += rest % sizes[axis] * view.strides[axis];
          rest /= sizes[axis];
        }
        const T* from = dy.data<T>() + i * row;
        T* to = dx->mutable_data<T>() + at;
        for (std::int64_t k = 0; k < row; ++k) to[k * step] = from[k];
      }
    });
  });
  return known ? Result<void>() : wrong_type(frame, 0);
}

}  // namespace

std::span<const Descriptor> slice_descriptors() {
  static const Descriptor all[] = {{.name = "Slice",
                                    .domain = "",
                                    .since = {1, 10, 11, 13},
                                    .infer = infer,
                                    .run = run,
                                    .raise = {{10, raise_to_10}},
                                    .traits = moves({.since = 1}),
                                    .gradient = gradient},
                                   {.name = "SliceGradient",
                                    .domain = kTraining,
                                    .since = {1},
                                    .infer = infer_gradient,
                                    .run = run_gradient,
                                    .required = 4}};
  return all;
}

}  // namespace anybit::ops
