// InstanceNormalization and GroupNormalization: normalizes the channels of each group of each sample to mean
// 0 and variance 1, then scales and shifts them. ONNX: InstanceNormalization-6, -22; GroupNormalization-18
// (scale per group), -21 (per channel).
#include "ops/gradient.hpp"
#include "ops/norm/stats.hpp"
#include "ops/raise.hpp"
#include "ops/reals.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

template <class C>
Result<void> run_in(Frame& frame, std::int64_t groups, std::int64_t parameters) {
  const Array& x = frame.in(0);
  const std::int64_t channels = x.dim(1), inner = x.dims().product(2, x.rank());
  for (const std::size_t i : {1, 2}) TRY(expect_dims(frame, i, {parameters}, i == 1 ? "scale" : "shift"));
  const auto scale = TRY(reals_in<C>(frame, frame.in(1))), shift = TRY(reals_in<C>(frame, frame.in(2)));
  const auto from = TRY(reals_in<C>(frame, x));
  auto to = TRY(RealOutput<C>::make(frame, TRY(frame.out_over(0, 0, x.type(), x.dims()))));
  if (x.count() == 0) return {};
  const double epsilon = frame.real("epsilon", 1e-5);
  const std::int64_t members = channels / groups, n = members * inner;
  parallel(frame, x.dim(0) * groups, 0.6 * static_cast<double>(n),
           [&](std::int64_t first, std::int64_t last) {
             for (std::int64_t r = first; r < last; ++r) {
               const auto [mean, variance] = row_moments(from.data() + r * n, n);
               const double inverse = 1 / std::sqrt(variance + epsilon);
               for (std::int64_t m = 0; m < members; ++m) {
                 const std::int64_t channel = r % groups * members + m;
                 const auto p = static_cast<std::size_t>(parameters == channels ? channel : r % groups);
                 const std::int64_t at = r * n + m * inner;
                 const double factor = inverse * static_cast<double>(scale[p]);
                 scale_row(from.data() + at, inner, factor, static_cast<double>(shift[p]) - mean * factor,
                           to.data() + at);
               }
             }
           });
  to.finish();
  return {};
}

Result<void> run_groups(Frame& frame, std::int64_t groups, std::int64_t parameters) {
  if (!for_real(frame.in(0).type(), [](auto) {})) return wrong_type(frame, 0);
  return wants_double(frame.in(0).type()) ? run_in<double>(frame, groups, parameters)
                                          : run_in<float>(frame, groups, parameters);
}

Result<void> run_instance(Frame& frame) {
  if (frame.in(0).rank() < 2)
    return wrong(fmt::format("input 0 is {}", to_string(frame.in(0))), "batch, channels, …");
  const std::int64_t channels = frame.in(0).dim(1);
  return run_groups(frame, channels, channels);
}

Result<void> run_group(Frame& frame) {
  if (frame.in(0).rank() < 2)
    return wrong(fmt::format("input 0 is {}", to_string(frame.in(0))), "batch, channels, …");
  const std::int64_t channels = frame.in(0).dim(1), groups = frame.integer("num_groups", 0);
  if (groups < 1 || channels % groups != 0) {
    return wrong(fmt::format("num_groups is {}", groups),
                 fmt::format("a divisor of the {} channels", channels));
  }
  return run_groups(frame, groups, frame.version < 21 ? groups : channels);
}

// The scale and shift of a group are repeated for each of its channels.
Result<void> raise_to_21(Raising& raising) {
  const auto groups = raising.integer("num_groups");
  if (!groups) return error_at(Code::unsupported, {}, "num_groups is not known");
  const auto integer = [](std::string_view name, std::int64_t value) {
    return graph::attribute(name, value);
  };
  const std::int64_t column[] = {*groups, 1}, whole[] = {-1};
  const std::string channels =
      raising.add_before("Shape", {raising.edited.inputs[0]}, {integer("start", 1), integer("end", 2)});
  const std::string count = raising.constant(std::span(&*groups, 1));
  const std::string members = raising.add_before("Div", {channels, count});
  const std::string sizes = raising.add_before("Concat", {count, members}, {integer("axis", 0)});
  for (const std::size_t i : {1, 2}) {
    const std::string tall =
        raising.add_before("Reshape", {raising.edited.inputs[i], raising.constant(column)});
    const std::string wide = raising.add_before("Expand", {tall, sizes});
    raising.set_input(i, raising.add_before("Reshape", {wide, raising.constant(whole)}));
  }
  return {};
}

// Groups are rows of a layer normalization without scale; 0 as their number: each channel is one.
Result<void> gradient_of_groups(Gradient& g, std::int64_t groups) {
  const auto& shape = g.in(0).shape;
  if (!shape || shape->size() < 2) return wrong("the rank of its input is not known before the model runs");
  std::vector<std::int64_t> space, others = {0};
  for (std::size_t i = 2; i < shape->size(); ++i) {
    space.push_back(static_cast<std::int64_t>(i - 1));
    others.push_back(static_cast<std::int64_t>(i));
  }
  const std::string sizes = g.shape(g.input(0));
  const auto in_rows = [&](const std::string& value) {
    return g.add("Reshape", {value, g.integers({0, groups, -1})});
  };
  const auto by_channel = [&](const std::string& value) {
    return g.add("ReduceSum", {value, g.integers(others)}, {graph::attribute("keepdims", std::int64_t{0})});
  };
  const std::string rows = in_rows(g.input(0));
  const std::string length = g.add("Slice", {g.shape(rows), g.integers({2}), g.integers({3})});
  const std::string ones = g.add("Expand", {g.number(1), length});
  const auto attributes = attributes_of(g, {"epsilon"});
  if (g.wants(0)) {
    const std::string scale =
        space.empty() ? g.input(1) : g.add("Unsqueeze", {g.input(1), g.integers(space)});
    const std::string dy = in_rows(g.add("Mul", {g.dy(), scale}));
    const std::string dx = g.add("LayerNormalizationGradient", {dy, rows, ones}, attributes, kTraining);
    g.set(0, g.add("Reshape", {dx, sizes}));
  }
  if (g.wants(1)) {
    const std::string normal = g.add("LayerNormalization", {rows, ones}, attributes);
    g.set(1, by_channel(g.add("Mul", {g.dy(), g.add("Reshape", {normal, sizes})})));
  }
  if (g.wants(2)) g.set(2, by_channel(g.dy()));
  return {};
}

Result<void> group_gradient(Gradient& g) {
  if (g.version < 21) return wrong("its scale is one for each group", "version 21 of the operator");
  return gradient_of_groups(g, g.integer("num_groups", 0));
}

Result<void> instance_gradient(Gradient& g) { return gradient_of_groups(g, 0); }

}  // namespace

std::span<const Descriptor> group_norm_descriptors() {
  static const Descriptor all[] = {
      {.name = "GroupNormalization",
       .domain = "",
       .since = {18, 21},
       .infer = infer_same,
       .run = run_group,
       .required = 3,
       .raise = {{21, raise_to_21}},
       .traits = normalizes(true).called("group_norm"),
       .gradient = group_gradient},
      {.name = "InstanceNormalization",
       .domain = "",
       .since = {1, 6, 22},
       .infer = infer_same,
       .run = run_instance,
       .required = 3,
       .traits = normalizes(false).called("instance_norm2d"),
       .gradient = instance_gradient},
  };
  return all;
}

}  // namespace anybit::ops
