// Range: numbers from start by delta up to limit. ONNX: Range-11, -27.
#include <algorithm>
#include <cmath>

#include "ops/check.hpp"
#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// max(0, ceil((limit - start) / delta))
Result<Values> infer_range(const Call& call) {
  Value value = tensor(call.in(0).type, unknown_shape(1));
  const auto number = [&](std::size_t i) -> std::optional<double> {
    if (const auto list = reals(call.in(i)); list && list->size() == 1) return (*list)[0];
    const auto& elements = call.in(i).elements;
    if (!elements || elements->size() != 1 || !(*elements)[0].known()) return std::nullopt;
    return static_cast<double>(*(*elements)[0].size);
  };
  const auto start = number(0), limit = number(1), delta = number(2);
  if (!start || !limit || !delta || *delta == 0.0) {
    // From 0 by 1: as many as the limit says, even if only its name is known.
    const bool counts =
        start == 0.0 && delta == 1.0 && call.in(1).elements && call.in(1).elements->size() == 1;
    if (counts) value.shape = Shape{(*call.in(1).elements)[0]};
    return outputs_of(call, std::move(value));
  }
  const double count = std::max(0.0, std::ceil((*limit - *start) / *delta));
  value.shape = Shape{scaled(Dim(1), count)};
  const auto is_exact = [](double number) { return std::abs(number) <= 0x1p53; };
  if (!is_float(value.type) && count <= static_cast<double>(kFollowed) && is_exact(*start) &&
      is_exact(*delta)) {
    value.elements.emplace();
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(count); ++i) {
      value.elements->push_back(Dim(static_cast<std::int64_t>(*start)) +
                                Dim(i) * Dim(static_cast<std::int64_t>(*delta)));
    }
  }
  return outputs_of(call, std::move(value));
}

// How many there are; -1 if they cannot be counted.
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

template <class T>
Result<void> range(Frame& frame) {
  using C = Computed<T>;
  for (std::size_t i = 0; i < 3; ++i) {
    if (!has_elements(frame.in(i))) return {};
  }
  const C start(*frame.in(0).data<T>()), limit(*frame.in(1).data<T>()), delta(*frame.in(2).data<T>());
  const std::int64_t count = delta == C(0) ? -1 : length_of(start, limit, delta);
  if (count < 0) return wrong(fmt::format("from {} to {} by {} cannot be counted", start, limit, delta));
  Array* out = TRY(frame.out(0, frame.in(0).type(), {count}));
  T* to = out->mutable_data<T>();
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_integral_v<T>) {
      to[i] = static_cast<T>(static_cast<std::int64_t>(start) + i * static_cast<std::int64_t>(delta));
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
