// Comparisons and logic: tensors that broadcast, and a boolean result.
#include <functional>

#include "ops/elements.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer_boolean(const Call& call, Combine fold) {
  // Before version 7 the second input followed the first.
  Value value =
      tensor(ElementType::boolean,
             call.version < 7 ? call.in(0).shape : TRY(broadcast(call.in(0).shape, call.in(1).shape)));
  if (fold) value.elements = combine(call.in(0), call.in(1), fold);
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

Result<Values> infer_is(const Call& call) {
  return outputs_of(call, tensor(ElementType::boolean, call.in(0).shape));
}

}  // namespace

std::span<const Descriptor> compare_descriptors() {
  static const Descriptor all[] = {
      {.name = "Equal", .domain = "", .since = {1, 7, 11, 13, 19}, .infer = infer_pair<equal>},
      {.name = "Less", .domain = "", .since = {1, 7, 9, 13}, .infer = infer_pair<less>},
      {.name = "LessOrEqual", .domain = "", .since = {12, 16}, .infer = infer_pair<less_equal>},
      {.name = "Greater", .domain = "", .since = {1, 7, 9, 13}, .infer = infer_pair<greater>},
      {.name = "GreaterOrEqual", .domain = "", .since = {12, 16}, .infer = infer_pair<greater_equal>},
      {.name = "And", .domain = "", .since = {1, 7}, .infer = infer_pair<both>},
      {.name = "Or", .domain = "", .since = {1, 7}, .infer = infer_pair<either>},
      {.name = "Xor", .domain = "", .since = {1, 7}, .infer = infer_pair<one_of>},
      {.name = "Not", .domain = "", .since = {1}, .infer = infer_not},
      {.name = "IsNaN", .domain = "", .since = {9, 13, 20}, .infer = infer_is},
      {.name = "IsInf", .domain = "", .since = {10, 20}, .infer = infer_is},
  };
  return all;
}

}  // namespace anybit::ops
