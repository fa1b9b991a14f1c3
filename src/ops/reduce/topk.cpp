// TopK: the largest or smallest elements along an axis, sorted. Equal elements keep their order; NaN is
// larger than every number. ONNX: TopK-1 (k an attribute), -10, -11 (largest, sorted), -24.
#include <algorithm>

#include "base/nan.hpp"
#include "ops/frame.hpp"
#include "ops/raise.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer_top_k(const Call& call) {
  const Value& input = call.in(0);
  Values values{tensor(input.type, input.shape), tensor(ElementType::int64, input.shape)};
  values.resize(call.output_count());
  if (!input.shape) return values;
  const std::size_t axis = TRY(axis_of(call.integer("axis", -1), input.shape->size()));
  const auto k =
      call.version < 10 ? std::optional(std::vector<Dim>{call.integer("k", 0)}) : call.in(1).elements;
  for (Value& value : values) {
    if (value.shape) (*value.shape)[axis] = k && k->size() == 1 ? (*k)[0] : Dim();
  }
  return values;
}

template <class C>
bool above(C a, C b) {
  return a > b || (is_nan(a) && !is_nan(b));
}

// Moves the indices of the first k elements to the front of `order`.
template <class T>
void pick(const T* row, std::int64_t step, std::span<std::int64_t> order, std::int64_t k, bool largest) {
  const auto value = [&](std::int64_t i) { return static_cast<Computed<T>>(row[i * step]); };
  const auto first = [&](std::int64_t i, std::int64_t j) {
    const auto a = value(i), b = value(j);
    if (largest ? above(a, b) : above(b, a)) return true;
    if (largest ? above(b, a) : above(a, b)) return false;
    return i < j;
  };
  if (k == 1) {
    std::int64_t best = 0;
    for (std::int64_t i = 1; i < std::ssize(order); ++i) best = first(i, best) ? i : best;
    order[0] = best;
    return;
  }
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  if (k < std::ssize(order)) std::nth_element(order.begin(), order.begin() + k, order.end(), first);
  std::sort(order.begin(), order.begin() + k, first);
}

template <class T>
Result<void> top_k(Frame& frame, std::size_t axis, std::int64_t k) {
  const Array& input = frame.in(0);
  const bool largest = frame.flag("largest", true);
  Dims dims = input.dims();
  dims[axis] = k;
  Array* values = TRY(frame.out(0, input.type(), dims));
  Array* places = frame.wants(1) ? TRY(frame.out(1, ElementType::int64, dims)) : nullptr;
  const std::int64_t size = input.dim(axis), inner = dims.product(axis + 1, dims.size());
  const std::int64_t rows = dims.product(0, axis) * inner;
  if (values->count() == 0) return {};
  const auto scratch = TRY(frame.scratch_of<std::int64_t>(rows * size));
  const auto body = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t r = first; r < last; ++r) {
      const auto order = scratch.subspan(static_cast<std::size_t>(r * size), static_cast<std::size_t>(size));
      const T* from = input.data<T>() + r / inner * size * inner + r % inner;
      pick(from, inner, order, k, largest);
      const std::int64_t to = r / inner * k * inner + r % inner;
      for (std::int64_t i = 0; i < k; ++i) {
        const std::int64_t place = order[static_cast<std::size_t>(i)];
        values->mutable_data<T>()[to + i * inner] = from[place * inner];
        if (places) places->mutable_data<std::int64_t>()[to + i * inner] = place;
      }
    }
  };
  parallel(frame, rows, 8.0 * static_cast<double>(size), std::ref(body));
  return {};
}

Result<void> run(Frame& frame) {
  const Array& input = frame.in(0);
  const std::size_t axis = TRY(axis_of(frame.integer("axis", -1), input.rank()));
  if (frame.version >= 10 && !frame.has(1)) return wrong("k is not given");
  const std::int64_t k = frame.version < 10 ? frame.integer("k", 0) : TRY(integer_from(frame.in(1), "k"));
  if (k < 0 || k > input.dim(axis))
    return wrong(fmt::format("k is {}, axis {} has {} elements", k, axis, input.dim(axis)));
  Result<void> result = wrong_type(frame, 0);
  for_number(input.type(), [&]<class T>(T) { result = top_k<T>(frame, axis, k); });
  return result;
}

Result<void> raise_to_10(Raising& raising) {
  TRY(raising.integer_to_list_input("k", 1));
  return {};
}

}  // namespace

std::span<const Descriptor> topk_descriptors() {
  static const Descriptor all[] = {{.name = "TopK",
                                    .domain = "",
                                    .since = {1, 10, 11, 24},
                                    .infer = infer_top_k,
                                    .run = run,
                                    .raise = {{10, raise_to_10}},
                                    .traits = moves()}};
  return all;
}

}  // namespace anybit::ops
