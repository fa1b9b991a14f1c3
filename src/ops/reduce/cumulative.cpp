// CumSum and CumProd: running sums and products along an axis. ONNX: CumSum-11, -14; CumProd-26.
#include "ops/elementwise/binary_functions.hpp"
#include "ops/gradient.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

struct Line {
  std::int64_t length, stride;
  bool exclusive, reverse;
};

// One line along the axis. 16-bit floats accumulate in float32.
template <class T, class F>
void run_line(const T* in, T* out, const Line& line, Computed<T> neutral) {
  Computed<T> sum = neutral;
  for (std::int64_t k = 0; k < line.length; ++k) {
    const std::int64_t at = (line.reverse ? line.length - 1 - k : k) * line.stride;
    const Computed<T> next = F()(sum, static_cast<Computed<T>>(in[at]));
    out[at] = static_cast<T>(line.exclusive ? sum : next);
    sum = next;
  }
}

template <class F>
Result<void> run(Frame& frame, int neutral) {
  const Array& in = frame.in(0);
  if (!for_number(in.type(), [](auto) {})) return wrong_type(frame, 0);
  const std::int64_t asked = TRY(integer_from(frame.in(1), "axis"));
  const std::size_t axis = TRY(axis_of(asked, in.rank()));
  Array* out = TRY(frame.out(0, in.type(), in.dims()));
  const std::int64_t inner = in.dims().product(axis + 1, in.rank());
  const Line line{in.dim(axis), inner, frame.flag("exclusive"), frame.flag("reverse")};
  const std::int64_t lines = in.dims().product(0, axis) * inner;
  for_number(in.type(), [&]<class T>(T) {
    parallel(frame, lines, static_cast<double>(line.length), [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t at = i / inner * line.length * inner + i % inner;
        run_line<T, F>(in.data<T>() + at, out->mutable_data<T>() + at, line,
                       static_cast<Computed<T>>(neutral));
      }
    });
  });
  return {};
}

Result<void> run_sum(Frame& frame) { return run<AddPair>(frame, 0); }
Result<void> run_product(Frame& frame) { return run<MultiplyPair>(frame, 1); }

// Each element counts in all sums behind it: the sums the other way round.
Result<void> sum_gradient(Gradient& g) {
  auto attributes = attributes_of(g, {"exclusive"});
  attributes.push_back(graph::attribute("reverse", static_cast<std::int64_t>(!g.flag("reverse"))));
  g.set(0, g.add("CumSum", {g.dy(), g.input(1)}, std::move(attributes)));
  return {};
}

}  // namespace

std::span<const Descriptor> cumulative_descriptors() {
  static const Descriptor all[] = {
      {.name = "CumSum",
       .domain = "",
       .since = {11, 14},
       .infer = infer_same,
       .run = run_sum,
       .required = 2,
       .traits = computes_sensitive(),
       .gradient = sum_gradient},
      {.name = "CumProd",
       .domain = "",
       .since = {26},
       .infer = infer_same,
       .run = run_product,
       .required = 2,
       .traits = computes_sensitive()},
  };
  return all;
}

}  // namespace anybit::ops
