// NonZero: the indices of all nonzero elements, one row per axis. ONNX: NonZero-9, -13.
#include <algorithm>

#include "ops/check.hpp"
#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer_non_zero(const Call& call) {
  const auto& shape = call.in(0).shape;
  const Dim rank = shape ? Dim(static_cast<std::int64_t>(shape->size())) : Dim();
  return outputs_of(call, tensor(ElementType::int64, Shape{rank, Dim()}));
}

template <class T>
Result<void> non_zero(Frame& frame) {
  const Array& input = frame.in(0);
  if (only_checks(frame)) return {};
  const auto elements = input.elements<T>();
  const auto counts = [](const T& element) {
    if constexpr (std::is_same_v<T, std::string>) {
      return !element.empty();
    } else {
      return static_cast<Computed<T>>(element) != Computed<T>(0);
    }
  };
  const std::int64_t found = std::ranges::count_if(elements, counts);
  const Dims& dims = input.dims();
  Array* out = TRY(frame.out(0, ElementType::int64, {static_cast<std::int64_t>(dims.size()), found}));
  std::int64_t* to = out->mutable_data<std::int64_t>();
  std::int64_t at = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (!counts(elements[i])) continue;
    auto rest = static_cast<std::int64_t>(i);
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      to[static_cast<std::int64_t>(axis) * found + at] = rest % dims[axis];
      rest /= dims[axis];
    }
    ++at;
  }
  return {};
}

Result<void> run(Frame& frame) {
  const ElementType type = frame.in(0).type();
  if (type == ElementType::boolean) return non_zero<bool>(frame);
  if (type == ElementType::string) return non_zero<std::string>(frame);
  Result<void> result = wrong_type(frame, 0);
  for_number(type, [&]<class T>(T) { result = non_zero<T>(frame); });
  return result;
}

}  // namespace

std::span<const Descriptor> non_zero_descriptors() {
  static const Descriptor all[] = {
      {.name = "NonZero", .domain = "", .since = {9, 13}, .infer = infer_non_zero, .run = run}};
  return all;
}

}  // namespace anybit::ops
