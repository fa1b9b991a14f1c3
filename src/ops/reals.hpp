// Real tensors as float or double, for operators that compute in one of the two and round once: float32 and
// float64 are used in place, 16-bit floats are converted.
#pragma once

#include "ops/frame.hpp"

namespace anybit::ops {

// Whether an operator on `type` computes in double.
inline bool wants_double(ElementType type) { return type == ElementType::float64; }
template <class C>
inline constexpr ElementType kTypeOf = std::is_same_v<C, float> ? ElementType::float32 : ElementType::float64;

// The elements of a real tensor, converted to C in scratch memory if necessary. An error for other types.
template <class C>
Result<std::span<const C>> reals_in(Frame& frame, const Array& array);
extern template Result<std::span<const float>> reals_in(Frame&, const Array&);
extern template Result<std::span<const double>> reals_in(Frame&, const Array&);

// An output that is computed as C: its own memory, or scratch memory that `finish` rounds into it.
template <class C>
class RealOutput {
 public:
  static Result<RealOutput> make(Frame& frame, Array* array);
  C* data() const { return data_; }
  void finish();

 private:
  Array* array_ = nullptr;
  C* data_ = nullptr;
};
extern template class RealOutput<float>;
extern template class RealOutput<double>;

// An error unless the input has this shape.
Result<void> expect_dims(const Frame& frame, std::size_t input, const Dims& dims, std::string_view what);

}  // namespace anybit::ops
