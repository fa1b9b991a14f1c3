// Comparisons and logical operators, with broadcasting and a boolean result.
#include <functional>
#include <string>

#include "ops/elementwise/broadcast.hpp"
#include "ops/gradient.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer_boolean(const Call& call, Combine fold) {
  Value value = tensor(ElementType::boolean, TRY(binary_shape(call)));
  if (fold && call.version >= kNumpyBroadcast) value.elements = combine(call.in(0), call.in(1), fold);
  return outputs_of(call, std::move(value));
}

template <class Test>
Dim decide(const Dim& a, const Dim& b, Test test) {
  return a.known() && b.known() ? Dim(test(*a.size, *b.size) ? 1 : 0) : Dim();
}

Dim equal(const Dim& a, const Dim& b) {
  if (same(a, b)) return 1;
  return decide(a, b, std::equal_to<>());
}
Dim less(const Dim& a, const Dim& b) { return decide(a, b, std::less<>()); }
Dim less_equal(const Dim& a, const Dim& b) { return decide(a, b, std::less_equal<>()); }
Dim greater(const Dim& a, const Dim& b) { return decide(a, b, std::greater<>()); }
Dim greater_equal(const Dim& a, const Dim& b) { return decide(a, b, std::greater_equal<>()); }
Dim both(const Dim& a, const Dim& b) {
  return a.is(0) || b.is(0) ? Dim(0) : decide(a, b, std::logical_and<>());
}
Dim either(const Dim& a, const Dim& b) {
  return a.is(1) || b.is(1) ? Dim(1) : decide(a, b, std::logical_or<>());
}
Dim one_of(const Dim& a, const Dim& b) { return decide(a, b, std::not_equal_to<>()); }

template <Combine kFold>
Result<Values> infer_pair(const Call& call) {
  return infer_boolean(call, kFold);
}

Result<Values> infer_not(const Call& call) {
  Value value = tensor(ElementType::boolean, call.in(0).shape);
  value.elements = call.in(0).elements;
  if (value.elements) {
    for (Dim& dim : *value.elements) dim = dim.known() ? Dim(*dim.size == 0 ? 1 : 0) : Dim();
  }
  return outputs_of(call, std::move(value));
}

// The row function of a comparison for a type; null if unsupported. NaN is not equal to anything.
template <class F>
BinaryRow row_for(ElementType type, bool also_equal) {
  BinaryRow row = nullptr;
  for_number(type, [&]<class T>(T) { row = binary_row<T, bool, F>; });
  if (also_equal && type == ElementType::boolean) row = binary_row<bool, bool, F>;
  if (also_equal && type == ElementType::string) row = binary_row<std::string, bool, F>;
  return row;
}

template <class F>
Result<void> run_order(Frame& frame) {
  const BinaryRow row = row_for<F>(frame.in(0).type(), false);
  if (!row) return wrong_type(frame, 0);
  return run_binary(frame, 0, 1, ElementType::boolean, row);
}

Result<void> run_equal(Frame& frame) {
  const BinaryRow row = row_for<std::equal_to<>>(frame.in(0).type(), true);
  if (!row) return wrong_type(frame, 0);
  return run_binary(frame, 0, 1, ElementType::boolean, row);
}

template <class F>
Result<void> run_logic(Frame& frame) {
  if (frame.in(0).type() != ElementType::boolean) return wrong_type(frame, 0);
  return run_binary(frame, 0, 1, ElementType::boolean, binary_row<bool, bool, F>);
}

Result<void> run_not(Frame& frame) {
  const Array& in = frame.in(0);
  if (in.type() != ElementType::boolean) return wrong_type(frame, 0);
  Array* out = TRY(frame.out_over(0, 0, in.type(), in.dims()));
  std::ranges::transform(in.elements<bool>(), out->mutable_data<bool>(), std::logical_not<>());
  return {};
}

constexpr Descriptor pairs(std::string_view name, Versions since, Infer infer, Run run) {
  return {.name = name,
          .domain = "",
          .since = since,
          .infer = infer,
          .run = run,
          .required = 2,
          .layouts = Layouts::each,
          .gradient = no_gradient};
}

}  // namespace

std::span<const Descriptor> compare_descriptors() {
  static const Descriptor all[] = {
      pairs("Equal", {1, 7, 11, 13, 19}, infer_pair<equal>, run_equal),
      pairs("Less", {1, 7, 9, 13}, infer_pair<less>, run_order<std::less<>>),
      pairs("LessOrEqual", {12, 16}, infer_pair<less_equal>, run_order<std::less_equal<>>),
      pairs("Greater", {1, 7, 9, 13}, infer_pair<greater>, run_order<std::greater<>>),
      pairs("GreaterOrEqual", {12, 16}, infer_pair<greater_equal>, run_order<std::greater_equal<>>),
      pairs("And", {1, 7}, infer_pair<both>, run_logic<std::logical_and<>>),
      pairs("Or", {1, 7}, infer_pair<either>, run_logic<std::logical_or<>>),
      pairs("Xor", {1, 7}, infer_pair<one_of>, run_logic<std::not_equal_to<>>),
      {.name = "Not",
       .domain = "",
       .since = {1},
       .infer = infer_not,
       .run = run_not,
       .layouts = Layouts::each},
  };
  return all;
}

}  // namespace anybit::ops
