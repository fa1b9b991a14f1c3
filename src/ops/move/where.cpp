// Where: selects each element from one of two tensors. ONNX: Where-9, -16.
#include "ops/elementwise/broadcast.hpp"
#include "ops/gradient.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// Contents of vectors and scalars: exporters compute Expand's target shape this way.
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

template <class T>
void choose_row(const bool* which, std::int64_t which_step, const T* a, std::int64_t a_step, const T* b,
                std::int64_t b_step, T* out, std::int64_t n) {
  if (which_step && a_step && b_step) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = which[i] ? a[i] : b[i];
  } else if (!which_step) {
    const bool first = *which;
    const std::int64_t step = first ? a_step : b_step;
    const T* from = first ? a : b;
    for (std::int64_t i = 0; i < n; ++i) out[i] = from[i * step];
  } else {
    for (std::int64_t i = 0; i < n; ++i) out[i] = which[i] ? a[i * a_step] : b[i * b_step];
  }
}

Result<void> run(Frame& frame) {
  const Array &which = frame.in(0), &a = frame.in(1), &b = frame.in(2);
  if (which.type() != ElementType::boolean) return wrong_type(frame, 0);
  if (a.type() != b.type()) {
    return wrong(fmt::format("the inputs are {} and {}", to_string(a), to_string(b)),
                 "the same element type");
  }
  const Dims dims = TRY(broadcast_dims(which.dims(), TRY(broadcast_dims(a.dims(), b.dims()))));
  Array* out = TRY(frame.out(0, a.type(), dims));
  const Loops loops = loops_over(dims, {&which.dims(), &a.dims(), &b.dims()});
  const auto& strides = loops.strides;
  for_copied(a.type(), [&]<class T>(T) {
    parallel(frame, out->count(), 0.5, [&](std::int64_t first, std::int64_t last) {
      for_rows(loops, first, last, [&](const auto& offsets, std::int64_t at, std::int64_t n) {
        choose_row(which.data<bool>() + offsets[0], strides[0].back(), a.data<T>() + offsets[1],
                   strides[1].back(), b.data<T>() + offsets[2], strides[2].back(),
                   out->mutable_data<T>() + at, n);
      });
    });
  });
  return {};
}

Result<void> gradient(Gradient& g) {
  const std::string zero = g.number(0, g.out().type);
  if (g.wants(1)) g.set(1, g.add("Where", {g.input(0), g.dy(), zero}));
  if (g.wants(2)) g.set(2, g.add("Where", {g.input(0), zero, g.dy()}));
  return {};
}

}  // namespace

std::span<const Descriptor> where_descriptors() {
  static const Descriptor all[] = {{.name = "Where",
                                    .domain = "",
                                    .since = {9, 16},
                                    .infer = infer,
                                    .run = run,
                                    .required = 3,
                                    .traits = computes({1, 2}),
                                    .gradient = gradient}};
  return all;
}

}  // namespace anybit::ops
