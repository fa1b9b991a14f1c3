#include "ops/frame.hpp"

#include <cmath>
#include <limits>

#include "ops/check.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// Handing a task to another thread costs some microseconds; a task should take at least this long.
constexpr double kPartNanoseconds = 20'000;

template <class T>
Dims to_dims(const Array& array) {
  Dims dims;
  for (const T element : array.elements<T>()) dims.push_back(static_cast<std::int64_t>(element));
  return dims;
}

}  // namespace

const Datum& Frame::datum(std::size_t i) const {
  static const Datum nothing;
  return i < inputs_.size() && inputs_[i] ? *inputs_[i] : nothing;
}

Result<Dims> dims_from(const Array& array, std::string_view what) {
  if (array.count() > static_cast<std::int64_t>(Dims::kCapacity)) {
    return wrong(fmt::format("{} has {} elements", what, array.count()),
                 fmt::format("at most {}", Dims::kCapacity));
  }
  const bool wide = array.type() == ElementType::int64;
  if (wide || array.type() == ElementType::int32) {
    if (!has_elements(array)) return not_known();
    return wide ? to_dims<std::int64_t>(array) : to_dims<std::int32_t>(array);
  }
  return wrong(fmt::format("{} is {}", what, to_string(array)), "int64");
}

Result<std::optional<Dims>> dims_of(const Frame& frame, std::size_t i, std::string_view attribute) {
  if (frame.has(i)) return std::optional(TRY(dims_from(frame.in(i), attribute)));
  const auto list = frame.ints(attribute);
  if (!list) return std::optional<Dims>();
  if (list->size() > Dims::kCapacity)
    return wrong(fmt::format("{} has {} elements", attribute, list->size()), "fewer");
  return std::optional(Dims(*list));
}

Result<double> scalar_from(const Array& array, std::string_view what) {
  if (array.count() != 1) return wrong(fmt::format("{} is {}", what, to_string(array)), "a single number");
  double value = 0;
  const bool known = has_elements(array);
  const auto take = [&]<class T>(T) {
    if (known) value = static_cast<double>(static_cast<Computed<T>>(*array.data<T>()));
  };
  if (array.type() == ElementType::boolean) {
    take(bool());
  } else if (!for_number(array.type(), take)) {
    return wrong(fmt::format("{} is {}", what, to_string(array)), "a number");
  }
  if (!known) return not_known();
  return value;
}

Result<std::int64_t> integer_from(const Array& array, std::string_view what) {
  if (array.type() == ElementType::int64 && array.count() == 1 && has_elements(array))
    return *array.data<std::int64_t>();
  const double value = TRY(scalar_from(array, what));
  if (std::trunc(value) != value || std::abs(value) > 0x1p53)
    return wrong(fmt::format("{} is {}", what, value), "an integer");
  return static_cast<std::int64_t>(value);
}

Error wrong_type(const Frame& frame, std::size_t input) {
  return error_at(Code::unsupported, {},
                  fmt::format("input {} is {}, which {} cannot take", input, to_string(frame.datum(input)),
                              frame.node.op_type.str()));
}

Result<Dims> broadcast_dims(const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims result = longer;
  const std::size_t offset = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::int64_t& dim = result[offset + i];
    if (dim == shorter[i] || shorter[i] == 1) continue;
    if (dim != 1) {
      return wrong(fmt::format("shapes {} and {} do not fit together", to_string(a), to_string(b)),
                   "equal sizes, or 1, on each axis counted from the last");
    }
    dim = shorter[i];
  }
  return result;
}

Dims broadcast_strides(const Dims& dims, const Dims& to) {
  const Dims own = strides_of(dims);
  Dims strides(to.size(), 0);
  const std::size_t offset = to.size() - dims.size();
  for (std::size_t i = 0; i < dims.size(); ++i) strides[offset + i] = dims[i] == 1 ? 0 : own[i];
  return strides;
}

std::int64_t part_size(std::int64_t count, double cost) {
  const double part = std::max(1.0, kPartNanoseconds / std::max(cost, 1e-3));
  return std::max<std::int64_t>(part >= static_cast<double>(count) ? count : static_cast<std::int64_t>(part),
                                1);
}

}  // namespace anybit::ops
