// Where: takes each element from one of two tensors. ONNX: Where-9, -16.
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// Contents of vectors and scalars; exporters compute Expand's target shape this way.
std::optional<std::vector<Dim>> choose(const Value& condition, const Value& a, const Value& b,
                                       std::size_t count) {
  if (!condition.elements || !a.elements || !b.elements) return std::nullopt;
  for (const Value* value : {&condition, &a, &b}) {
    if (value->elements->size() != count && value->elements->size() != 1) return std::nullopt;
  }
  const auto at = [](const Value& value, std::size_t i) {
    return (*value.elements)[value.elements->size() == 1 ? 0 : i];
  };
  std::vector<Dim> list;
  for (std::size_t i = 0; i < count; ++i) {
    const Dim which = at(condition, i);
    list.push_back(which.is(1)                ? at(a, i)
                   : which.is(0)              ? at(b, i)
                   : same(at(a, i), at(b, i)) ? at(a, i)
                                              : Dim());
  }
  return list;
}

Result<Values> infer(const Call& call) {
  const auto shape = TRY(broadcast(call.in(1).shape, call.in(2).shape));
  Value value = tensor(call.in(1).type, TRY(broadcast(call.in(0).shape, shape)));
  if (value.shape && value.shape->size() <= 1) {
    const Dim count = product(*value.shape);
    if (count.known() && *count.size <= kFollowed) {
      value.elements = choose(call.in(0), call.in(1), call.in(2), static_cast<std::size_t>(*count.size));
    }
  }
  return outputs_of(call, std::move(value));
}

}  // namespace

std::span<const Descriptor> where_descriptors() {
  static const Descriptor all[] = {{.name = "Where", .domain = "", .since = {9, 16}, .infer = infer}};
  return all;
}

}  // namespace anybit::ops
