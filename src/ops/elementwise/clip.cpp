// Clip and Shrink: values limited to a range, or values near zero set to zero. ONNX: Clip-1, -6 (attributes),
// -11 … -13 (inputs); Shrink-9.
#include <algorithm>
#include <limits>

#include "kernels/elementwise/clamp.hpp"
#include "ops/check.hpp"
#include "ops/convert.hpp"
#include "ops/elementwise/real_unary.hpp"
#include "ops/gradient.hpp"
#include "ops/raise.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// The largest finite number of a type; its negative is the lowest of a float type.
template <class T>
Computed<T> most() {
  if constexpr (std::is_same_v<T, Float16>) return 65504.0f;
  if constexpr (std::is_same_v<T, BFloat16>) return 0x1.FEp127f;
  return std::numeric_limits<Computed<T>>::max();
}

// A real bound as type T: integer types truncate and saturate.
template <class T>
T from_real(double value) {
  using Number = Computed<T>;
  if constexpr (std::is_integral_v<Number>) {
    using Limits = std::numeric_limits<Number>;
    if (!(value > static_cast<double>(Limits::min()))) return Limits::min();
    if (value >= static_cast<double>(Limits::max())) return Limits::max();
  }
  return static_cast<T>(static_cast<Number>(value));
}

// A bound of type T: an input since version 11, an attribute before.
template <class T>
Result<T> bound(const Frame& frame, std::size_t input, std::string_view attribute, T otherwise) {
  if (frame.version < 11) {
    const double value = frame.real(attribute, static_cast<double>(static_cast<Computed<T>>(otherwise)));
    return from_real<T>(value);
  }
  if (!frame.has(input)) {
    if (frame.find(attribute))
      return wrong(fmt::format("{} is an attribute", attribute), "an input, as since opset 11");
    return otherwise;
  }
  const Array& array = frame.in(input);
  if (array.type() != frame.in(0).type() || array.count() != 1) {
    return wrong(fmt::format("{} is {}", attribute, to_string(array)),
                 fmt::format("a single {}", graph::name_of(frame.in(0).type())));
  }
  return has_elements(array) ? *array.data<T>() : otherwise;
}

template <class T>
Result<void> clip_to(Frame& frame) {
  const Array& in = frame.in(0);
  // A bound that is left out is the largest finite number, so infinity is clipped to it.
  const auto highest = static_cast<T>(most<T>());
  const auto lowest = static_cast<T>(kIsReal<T> ? -most<T>() : std::numeric_limits<Computed<T>>::lowest());
  const Computed<T> low = TRY(bound<T>(frame, 1, "min", lowest));
  const Computed<T> high = TRY(bound<T>(frame, 2, "max", highest));
  if constexpr (kIsReal<T>) {
    // If the bounds are swapped, every result is the upper bound.
    const auto exact = [](double x, double a, double b) { return x != x ? x : std::min(std::max(x, a), b); };
    return run_unary(frame, kernels::Map::clip, exact, static_cast<double>(low), static_cast<double>(high));
  } else {
    Array* out = TRY(frame.out_over(0, 0, in.type(), in.dims()));
    parallel(frame, in.stored(), 0.2, [&](std::int64_t first, std::int64_t last) {
      kernels::clamp<T>(in.data<T>() + first, out->mutable_data<T>() + first, last - first, low, high);
    });
    return {};
  }
}

Result<void> run_clip(Frame& frame) {
  Result<void> done = {};
  if (!for_number(frame.in(0).type(), [&]<class T>(T) { done = clip_to<T>(frame); })) {
    return wrong_type(frame, 0);
  }
  return done;
}

double shrunk(double x, double lambda, double bias) {
  return x < -lambda ? x + bias : x > lambda ? x - bias : 0;
}

Result<void> run_shrink(Frame& frame) {
  const double lambda = frame.real("lambd", 0.5), bias = frame.real("bias", 0);
  const Array& in = frame.in(0);
  if (is_float(in.type())) return run_unary(frame, kernels::Map::shrink, shrunk, lambda, bias);
  if (!for_integer(in.type(), [](auto) {})) return wrong_type(frame, 0);
  Array* out = TRY(frame.out_over(0, 0, in.type(), in.dims()));
  for_integer(in.type(), [&]<class T>(T) {
    std::ranges::transform(in.elements<T>(), out->mutable_data<T>(),
                           [&](T x) { return to_integral<T>(shrunk(static_cast<double>(x), lambda, bias)); });
  });
  return {};
}

Result<void> raise_clip_to_11(Raising& raising) {
  TRY(raising.real_to_input("min", 1));
  TRY(raising.real_to_input("max", 2));
  return {};
}

// A learned bound gets the gradients of the elements beyond it. Where the bounds cross, all are the upper
// one.
Result<void> clip_gradient(Gradient& g) {
  const auto bound = [&](std::size_t i) { return g.has(i) ? g.input(i) : std::string(); };
  if (g.version < 11) {  // bounds are attributes
    const auto value = [&](std::string_view name) {
      return g.find(name) ? g.number(g.real(name, 0)) : std::string();
    };
    g.set(0, g.add("ClipGradient", {g.dy(), g.input(0), value("min"), value("max")}, {}, kTraining));
    return {};
  }
  g.set(0, g.add("ClipGradient", {g.dy(), g.input(0), bound(1), bound(2)}, {}, kTraining));
  if (g.wants(1)) {
    std::string below = g.add("Less", {g.input(0), g.input(1)});
    if (g.has(2)) below = g.add("And", {below, g.add("LessOrEqual", {g.input(1), g.input(2)})});
    g.set(1, only_where(g, below, g.dy()));
  }
  if (g.wants(2)) {
    const std::string raised = g.has(1) ? g.add("Max", {g.input(0), g.input(1)}) : g.input(0);
    g.set(2, only_where(g, g.add("Greater", {raised, g.input(2)}), g.dy()));
  }
  return {};
}

Result<void> shrink_gradient(Gradient& g) {
  const std::string far = g.add("Greater", {g.add("Abs", {g.input(0)}), g.number(g.real("lambd", 0.5))});
  g.set(0, only_where(g, far, g.dy()));
  return {};
}

}  // namespace

std::span<const Descriptor> clip_descriptors() {
  static const Descriptor all[] = {
      {.name = "Clip",
       .domain = "",
       .since = {1, 6, 11, 12, 13},
       .infer = infer_same,
       .run = run_clip,
       .layouts = Layouts::each,
       .raise = {{11, raise_clip_to_11}},
       .traits = {.role = Traits::Role::element, .clamps = true, .by_element = true},
       .gradient = clip_gradient},
      {.name = "Shrink",
       .domain = "",
       .since = {9},
       .infer = infer_same,
       .run = run_shrink,
       .layouts = Layouts::each,
       .traits = of_each_element(),
       .gradient = shrink_gradient},
  };
  return all;
}

}  // namespace anybit::ops
