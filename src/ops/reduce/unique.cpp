// Unique: distinct values or slices, with first index, inverse indices and counts. NaNs are equal to each
// other and the largest value. ONNX: Unique-11.
#include <algorithm>
#include <numeric>

#include "base/nan.hpp"
#include "ops/check.hpp"
#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer_unique(const Call& call) {
  Values values(call.output_count(), tensor(ElementType::int64, unknown_shape(1)));
  if (values.empty()) return values;
  values[0] = tensor(call.in(0).type, unknown_shape(1));
  if (const auto axis = call.integer("axis")) {
    values[0].shape = call.in(0).shape;
    if (values[0].shape) (*values[0].shape)[TRY(axis_of(*axis, values[0].shape->size()))] = Dim();
  }
  return values;
}

// The slices along one axis, compared element by element.
template <class T>
struct Slices {
  const T* data;
  std::int64_t outer, size, inner;

  int compare(std::int64_t a, std::int64_t b) const {
    for (std::int64_t i = 0; i < outer; ++i) {
      for (std::int64_t k = 0; k < inner; ++k) {
        const int order = compare_elements(at(i, a, k), at(i, b, k));
        if (order != 0) return order;
      }
    }
    return 0;
  }
  const T& at(std::int64_t i, std::int64_t slice, std::int64_t k) const {
    return data[(i * size + slice) * inner + k];
  }
  static int compare_elements(const T& a, const T& b) {
    if constexpr (std::is_same_v<T, std::string>) {
      return a.compare(b);
    } else {
      const Computed<T> x(a), y(b);
      if (x < y) return -1;
      if (y < x) return 1;
      return static_cast<int>(is_nan(x)) - static_cast<int>(is_nan(y));
    }
  }
};

struct Groups {
  std::vector<std::int64_t> first, counts;  // by group
  std::vector<std::int64_t> group;          // by slice
};

template <class T>
Groups grouped(const Slices<T>& slices, bool sorted) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(slices.size));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return slices.compare(a, b) < 0; });
  Groups groups;
  groups.group.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || slices.compare(order[i - 1], order[i]) != 0) {
      groups.first.push_back(order[i]);
      groups.counts.push_back(0);
    }
    ++groups.counts.back();
    groups.group[static_cast<std::size_t>(order[i])] = std::ssize(groups.first) - 1;
  }
  if (sorted) return groups;
  // Ordered by first occurrence.
  std::vector<std::size_t> by_place(groups.first.size());
  std::iota(by_place.begin(), by_place.end(), std::size_t{0});
  std::ranges::sort(by_place, {}, [&](std::size_t g) { return groups.first[g]; });
  Groups placed = groups;
  std::vector<std::int64_t> renamed(by_place.size());
  for (std::size_t i = 0; i < by_place.size(); ++i) {
    placed.first[i] = groups.first[by_place[i]];
    placed.counts[i] = groups.counts[by_place[i]];
    renamed[by_place[i]] = static_cast<std::int64_t>(i);
  }
  for (std::int64_t& group : placed.group) group = renamed[static_cast<std::size_t>(group)];
  return placed;
}

Result<void> give(Frame& frame, std::size_t i, const std::vector<std::int64_t>& list) {
  if (!frame.wants(i)) return {};
  Array* out = TRY(frame.out(i, ElementType::int64, {std::ssize(list)}));
  std::ranges::copy(list, out->mutable_data<std::int64_t>());
  return {};
}

template <class T>
Result<void> unique(Frame& frame) {
  const Array& input = frame.in(0);
  const auto given = frame.integer("axis");
  Dims dims{input.count()};
  std::size_t axis = 0;
  if (given) {
    dims = input.dims();
    axis = TRY(axis_of(*given, input.rank()));
  }
  if (only_checks(frame)) return {};
  const Slices<T> slices{input.data<T>(), dims.product(0, axis), dims[axis],
                         dims.product(axis + 1, dims.size())};
  const Groups groups = grouped(slices, frame.flag("sorted", true));
  dims[axis] = std::ssize(groups.first);
  Array* out = TRY(frame.out(0, input.type(), dims));
  T* to = out->mutable_data<T>();
  for (std::int64_t i = 0; i < slices.outer; ++i) {
    for (const std::int64_t first : groups.first) {
      for (std::int64_t k = 0; k < slices.inner; ++k) *to++ = slices.at(i, first, k);
    }
  }
  TRY(give(frame, 1, groups.first));
  TRY(give(frame, 2, groups.group));
  return give(frame, 3, groups.counts);
}

Result<void> run(Frame& frame) {
  const ElementType type = frame.in(0).type();
  if (type == ElementType::boolean) return unique<bool>(frame);
  if (type == ElementType::string) return unique<std::string>(frame);
  Result<void> result = wrong_type(frame, 0);
  for_number(type, [&]<class T>(T) { result = unique<T>(frame); });
  return result;
}

}  // namespace

std::span<const Descriptor> unique_descriptors() {
  static const Descriptor all[] = {
      {.name = "Unique", .domain = "", .since = {11}, .infer = infer_unique, .run = run}};
  return all;
}

}  // namespace anybit::ops
