// Range: numbers from start to limit (exclusive) in steps of delta. ONNX: Range-11, -27.
#include <algorithm>
#include <cmath>

#include "ops/check.hpp"
#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// Number of elements; -1 if it is infinite, NaN or too large.
template <class T>
std::int64_t length_of(T start, T limit, T delta) {
  if constexpr (std::is_integral_v<T>) {
    __extension__ using Wide = __int128;
    const Wide way = static_cast<Wide>(limit) - start, step = delta;
    if (way == 0 || (way > 0) != (step > 0)) return 0;
    const Wide count = (way + step - (step > 0 ? 1 : -1)) / step;
    return count > INT64_MAX ? -1 : static_cast<std::int64_t>(count);
  } else {
    const double count =
        std::ceil((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta));
    return count > 0x1p62 || std::isnan(count) ? -1 : static_cast<std::int64_t>(std::max(count, 0.0));
  }
}

// Element i of the range. The multiplication may wrap around; the sum, which is between start and limit, is
// correct.
std::int64_t at(std::int64_t start, std::int64_t delta, std::int64_t i) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(start) +
                                   static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(delta));
}

std::optional<double> real(const Value& value) {
  const auto list = reals(value);
  return list && list->size() == 1 ? std::optional((*list)[0]) : std::nullopt;
}

std::optional<Dim> integer(const Value& value) {
  return value.elements && value.elements->size() == 1 ? std::optional((*value.elements)[0]) : std::nullopt;
}

// Sets the shape of an integer range, and its contents if they are few.
void follow(Value& value, std::int64_t start, std::int64_t delta, std::int64_t count) {
  if (count < 0) return;
  value.shape = Shape{Dim(count)};
  if (count > kFollowed) return;
  value.elements.emplace();
  for (std::int64_t i = 0; i < count; ++i) value.elements->push_back(Dim(at(start, delta, i)));
}

Result<Values> infer_range(const Call& call) {
  Value value = tensor(call.in(0).type, unknown_shape(1));
  const auto start = integer(call.in(0)), limit = integer(call.in(1)), delta = integer(call.in(2));
  if (start && limit && delta && start->known() && limit->known() && delta->known() && *delta->size != 0) {
    follow(value, *start->size, *delta->size, length_of(*start->size, *limit->size, *delta->size));
  } else if (start && start->size == 0 && delta && delta->size == 1 && limit) {
    value.shape = Shape{*limit};  // length is the limit, even if only its symbol is known
  } else if (const auto from = real(call.in(0)), to = real(call.in(1)), by = real(call.in(2));
             from && to && by && *by != 0.0) {
    value.shape = Shape{scaled(Dim(1), std::max(0.0, std::ceil((*to - *from) / *by)))};
  }
  return outputs_of(call, std::move(value));
}

template <class T>
Result<void> range(Frame& frame) {
  using C = Computed<T>;
  for (std::size_t i = 0; i < 3; ++i) {
    if (!has_elements(frame.in(i))) return {};
  }
  const C start(*frame.in(0).data<T>()), limit(*frame.in(1).data<T>()), delta(*frame.in(2).data<T>());
  const std::int64_t count = delta == C(0) ? -1 : length_of(start, limit, delta);
  if (count < 0)
    return wrong(
        fmt::format("the range from {} to {} by {} is not finite or too large", start, limit, delta));
  Array* out = TRY(frame.out(0, frame.in(0).type(), {count}));
  T* to = out->mutable_data<T>();
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_integral_v<T>) {
      to[i] = static_cast<T>(at(static_cast<std::int64_t>(start), static_cast<std::int64_t>(delta), i));
    } else {
      to[i] = T(start + static_cast<C>(i) * delta);
    }
  }
  return {};
}

Result<void> run(Frame& frame) {
  const ElementType type = frame.in(0).type();
  for (std::size_t i = 0; i < 3; ++i) {
    if (frame.in(i).type() != type || frame.in(i).count() != 1)
      return wrong(fmt::format("input {} is {}", i, to_string(frame.datum(i))), "three numbers of one type");
  }
  Result<void> result = wrong_type(frame, 0);
  for_number(type, [&]<class T>(T) {
    if constexpr (!std::is_same_v<T, std::uint64_t>) result = range<T>(frame);
  });
  return result;
}

}  // namespace

std::span<const Descriptor> range_descriptors() {
  static const Descriptor all[] = {
      {.name = "Range", .domain = "", .since = {11, 27}, .infer = infer_range, .run = run, .required = 3}};
  return all;
}

}  // namespace anybit::ops
