// Reductions over axes. In version 18 (ReduceSum: 13) the axes became an input.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/math.hpp"
#include "base/nan.hpp"
#include "kernels/reduce/reduce.hpp"
#include "ops/frame.hpp"
#include "ops/gradient.hpp"
#include "ops/raise.hpp"
#include "ops/reduce/reduction_walk.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

using kernels::Summand;

std::vector<std::size_t> all_axes(std::size_t rank) {
  std::vector<std::size_t> axes(rank);
  for (std::size_t i = 0; i < rank; ++i) axes[i] = i;
  return axes;
}

Result<Values> infer(const Call& call) {
  const Value& input = call.in(0);
  const bool keep = call.integer("keepdims", 1) != 0;
  const bool given = call.has(1) || call.find("axes");
  const auto list = call.list(1, "axes");
  if (!input.shape) return outputs_of(call, tensor(input.type, std::nullopt));
  const std::size_t rank = input.shape->size();
  const auto axes = list ? numbers(*list) : std::nullopt;
  if (given && !axes) {  // axes are given, but their values are unknown
    return outputs_of(call, tensor(input.type, keep ? std::optional(unknown_shape(rank)) : std::nullopt));
  }
  if (!axes || axes->empty()) {
    if (call.integer("noop_with_empty_axes", 0) != 0) return infer_same(call);
    return outputs_of(call, tensor(input.type, reduced_shape(*input.shape, all_axes(rank), keep)));
  }
  std::vector<std::size_t> gone;  // duplicate axes count once
  for (const std::int64_t axis : *axes) gone.push_back(TRY(axis_of(axis, rank)));
  return outputs_of(call, tensor(input.type, reduced_shape(*input.shape, gone, keep)));
}

// ReduceProd of a tracked vector: the number of elements of a computed shape.
Result<Values> infer_product(const Call& call) {
  Values values = TRY(infer(call));
  const bool whole = !values.empty() && values[0].shape && product(*values[0].shape).is(1);
  if (whole && call.in(0).elements) values[0].elements = std::vector<Dim>{product(*call.in(0).elements)};
  return values;
}

// Accumulator types: double for floats, 64-bit integers (modulo 2^64) for integers.
template <class T>
using Wide = std::conditional_t<kIsReal<T>, double,
                                std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;

template <class T>
Wide<T> widened(T x) {
  return static_cast<Wide<T>>(static_cast<Computed<T>>(x));
}
template <class W>
W plus(W a, W b) {
  if constexpr (std::is_floating_point_v<W>)
    return a + b;
  else
    return static_cast<W>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
template <class W>
W times(W a, W b) {
  if constexpr (std::is_floating_point_v<W>)
    return a * b;
  else
    return static_cast<W>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
// Converts to the result type; for integers truncates towards zero and saturates, NaN gives 0.
template <class T>
T narrowed(double x) {
  if constexpr (std::is_same_v<T, double>)
    return x;
  else if constexpr (kIsHalf<T>)
    return T(static_cast<float>(x));
  else if constexpr (kIsReal<T>)
    return static_cast<T>(x);
  else if (std::isnan(x))
    return 0;
  else if (x <= static_cast<double>(std::numeric_limits<T>::lowest()))
    return std::numeric_limits<T>::lowest();
  else if (x >= static_cast<double>(std::numeric_limits<T>::max()))
    return std::numeric_limits<T>::max();
  else
    return static_cast<T>(x);
}

// Interface of a fold: Held (accumulator); start(); add(held, x); finish(held, count). Folds with fast
// float32 kernels also have run(held, x, n) and columns(held, x, rows, stride, n).
enum class After { nothing, mean, root, log };

template <class T, Summand What, After Then>
struct Sums {
  using Held = Wide<T>;
  static Held start() { return 0; }
  static void add(Held& held, T x) {
    const Held wide = widened(x);
    if constexpr (What == Summand::value)
      held = plus(held, wide);
    else if constexpr (What == Summand::square)
      held = plus(held, times(wide, wide));
    else
      held = plus(held, wide < 0 ? plus(Held(0), times(wide, static_cast<Held>(-1))) : wide);
  }
  static T finish(Held held, std::int64_t count) {
    if constexpr (Then == After::root)
      return narrowed<T>(std::sqrt(static_cast<double>(held)));
    else if constexpr (Then == After::log)
      return narrowed<T>(math::log(static_cast<double>(held)));
    else if constexpr (kIsReal<T>)
      return narrowed<T>(Then == After::mean ? held / static_cast<double>(count) : held);
    else if (Then == After::mean)
      return count ? static_cast<T>(held / static_cast<Held>(count)) : T(0);
    else
      return static_cast<T>(held);
  }
  static void run(Held& held, const float* x, std::size_t n) { held += kernels::row_sum(What, x, n); }
  static void columns(Held* held, const float* x, std::size_t rows, std::size_t stride, std::size_t n) {
    kernels::column_sums(What, x, rows, stride, n, held);
  }
};

template <class T, bool Largest>
struct Extreme {
  using Held = Computed<T>;
  static Held start() {
    using Limits = std::numeric_limits<Held>;
    if constexpr (Limits::has_infinity)
      return Largest ? -Limits::infinity() : Limits::infinity();
    else
      return Largest ? Limits::lowest() : Limits::max();
  }
  static void add(Held& held, T x) {
    const auto v = static_cast<Held>(x);
    if constexpr (kIsReal<T>) {
      if (is_nan(held)) return;  // NaN stays
      if (is_nan(v)) held = v;
    }
    if (Largest ? v > held : v < held) held = v;
  }
  static T finish(Held held, std::int64_t) { return T(held); }
  static void run(Held& held, const float* x, std::size_t n) {
    add(held, Largest ? kernels::row_max(x, n) : kernels::row_min(x, n));
  }
  static void columns(Held* held, const float* x, std::size_t rows, std::size_t stride, std::size_t n) {
    (Largest ? kernels::column_max : kernels::column_min)(x, rows, stride, n, held);
  }
};

template <class T>
struct Product {
  using Held = Wide<T>;
  static Held start() { return 1; }
  static void add(Held& held, T x) { held = times(held, widened(x)); }
  static T finish(Held held, std::int64_t) {
    if constexpr (kIsReal<T>)
      return narrowed<T>(held);
    else
      return static_cast<T>(held);
  }
};

// log Σ e^x, relative to the largest x so far; the sum is rescaled when a larger one comes.
template <class T>
struct LogSumExp {
  struct Held {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  };
  static Held start() { return {}; }
  static void add(Held& held, T x) {
    const auto v = static_cast<double>(static_cast<Computed<T>>(x));
    if (v > held.largest) {
      held.sum = (held.sum == 0 ? 0 : held.sum * math::exp(held.largest - v)) + 1;
      held.largest = v;
    } else {
      held.sum += v == held.largest ? (std::isinf(v) && v < 0 ? 0.0 : 1.0) : math::exp(v - held.largest);
    }
  }
  static T finish(Held held, std::int64_t) { return narrowed<T>(math::log(held.sum) + held.largest); }
};

template <class T>
using Sum = Sums<T, Summand::value, After::nothing>;
template <class T>
using Mean = Sums<T, Summand::value, After::mean>;
template <class T>
using LogSum = Sums<T, Summand::value, After::log>;
template <class T>
using L1 = Sums<T, Summand::magnitude, After::nothing>;
template <class T>
using L2 = Sums<T, Summand::square, After::root>;
template <class T>
using SumSquare = Sums<T, Summand::square, After::nothing>;
template <class T>
using Max = Extreme<T, true>;
template <class T>
using Min = Extreme<T, false>;

template <class Fold, class T>
inline constexpr bool kIsFast = std::is_same_v<T, float>&& requires(const float* x) {
  Fold::columns(nullptr, x, std::size_t(), std::size_t(), std::size_t());
};

template <class Fold, class T>
void fold_run(typename Fold::Held& held, const T* x, std::int64_t n) {
  if constexpr (kIsFast<Fold, T>) {
    if (n >= 8) return Fold::run(held, x, static_cast<std::size_t>(n));
  }
  for (std::int64_t i = 0; i < n; ++i) Fold::add(held, x[i]);
}

// Results [first, last), each from contiguous runs.
template <class Fold, class T>
void fold_runs(const AxisReduction& folding, const T* x, std::int64_t first, std::int64_t last, T* y) {
  const std::int64_t runs = folding.reduced.count();
  for (std::int64_t i = first; i < last; ++i) {
    const T* at = x + folding.kept.offset(i);
    auto held = Fold::start();
    for (std::int64_t r = 0; r < runs; ++r) fold_run<Fold>(held, at + folding.reduced.offset(r), folding.run);
    y[i] = Fold::finish(held, folding.folded());
  }
}

template <class Fold, class T>
void fold_columns(const AxisReduction& folding, const T* x, std::int64_t n, T* y) {
  typename Fold::Held held[kFoldedTogether];
  const std::int64_t rows = folding.reduced.count();
  if constexpr (kIsFast<Fold, T>) {
    if (folding.reduced.sizes.size() == 1) {
      Fold::columns(held, x, static_cast<std::size_t>(rows),
                    static_cast<std::size_t>(folding.reduced.strides[0]), static_cast<std::size_t>(n));
      for (std::int64_t i = 0; i < n; ++i) y[i] = Fold::finish(held[i], rows);
      return;
    }
  }
  std::fill_n(held, n, Fold::start());
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* row = x + folding.reduced.offset(r);
    for (std::int64_t i = 0; i < n; ++i) Fold::add(held[i], row[i]);
  }
  for (std::int64_t i = 0; i < n; ++i) y[i] = Fold::finish(held[i], rows);
}

template <class Fold, class T>
void fold_all(Frame& frame, const AxisReduction& folding, const T* x, T* y) {
  reduce_in_parallel(
      frame, folding,
      [&](std::int64_t first, std::int64_t last) { fold_runs<Fold>(folding, x, first, last, y); },
      [&](std::int64_t from, std::int64_t n, std::int64_t to) {
        fold_columns<Fold>(folding, x + from, n, y + to);
      });
}

template <template <class> class Fold>
Result<void> run(Frame& frame) {
  const Array& x = frame.in(0);
  constexpr bool kOrders = std::is_same_v<Fold<float>, Max<float>> || std::is_same_v<Fold<float>, Min<float>>;
  if (!for_number(x.type(), [](auto) {}) && !(kOrders && x.type() == ElementType::boolean))
    return wrong_type(frame, 0);
  Dims axes = TRY(dims_of(frame, 1, "axes")).value_or(Dims());
  if (axes.empty() && !frame.flag("noop_with_empty_axes")) {
    for (std::size_t axis = 0; axis < x.rank(); ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  }
  const Reduced reduced = TRY(reduced_of(x.dims(), axes.span(), frame.integer("keepdims", 1) != 0));
  Array* y = TRY(frame.out(0, x.type(), reduced.dims));
  if (y->count() == 0) return {};
  const auto body = [&]<class T>(T) {
    fold_all<Fold<T>>(frame, reduced.folding, x.data<T>(), y->mutable_data<T>());
  };
  if constexpr (kOrders) {
    if (x.type() == ElementType::boolean) return body(bool()), Result<void>();
  }
  for_number(x.type(), body);
  return {};
}

constexpr Descriptor reduction(std::string_view name, Versions since, Run run, GradientRule gradient,
                               Traits traits = computes_sensitive(), Infer rule = infer) {
  const std::int16_t axes_are_an_input = name == "ReduceSum" ? 13 : 18;
  return {.name = name,
          .domain = "",
          .since = since,
          .infer = rule,
          .run = run,
          .raise = {{axes_are_an_input, raise_axes_to_input}},
          .traits = traits,
          .gradient = gradient};
}

// A value of the reduced shape in a shape that broadcasts to the input's: reduced axes of size 1.
std::string kept(Gradient& g, const std::string& value) {
  const bool whole = !g.has(1) && !g.find("axes");
  if (g.flag("keepdims", true) || whole) return value;
  return g.add("Unsqueeze", {value, g.has(1) ? g.input(1) : g.integers(*g.ints("axes"))});
}

// Without axes nothing is reduced if noop_with_empty_axes is set.
bool reduces(const Gradient& g) {
  const auto axes = g.has(1) ? g.in(1).elements : std::optional(std::vector<Dim>());
  return !(axes && axes->empty() && !g.find("axes") && g.flag("noop_with_empty_axes"));
}

std::string spread(Gradient& g, const std::string& value) {
  return g.add("Expand", {value, g.shape(g.input(0))});
}

Result<void> sum_gradient(Gradient& g) {
  g.set(0, reduces(g) ? spread(g, kept(g, g.dy())) : g.dy());
  return {};
}

Result<void> mean_gradient(Gradient& g) {
  if (!reduces(g)) return gradient_unchanged(g);
  const auto &from = g.in(0).shape, &to = g.out().shape;
  const Dim all = from ? product(*from) : Dim(), results = to ? product(*to) : Dim();
  std::string count;
  if (all.known() && results.known() && !results.is(0)) {
    count = g.number(static_cast<double>(*all.size) / static_cast<double>(*results.size));
  } else {
    const auto size = [&](const std::string& value) {
      const std::string product =
          g.add("ReduceProd", {g.shape(value)}, {graph::attribute("keepdims", std::int64_t{0})});
      return in_type_of(g, product, g.in(0));
    };
    count = g.add("Div", {size(g.input(0)), size(g.output())});
  }
  g.set(0, spread(g, kept(g, g.add("Div", {g.dy(), count}))));
  return {};
}

Result<void> sum_square_gradient(Gradient& g) {
  g.set(0, g.add("Mul", {g.input(0), kept(g, g.add("Mul", {g.dy(), g.number(2)}))}));
  return {};
}

Result<void> l1_gradient(Gradient& g) {
  g.set(0, g.add("Mul", {g.add("Sign", {g.input(0)}), kept(g, g.dy())}));
  return {};
}

// x / y · dy; 0 where the norm is 0.
Result<void> l2_gradient(Gradient& g) {
  const std::string quotient = g.add("Div", {g.dy(), g.output()});
  const std::string scale = only_where(g, g.add("Greater", {g.output(), g.number(0)}), quotient);
  g.set(0, g.add("Mul", {g.input(0), kept(g, scale)}));
  return {};
}

Result<void> log_sum_gradient(Gradient& g) {
  g.set(0, spread(g, kept(g, g.add("Div", {g.dy(), g.add("Exp", {g.output()})}))));
  return {};
}

Result<void> log_sum_exp_gradient(Gradient& g) {
  const std::string shares = g.add("Exp", {g.add("Sub", {g.input(0), kept(g, g.output())})});
  g.set(0, g.add("Mul", {shares, kept(g, g.dy())}));
  return {};
}

// Elements that share the extreme share its gradient, as in PyTorch.
Result<void> extreme_gradient(Gradient& g) {
  if (!reduces(g)) return gradient_unchanged(g);
  const std::string chosen = as_numbers(g, g.add("Equal", {g.input(0), kept(g, g.output())}));
  auto attributes = attributes_of(g, {"noop_with_empty_axes"});
  std::vector<std::string> inputs = {chosen};
  if (g.has(1)) inputs.push_back(g.input(1));
  if (!g.has(1) && g.find("axes")) inputs.push_back(g.integers(*g.ints("axes")));
  const std::string count = g.add("ReduceSum", std::move(inputs), std::move(attributes));
  g.set(0, g.add("Mul", {chosen, g.add("Div", {kept(g, g.dy()), count})}));
  return {};
}

}  // namespace

std::span<const Descriptor> reduce_descriptors() {
  static const Descriptor all[] = {
      reduction("ReduceL1", {1, 11, 13, 18}, run<L1>, l1_gradient,
                computes_sensitive().with_sign(Traits::Sign::positive)),
      reduction("ReduceL2", {1, 11, 13, 18}, run<L2>, l2_gradient,
                computes_sensitive().with_sign(Traits::Sign::positive)),
      reduction("ReduceLogSum", {1, 11, 13, 18}, run<LogSum>, log_sum_gradient),
      reduction("ReduceLogSumExp", {1, 11, 13, 18}, run<LogSumExp>, log_sum_exp_gradient),
      reduction("ReduceMax", {1, 11, 12, 13, 18, 20}, run<Max>, extreme_gradient,
                moves({.since = 12, .ours = true})),
      reduction("ReduceMean", {1, 11, 13, 18}, run<Mean>, mean_gradient,
                computes().with_sign(Traits::Sign::of_inputs)),
      reduction("ReduceMin", {1, 11, 12, 13, 18, 20}, run<Min>, extreme_gradient,
                moves({.since = 12, .ours = true})),
      reduction("ReduceProd", {1, 11, 13, 18}, run<Product>, nullptr, computes_sensitive(), infer_product),
      reduction("ReduceSum", {1, 11, 13}, run<Sum>, sum_gradient, computes()),
      reduction("ReduceSumSquare", {1, 11, 13, 18}, run<SumSquare>, sum_square_gradient),
  };
  return all;
}

}  // namespace anybit::ops
