// Resize, modes linear and cubic: weighted sums of neighbours.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/elementwise/quantize.hpp"
#include "ops/vision/resize_plan.hpp"

namespace anybit::ops {
namespace {

// Resizes one axis after the other, in type C; the two innermost axes of an image together. Returns `from` or
// frame memory.
template <class C>
Result<const C*> interpolate(Frame& frame, const ResizePlan& plan, const C* from, C* result) {
  Dims dims = plan.from;
  const std::size_t rank = dims.size();
  std::size_t left = 0;  // remaining axes
  for (std::size_t i = 0; i < rank; ++i) left += plan.axes[i].still(plan.rule) ? 0 : 1;
  const auto next = [&](std::int64_t count) -> Result<C*> {
    if (left == 0) return result;
    return TRY(frame.scratch_of<C>(count)).data();
  };
  for (std::size_t i = 0; i < rank; ++i) {
    const ResizeAxis& axis = plan.axes[i];
    if (axis.still(plan.rule)) continue;
    const auto taps = TRY(resize_taps<C>(frame, plan.rule, axis));
    const std::int64_t outer = dims.product(0, i), inner = dims.product(i + 1, rank);
    if constexpr (std::is_same_v<C, float>) {
      if (left == 2 && i + 2 == rank && taps.taps <= 16) {
        const auto columns = TRY(resize_taps<C>(frame, plan.rule, plan.axes[i + 1]));
        constexpr std::int64_t kRows = 64;  // rows per part: each part needs scratch memory
        const std::int64_t parts = (taps.out + kRows - 1) / kRows;
        const auto scratch = TRY(frame.scratch_of<float>(outer * parts * taps.taps * columns.out));
        const auto body = [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t part = begin; part < end; ++part) {
            const std::int64_t image = part / parts, row = part % parts * kRows;
            kernels::resize_rows(
                taps, columns, from + image * taps.in * columns.in, result + image * taps.out * columns.out,
                row, std::min(row + kRows, taps.out), scratch.data() + part * taps.taps * columns.out);
          }
        };
        parallel(frame, outer * parts, 3.0 * static_cast<double>(std::min(kRows, taps.out) * columns.out),
                 std::ref(body));
        return result;
      }
    }
    --left;
    dims[i] = axis.out;
    C* to = TRY(next(dims.count()));
    // Contiguous lines if the resized axis is innermost.
    const std::int64_t together = inner == 1 ? axis.out : 1;
    const auto body = [&](std::int64_t begin, std::int64_t end) {
      kernels::resize_slices(taps, inner, from, to, begin * together, end * together);
    };
    parallel(frame, outer * axis.out / together, 1.0 * static_cast<double>(together * inner * taps.taps),
             std::ref(body));
    from = to;
  }
  return from;
}

template <class T>
T rounded(double value) {
  if constexpr (std::is_integral_v<T>) {
    const double integer = std::nearbyint(value);
    constexpr auto low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    if (!(integer > static_cast<double>(low))) return low;
    return integer >= static_cast<double>(high) ? high : static_cast<T>(integer);
  } else {
    return static_cast<T>(static_cast<Computed<T>>(value));
  }
}

template <class T>
inline constexpr bool kIsCode = std::is_integral_v<T> && sizeof(T) <= 2;
// Small integers use the (de)quantization kernels with scale 1 and zero point 0.
constexpr float kOne = 1;
constexpr std::int32_t kZero = 0;
constexpr kernels::Scales kPlain{&kOne, &kZero, 0};

template <class T, class C>
void widen(const T* from, std::int64_t n, C* to) {
  if constexpr (kIsCode<T>) {
    kernels::dequantize(from, kPlain, to, static_cast<std::size_t>(n));
  } else {
    std::transform(from, from + n, to,
                   [](T element) { return static_cast<C>(static_cast<Computed<T>>(element)); });
  }
}

template <class T, class C>
void narrow(const C* from, std::int64_t n, T* to) {
  if constexpr (kIsCode<T>) {
    kernels::quantize(from, kPlain, to, static_cast<std::size_t>(n));
  } else {
    std::transform(from, from + n, to, [](C value) { return rounded<T>(static_cast<double>(value)); });
  }
}

template <class T>
Result<void> run_weighted(Frame& frame, const ResizePlan& plan, Array& out) {
  // 8- and 16-bit types are exact in float32.
  using C = std::conditional_t<sizeof(T) <= 2 || std::is_same_v<T, float>, float, double>;
  const Array& input = frame.in(0);
  if constexpr (std::is_same_v<C, T>) {
    TRY(interpolate<C>(frame, plan, input.data<T>(), out.mutable_data<T>()));
  } else {
    const auto wide = TRY(frame.scratch_of<C>(input.stored()));
    const auto result = TRY(frame.scratch_of<C>(out.stored()));
    parallel(frame, input.stored(), 0.5, [&](std::int64_t first, std::int64_t last) {
      widen(input.data<T>() + first, last - first, wide.data() + first);
    });
    const C* found = TRY(interpolate<C>(frame, plan, wide.data(), result.data()));
    parallel(frame, out.stored(), 0.5, [&](std::int64_t first, std::int64_t last) {
      narrow(found + first, last - first, out.mutable_data<T>() + first);
    });
  }
  return extrapolate(frame, plan, out);
}

}  // namespace

Result<void> resize_weighted(Frame& frame, const ResizePlan& plan, Array& out) {
  Result<void> result;
  for_number(out.type(), [&]<class T>(T) { result = run_weighted<T>(frame, plan, out); });
  return result;
}

}  // namespace anybit::ops
