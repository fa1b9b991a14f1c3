// Pow: base and exponent may have different types since version 12; the result has the base's. ONNX: Pow-1,
// -7, -12, -13, -15.

#include "base/math.hpp"
#include "ops/convert.hpp"
#include "ops/elementwise/binary_functions.hpp"
#include "ops/gradient.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) { return infer_binary(call, nullptr); }

// Integer power by repeated squaring, wrapping around. With a negative exponent, the result is 0 unless the
// base is ±1.
template <class T>
T power(T base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if constexpr (std::is_signed_v<T>) {
      if (base == -1) return exponent % 2 ? T(-1) : T(1);
    }
    return 0;
  }
  T result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = MultiplyPair()(result, base);
    base = MultiplyPair()(base, base);
  }
  return result;
}

// Common exponents need no logarithm.
void float_powers(const float* base, float exponent, float* out, std::int64_t n) {
  if (exponent == 2) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = base[i] * base[i];
  } else if (exponent == 3) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = base[i] * base[i] * base[i];
  } else if (exponent == 1) {
    std::copy_n(base, n, out);
  } else {
    for (std::int64_t i = 0; i < n; ++i) out[i] = math::pow(base[i], exponent);
  }
}

// Exponents are converted to E: int64 if base and exponent are integers, else double.
template <class T, class E>
void run_rows(Frame& frame, const Array& base, const E* exponents, const Dims& exponent_dims, Array& out) {
  const Loops loops = loops_over(out.dims(), {&base.dims(), &exponent_dims});
  const std::int64_t base_step = loops.strides[0].back(), step = loops.strides[1].back();
  parallel(frame, out.count(), 10, [&](std::int64_t first, std::int64_t last) {
    for_rows(loops, first, last, [&](const auto& offsets, std::int64_t at, std::int64_t n) {
      const T* from = base.data<T>() + offsets[0];
      const E* by = exponents + offsets[1];
      T* to = out.mutable_data<T>() + at;
      if constexpr (std::is_same_v<T, float>) {
        if (base_step && !step && static_cast<double>(static_cast<float>(*by)) == *by)
          return float_powers(from, static_cast<float>(*by), to, n);
      }
      for (std::int64_t i = 0; i < n; ++i) {
        const T x = from[i * base_step];
        const E y = by[i * step];
        if constexpr (std::is_integral_v<T> && std::is_integral_v<E>) {
          to[i] = power(x, y);
        } else if constexpr (std::is_integral_v<T>) {
          to[i] = to_integral<T>(math::pow(static_cast<double>(x), y));
        } else {
          to[i] = static_cast<T>(
              static_cast<Computed<T>>(math::pow(static_cast<double>(static_cast<Computed<T>>(x)), y)));
        }
      }
    });
  });
}

Result<void> run(Frame& frame) {
  const Array &base = frame.in(0), &exponent = frame.in(1);
  const bool real = is_float(base.type()) || is_float(exponent.type());
  const ElementType by = real ? ElementType::float64 : ElementType::int64;
  if (!is_convertible(exponent.type())) return wrong_type(frame, 1);
  if (!for_number(base.type(), [](auto) {})) return wrong_type(frame, 0);
  const Dims dims = TRY(broadcast_dims(base.dims(), exponent.dims()));
  const auto exponents = TRY(frame.scratch_of<double>(exponent.count()));  // or as many int64
  convert(exponent.type(), exponent.bytes(), by, reinterpret_cast<std::byte*>(exponents.data()),
          exponent.count());
  const bool over = base.dims() == dims;
  Array* out = over ? TRY(frame.out_over(0, 0, base.type(), dims)) : TRY(frame.out(0, base.type(), dims));
  for_number(base.type(), [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) {
      if (!real)
        return run_rows<T>(frame, base, reinterpret_cast<const std::int64_t*>(exponents.data()),
                           exponent.dims(), *out);
    }
    run_rows<T>(frame, base, exponents.data(), exponent.dims(), *out);
  });
  return {};
}

// d(x^p) = p · x^(p-1) · dx + y · log(x) · dp; the second part is 0 where the logarithm is not finite.
Result<void> gradient(Gradient& g) {
  const std::string power = in_type_of(g, g.input(1), g.in(0));
  if (g.wants(0)) {
    const std::string less = g.add("Pow", {g.input(0), g.add("Sub", {power, g.number(1)})});
    g.set(0, g.add("Mul", {g.dy(), g.add("Mul", {power, less})}));
  }
  if (g.wants(1)) {
    const std::string logs =
        only_where(g, g.add("Greater", {g.input(0), g.number(0)}), g.add("Log", {g.input(0)}));
    const std::string slope = g.add("Mul", {g.dy(), g.add("Mul", {g.output(), logs})});
    g.set(1, in_type_of(g, slope, g.in(1)));
  }
  return {};
}

}  // namespace

std::span<const Descriptor> pow_descriptors() {
  static const Descriptor all[] = {
      {.name = "Pow",
       .domain = "",
       .since = {1, 7, 12, 13, 15},
       .infer = infer,
       .run = run,
       .required = 2,
       .traits = {.role = Traits::Role::compute, .data = {0, 1}, .by_element = true, .sensitive = true},
       .gradient = gradient}};
  return all;
}

}  // namespace anybit::ops
