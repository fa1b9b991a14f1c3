// Shared code of Scatter* and TensorScatter: how an update combines with the existing element (attribute
// reduction).
#pragma once

#include "base/nan.hpp"
#include "ops/move/data_movement.hpp"

namespace anybit::ops {

enum class Reduction : std::uint8_t { none, add, mul, min, max };

Result<Reduction> reduction_of(const Frame& frame);

// Pass-through without a reduction; with add, mul, min or max it stays in float.
Traits::Role scatter_role(const graph::Node& node);

// The output of a scatter: a copy of input 0, in place if nobody else uses it.
Result<Array*> scatter_target(Frame& frame);

// Integers wrap around.
template <class T>
T added(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}
template <class T>
T multiplied(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return a * b;
  }
}

// Calls body(combine) with combine(T& into, T update) for the type and the reduction; an error if the type
// has no such reduction.
template <class Body>
Result<void> for_reduction(const Frame& frame, Reduction reduction, const Body& body) {
  const ElementType type = frame.in(0).type();
  if (reduction == Reduction::none) {
    const auto replace = [&]<class T>(T) { body([](T& into, const T& update) { into = update; }, T()); };
    return for_copied(type, replace) ? Result<void>() : wrong_type(frame, 0);
  }
  const auto reduce = [&]<class T>(T) {
    using C = Computed<T>;
    const auto with = [&](auto combine) {
      body([combine](T& into, const T& update) { into = T(combine(C(into), C(update))); }, T());
    };
    switch (reduction) {
      case Reduction::add:
        return with([](C a, C b) { return added(a, b); });
      case Reduction::mul:
        return with([](C a, C b) { return multiplied(a, b); });
      case Reduction::min:
        return with([](C a, C b) { return b < a || is_nan(b) ? b : a; });
      default:
        return with([](C a, C b) { return b > a || is_nan(b) ? b : a; });
    }
  };
  return for_number(type, reduce) ? Result<void>() : wrong_type(frame, 0);
}

}  // namespace anybit::ops
