// Shared by the operators of ai.anybit.training: kernels of the backward pass and of optimizers. They take
// float32 and float64.
#pragma once

#include "ops/frame.hpp"
#include "ops/gradient.hpp"
#include "ops/layout.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {

// Calls body(float()) or body(double()); the type was checked.
template <class Body>
void for_trained(ElementType type, const Body& body) {
  if (type == ElementType::float32) body(float());
  if (type == ElementType::float64) body(double());
}

// An error unless input i is float32 or float64.
Result<void> expect_trained(const Frame& frame, std::size_t i);
// An error unless input i has the type and the dims of `like`, which is input `other`.
Result<void> expect_like(const Frame& frame, std::size_t i, std::size_t other);
// An error unless input i is a single number.
Result<void> expect_number(const Frame& frame, std::size_t i);
// The sizes in an int64 tensor; not negative, and few enough for an array.
Result<Dims> sizes_from(const Frame& frame, std::size_t i);

// The shape that input i holds, as far as it is known.
std::optional<Shape> shape_in(const Call& call, std::size_t i);

// Two inputs of the same dims in one layout: blocked if either is, so that neighbours need no conversion.
struct SameLayout {
  Array first, second;
};
Result<SameLayout> in_same_layout(Frame& frame, std::size_t first, std::size_t second);
// Output 0, like input `over` but in the layout of `like`; reuses the input's memory where possible.
Result<Array*> out_like(Frame& frame, std::size_t over, const Array& like);

constexpr Descriptor training_operator(std::string_view name, Infer infer, Run run, std::size_t required,
                                       Layouts layouts = Layouts::plain) {
  return {.name = name,
          .domain = kTraining,
          .since = {1},
          .infer = infer,
          .run = run,
          .required = required,
          .layouts = layouts};
}

}  // namespace anybit::ops
