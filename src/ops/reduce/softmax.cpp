// Softmax, LogSoftmax, Hardmax. ONNX: -1, -11 flatten the tensor to a matrix at `axis`; -13 works along one
// axis.

#include "kernels/reduce/softmax.hpp"
#include "base/math.hpp"
#include "base/nan.hpp"
#include "graph/node.hpp"
#include "ops/frame.hpp"
#include "ops/gradient.hpp"
#include "ops/raise.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

enum class Kind { plain, log, hard };

// [outer, n, inner]: normalized along n.
struct Axes {
  std::int64_t outer, n, inner;
};

Result<Axes> axes_of_node(const Frame& frame) {
  const Dims& dims = frame.in(0).dims();
  if (dims.empty()) return Axes{1, 1, 1};
  const bool matrix = frame.version < 13;
  const std::size_t axis =
      TRY(axis_of(frame.integer("axis", matrix && dims.size() > 1 ? 1 : -1), dims.size()));
  const std::size_t end = matrix ? dims.size() : axis + 1;
  return Axes{dims.product(0, axis), dims.product(axis, end), dims.product(end, dims.size())};
}

template <Kind What, class T>
void softmax(const T* x, std::int64_t n, std::int64_t stride, T* y) {
  using C = Computed<T>;
  const auto at = [&](std::int64_t i) { return static_cast<C>(x[i * stride]); };
  C largest = at(0);
  std::int64_t where = 0;
  for (std::int64_t i = 1; i < n; ++i) {
    if (at(i) > largest || is_nan(at(i))) largest = at(i), where = i;
  }
  if constexpr (What == Kind::hard) {
    for (std::int64_t i = 0; i < n; ++i) y[i * stride] = T(C(i == where ? 1 : 0));
    return;
  }
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += math::exp(static_cast<double>(at(i) - largest));
  for (std::int64_t i = 0; i < n; ++i) {
    const auto away = static_cast<double>(at(i) - largest);
    y[i * stride] = T(static_cast<C>(What == Kind::log ? away - math::log(sum) : math::exp(away) / sum));
  }
}

template <Kind What>
void softmax_floats(Frame& frame, const Axes& axes, const float* x, float* y) {
  const std::int64_t outer = axes.outer, n = axes.n, inner = axes.inner;
  const auto size = static_cast<std::size_t>(n);
  const double cost = 1.5 * static_cast<double>(n);
  if (inner == 1) {
    parallel(frame, outer, cost, [&](std::int64_t first, std::int64_t last) {
      kernels::softmax_rows(x + first * n, static_cast<std::size_t>(last - first), size, What == Kind::log,
                            y + first * n);
    });
    return;
  }
  constexpr std::int64_t kColumns = 64;
  const std::int64_t parts = (inner + kColumns - 1) / kColumns;
  parallel(frame, outer * parts, cost * kColumns, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t column = i % parts * kColumns, at = i / parts * n * inner + column;
      kernels::softmax_columns(x + at, size, static_cast<std::size_t>(inner),
                               static_cast<std::size_t>(std::min(kColumns, inner - column)),
                               What == Kind::log, y + at);
    }
  });
}

template <Kind What>
Result<void> run(Frame& frame) {
  const Array& x = frame.in(0);
  const Axes axes = TRY(axes_of_node(frame));
  if (!for_real(x.type(), [](auto) {})) return wrong_type(frame, 0);
  Array* y = TRY(frame.out_over(0, 0, x.type(), x.dims()));
  if (x.count() == 0) return {};
  if (What != Kind::hard && x.type() == ElementType::float32) {
    softmax_floats<What>(frame, axes, x.data<float>(), y->mutable_data<float>());
    return {};
  }
  const std::int64_t outer = axes.outer, n = axes.n, inner = axes.inner;
  for_real(x.type(), [&]<class T>(T) {
    T* to = y->mutable_data<T>();
    parallel(frame, outer * inner, 20 * static_cast<double>(n), [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t at = i / inner * n * inner + i % inner;
        softmax<What>(x.data<T>() + at, n, inner, to + at);
      }
    });
  });
  return {};
}

// Before 13, the tensor is flattened to a matrix at `axis`, and softmax is taken of its rows. Along the last
// axis both versions agree.
Result<void> raise_to_13(Raising& raising) {
  const auto& shape = raising.in(0).shape;
  const auto given = raising.integer("axis");
  const bool refers = raising.refers("axis");
  const std::int64_t rank = shape ? static_cast<std::int64_t>(shape->size()) : -1;
  if (!refers && (given == -1 || rank == 1 || (rank > 1 && given.value_or(1) == rank - 1))) {
    raising.set("axis", std::int64_t{-1});
    return {};
  }
  const std::string input = raising.edited.inputs[0];
  const std::string sizes = raising.add_before("Shape", {input});
  const graph::Attribute* axis = raising.find("axis");
  raising.edited.inputs[0] =
      raising.add_before("Flatten", {input}, {axis ? *axis : graph::attribute("axis", std::int64_t{1})});
  raising.set("axis", std::int64_t{-1});
  // allowzero (opset 14): a 0 in the shape is a size.
  std::vector<graph::Attribute> as_they_are;
  if (raising.target >= 14) as_they_are.push_back(graph::attribute("allowzero", std::int64_t{1}));
  raising.wrap_output(0, "Reshape", {sizes}, std::move(as_they_are));
  return {};
}

// Before 13 the axes from `axis` on were one.
template <Kind What>
Result<void> gradient(Gradient& g) {
  if (g.version < 13)
    return wrong(fmt::format("it is of version {} of the operator", g.version), "version 13 or newer");
  return gradient_by_output(g, What == Kind::log ? "LogSoftmaxGradient" : "SoftmaxGradient");
}

}  // namespace

std::span<const Descriptor> softmax_descriptors() {
  static const Descriptor all[] = {
      {.name = "Hardmax",
       .domain = "",
       .since = {1, 11, 13},
       .infer = infer_same,
       .run = run<Kind::hard>,
       .raise = {{13, raise_to_13}},
       .gradient = no_gradient},
      {.name = "LogSoftmax",
       .domain = "",
       .since = {1, 11, 13},
       .infer = infer_same,
       .run = run<Kind::log>,
       .raise = {{13, raise_to_13}},
       .traits = computes_sensitive().with_mask(0),
       .gradient = gradient<Kind::log>},
      {.name = "Softmax",
       .domain = "",
       .since = {1, 11, 13},
       .infer = infer_same,
       .run = run<Kind::plain>,
       .raise = {{13, raise_to_13}},
       .traits =
           {.role = Traits::Role::compute, .range = Traits::Range{0.0f, 1.0f}, .mask = 0, .alias = "softmax"},
       .gradient = gradient<Kind::plain>},
  };
  return all;
}

}  // namespace anybit::ops
