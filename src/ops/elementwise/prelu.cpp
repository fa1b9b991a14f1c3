// PRelu: negative elements times a slope that broadcasts to the input. ONNX: PRelu-1, -6 (per-channel slope),
// -7, -9, -16.
#include "ops/elementwise/binary_functions.hpp"
#include "ops/gradient.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

struct LeakPair {
  template <class T>
  T operator()(T a, T b) const {
    return a < 0 ? MultiplyPair()(a, b) : a;
  }
};

Result<void> run(Frame& frame) {
  const ElementType type = frame.in(0).type();
  const BinaryRow row = number_row<LeakPair, kernels::leak>(type);
  if (!row) return wrong_type(frame, 0);
  if (frame.version >= kNumpyBroadcast) {
    if (TRY(broadcast_dims(frame.in(0).dims(), frame.in(1).dims())) != frame.in(0).dims()) {
      return wrong(fmt::format("the slope has shape {}", to_string(frame.in(1).dims())),
                   fmt::format("one that broadcasts to the input's {}", to_string(frame.in(0).dims())));
    }
    return run_binary(frame, 0, 1, type, row);
  }
  TRY(frame.make_plain(0));
  TRY(frame.make_plain(1));
  const Array &x = frame.in(0), &slope = frame.in(1);
  Dims dims;
  if (slope.type() != type) {
    return wrong(fmt::format("the slope is {}, the input {}", to_string(slope), to_string(x)),
                 "the same element type");
  }
  if (slope.count() != 1) {
    if (x.rank() < 2 || slope.count() != x.dim(1)) {
      return wrong(fmt::format("the slope is {}", to_string(slope)), "one number, or one for each channel");
    }
    dims = Dims(x.rank() - 1, 1);
    dims[0] = slope.count();
  }
  Array* out = TRY(frame.out_over(0, 0, type, x.dims()));
  run_binary_into(frame, x, x.dims(), slope, dims, *out, row);
  return {};
}

Result<void> gradient(Gradient& g) {
  const std::string negative = g.add("Less", {g.input(0), g.number(0)});
  if (g.wants(0)) g.set(0, g.add("Where", {negative, g.add("Mul", {g.dy(), g.input(1)}), g.dy()}));
  if (g.wants(1)) g.set(1, only_where(g, negative, g.add("Mul", {g.dy(), g.input(0)})));
  return {};
}

}  // namespace

std::span<const Descriptor> prelu_descriptors() {
  static const Descriptor all[] = {{.name = "PRelu",
                                    .domain = "",
                                    .since = {1, 6, 7, 9, 16},
                                    .infer = infer_same,
                                    .run = run,
                                    .required = 2,
                                    .layouts = Layouts::each,
                                    .traits = {.role = Traits::Role::compute, .by_element = true},
                                    .gradient = gradient}};
  return all;
}

}  // namespace anybit::ops
