// LayerNormalization, RMSNormalization, and ONNX Runtime's SimplifiedLayerNormalization: normalizes each row
// (the axes from `axis` on) to mean 0 and variance 1 (or root mean square 1), then scales and shifts it.
// ONNX: LayerNormalization-17 (ONNX Runtime has one of version 1), RMSNormalization-23.
#include "ops/check.hpp"
#include "ops/gradient.hpp"
#include "ops/norm/stats.hpp"
#include "ops/reals.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// ONNX's LayerNormalization has one type for all tensors. In the others the result has the scale's type,
// which may be another floating-point type than the input's.
bool is_uniform(const Attributes& node) {
  return node.node.op_type.str() == "LayerNormalization" && node.version >= 17;
}

// Mean and inverse deviation keep the axes before `axis`; the normalized axes have size 1.
Result<Values> infer(const Call& call) {
  Values values = outputs_of(call, tensor(call.in(is_uniform(call) ? 0 : 1).type, call.in(0).shape));
  const auto& shape = call.in(0).shape;
  if (values.size() < 2 || !shape) return values;
  const std::size_t axis = TRY(axis_of(call.integer("axis", -1), shape->size()));
  Shape statistics = *shape;
  for (std::size_t i = axis; i < statistics.size(); ++i) statistics[i] = 1;
  const ElementType type = type_of(call.integer("stash_type", 1));
  for (std::size_t i = 1; i < values.size(); ++i) values[i] = tensor(type, statistics);
  return values;
}

// A scale or shift: its row r starts at data + r · stride.
template <class C>
struct Rows {
  const C* data = nullptr;
  std::int64_t stride = 0;
  const C* row(std::int64_t r) const { return data ? data + r * stride : nullptr; }
};

// A single row if it has the sizes of the normalized axes; otherwise broadcast to the input's whole shape.
template <class C>
Result<Rows<C>> rows_of(Frame& frame, std::size_t input, const Dims& dims, std::size_t axis) {
  if (!frame.has(input)) return Rows<C>();
  const Array& array = frame.in(input);
  const std::span<const C> elements = TRY(reals_in<C>(frame, array));
  if (array.rank() == dims.size() - axis &&
      std::equal(array.dims().begin(), array.dims().end(), dims.begin() + axis)) {
    return Rows<C>{elements.data(), 0};
  }
  const Dims joint = TRY(broadcast_dims(array.dims(), dims));
  if (!(joint == dims)) {
    return wrong(fmt::format("input {} is {}", input, to_string(array)),
                 fmt::format("a shape that broadcasts to {}", to_string(dims)));
  }
  if (only_checks(frame)) return Rows<C>();
  const auto whole = TRY(frame.scratch_of<C>(dims.count()));
  const Dims strides = broadcast_strides(array.dims(), dims);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    auto rest = static_cast<std::int64_t>(i);
    std::int64_t at = 0;
    for (std::size_t k = dims.size(); k-- > 0; rest /= dims[k]) at += rest % dims[k] * strides[k];
    whole[i] = elements[static_cast<std::size_t>(at)];
  }
  return Rows<C>{whole.data(), dims.product(axis, dims.size())};
}

// Means or inverse deviations, one per row.
class Statistics {
 public:
  static Result<Statistics> make(Frame& frame, std::size_t output, ElementType type, const Dims& dims) {
    Statistics made;
    if (!frame.wants(output)) return made;
    if (type != ElementType::float32 && type != ElementType::bfloat16 && type != ElementType::float16 &&
        type != ElementType::float64) {
      return wrong(fmt::format("stash_type {} is not a floating-point type", static_cast<int>(type)));
    }
    made.array_ = TRY(frame.out(output, type, dims));
    return made;
  }
  void set(std::int64_t row, double value) {
    if (!array_) return;
    for_real(array_->type(),
             [&]<class T>(T) { array_->mutable_data<T>()[row] = T(static_cast<Computed<T>>(value)); });
  }

 private:
  Array* array_ = nullptr;
};

template <class C, bool Centered>
Result<void> run_in(Frame& frame, std::size_t axis) {
  const Array& x = frame.in(0);
  const Dims& dims = x.dims();
  const std::int64_t rows = dims.product(0, axis), n = dims.product(axis, dims.size());
  Dims kept = dims;
  for (std::size_t i = axis; i < kept.size(); ++i) kept[i] = 1;
  const ElementType stash = type_of(frame.integer("stash_type", 1));
  const auto from = TRY(reals_in<C>(frame, x));
  const auto scale = TRY(rows_of<C>(frame, 1, dims, axis));
  const auto shift = Centered ? TRY(rows_of<C>(frame, 2, dims, axis)) : Rows<C>();
  Statistics means = Centered ? TRY(Statistics::make(frame, 1, stash, kept)) : Statistics();
  Statistics inverses = TRY(Statistics::make(frame, Centered ? 2 : 1, stash, kept));
  const ElementType type = frame.in(1).type();
  Array* y = type == x.type() ? TRY(frame.out_over(0, 0, type, dims)) : TRY(frame.out(0, type, dims));
  auto to = TRY(RealOutput<C>::make(frame, y));
  const double epsilon = frame.real("epsilon", 1e-5);
  parallel(frame, rows, 0.6 * static_cast<double>(n) + 10, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t r = first; r < last; ++r) {
      const C* row = from.data() + r * n;
      kernels::Moments found;
      if (Centered)
        found = row_moments(row, n);
      else
        found.variance = row_sum(kernels::Summand::square, row, n) / static_cast<double>(n);
      const double inverse = 1 / std::sqrt(found.variance + epsilon);
      means.set(r, found.mean);
      inverses.set(r, inverse);
      normalize_row(row, n, found.mean, inverse, scale.row(r), shift.row(r), to.data() + r * n);
    }
  });
  to.finish();
  return {};
}

template <bool Centered>
Result<void> run(Frame& frame) {
  const std::size_t axis = TRY(axis_of(frame.integer("axis", -1), frame.in(0).rank()));
  for (const std::size_t input : {0, 1}) {
    if (!for_real(frame.in(input).type(), [](auto) {})) return wrong_type(frame, input);
  }
  const auto as = [&](std::size_t input, std::size_t other, std::string_view what) -> Result<void> {
    if (!frame.has(input) || frame.in(input).type() == frame.in(other).type()) return {};
    return wrong(fmt::format("the {} is {}", what, to_string(frame.in(input))),
                 fmt::format("{} as input {}", graph::name_of(frame.in(other).type()), other));
  };
  if (is_uniform(frame)) TRY(as(1, 0, "scale"));
  if (Centered) TRY(as(2, 1, "shift"));
  const bool wide = wants_double(frame.in(0).type()) || wants_double(frame.in(1).type());
  return wide ? run_in<double, Centered>(frame, axis) : run_in<float, Centered>(frame, axis);
}

// Scale and bias may broadcast to the normalized axes.
Result<void> gradient(Gradient& g) {
  if (!g.dy(1).empty() || !g.dy(2).empty())
    return wrong("there is no gradient through its mean and deviation", "only through its first output");
  const auto& shape = g.in(0).shape;
  if (!shape) return wrong("the rank of its input is not known before the model runs");
  const std::size_t axis = TRY(axis_of(g.integer("axis", -1), shape->size()));
  const std::span<const Dim> inner = std::span(*shape).subspan(axis);
  const auto& scale_shape = g.in(1).shape;
  std::string scale = g.input(1);
  if (!scale_shape || !std::ranges::equal(*scale_shape, inner, same)) {
    const std::string from = g.integers({static_cast<std::int64_t>(axis)});
    scale = g.add("Expand", {scale, g.add("Slice", {g.shape(g.input(0)), from, g.integers({INT64_MAX})})});
  }
  const auto all = g.add_all("LayerNormalizationGradient", {g.dy(), g.input(0), scale}, 3,
                             attributes_of(g, {"axis", "epsilon"}), kTraining);
  for (std::size_t i = 0; i < 3; ++i) g.set(i, all[i]);
  return {};
}

constexpr Descriptor layer(std::string_view name, std::string_view domain, Versions since, Run run,
                           Traits traits = computes_sensitive(), GradientRule gradient = nullptr) {
  return {.name = name,
          .domain = domain,
          .since = since,
          .infer = infer,
          .run = run,
          .required = 2,
          .traits = traits,
          .gradient = gradient};
}

}  // namespace

std::span<const Descriptor> layer_norm_descriptors() {
  static const Descriptor all[] = {
      layer("LayerNormalization", "", {1, 17}, run<true>, normalizes(true).called("layer_norm"), gradient),
      layer("LayerNormalization", kMicrosoft, {1}, run<true>, normalizes(true).called("layer_norm"),
            gradient),
      layer("RMSNormalization", "", {23}, run<false>, normalizes(true).called("rms_norm")),
      layer("SimplifiedLayerNormalization", "", {1}, run<false>),
      layer("SimplifiedLayerNormalization", kMicrosoft, {1}, run<false>),
  };
  return all;
}

}  // namespace anybit::ops
