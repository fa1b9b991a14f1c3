#include "ops/reals.hpp"

#include "ops/check.hpp"

namespace anybit::ops {

template <class C>
Result<std::span<const C>> reals_in(Frame& frame, const Array& array) {
  if (!for_real(array.type(), [](auto) {}))
    return wrong(fmt::format("{} is not a tensor of real numbers", to_string(array)));
  static const C nothing = 0;  // a valid address that is never read
  if (only_checks(frame)) return std::span<const C>(&nothing, static_cast<std::size_t>(array.count()));
  if (array.type() == kTypeOf<C>) return array.elements<C>();
  const auto made = TRY(frame.scratch_of<C>(array.count()));
  for_real(array.type(), [&]<class T>(T) {
    const T* from = array.data<T>();
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<C>(static_cast<Computed<T>>(from[i]));
  });
  return std::span<const C>(made);
}
template Result<std::span<const float>> reals_in(Frame&, const Array&);
template Result<std::span<const double>> reals_in(Frame&, const Array&);

template <class C>
Result<RealOutput<C>> RealOutput<C>::make(Frame& frame, Array* array) {
  RealOutput output;
  output.array_ = array;
  output.data_ = array->type() == kTypeOf<C> ? array->mutable_data<C>()
                                             : TRY(frame.scratch_of<C>(array->count())).data();
  return output;
}

template <class C>
void RealOutput<C>::finish() {
  if (array_->type() == kTypeOf<C>) return;
  for_real(array_->type(), [&]<class T>(T) {
    T* to = array_->mutable_data<T>();
    for (std::int64_t i = 0; i < array_->count(); ++i) to[i] = T(static_cast<Computed<T>>(data_[i]));
  });
}
template class RealOutput<float>;
template class RealOutput<double>;

Result<void> expect_dims(const Frame& frame, std::size_t input, const Dims& dims, std::string_view what) {
  if (frame.in(input).dims() == dims) return {};
  return wrong(fmt::format("{} (input {}) is {}", what, input, to_string(frame.in(input))),
               fmt::format("shape {}", to_string(dims)));
}

}  // namespace anybit::ops
