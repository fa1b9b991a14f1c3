#include <cstring>

#include "kernels/choose.hpp"
#include "kernels/elementwise/binary.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/binary_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef ANYBIT_KERNELS_PAIRS_ONCE_
#define ANYBIT_KERNELS_PAIRS_ONCE_
namespace anybit::kernels {
enum class Pair : std::uint8_t { add, subtract, multiply, divide, larger, smaller, leak };

struct BinaryWork {
  Pair function;
  const float* a;
  std::size_t a_step;
  const float* b;
  std::size_t b_step;
  float* out;
  std::size_t n;
};
}  // namespace anybit::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;

// The tail goes through buffers: nothing is read or written past n.
template <class F>
HWY_INLINE void Pairs(const float* a, std::size_t a_step, const float* b, std::size_t b_step, float* out,
                      std::size_t n, const F& f) {
  const DF d;
  const std::size_t lanes = hn::Lanes(d);
  if (n == 0) return;
  const VF first = hn::Set(d, *a), second = hn::Set(d, *b);
  std::size_t i = 0;
  if (a_step && b_step) {
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
      const VF one = f(hn::LoadU(d, a + i), hn::LoadU(d, b + i));
      const VF two = f(hn::LoadU(d, a + i + lanes), hn::LoadU(d, b + i + lanes));
      hn::StoreU(one, d, out + i);
      hn::StoreU(two, d, out + i + lanes);
    }
    for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
  } else if (a_step) {
    for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, a + i), second), d, out + i);
  } else if (b_step) {
    for (; i + lanes <= n; i += lanes) hn::StoreU(f(first, hn::LoadU(d, b + i)), d, out + i);
  } else {
    for (; i + lanes <= n; i += lanes) hn::StoreU(f(first, second), d, out + i);
  }
  if (i == n) return;
  HWY_ALIGN float x[hn::MaxLanes(d)] = {}, y[hn::MaxLanes(d)] = {};
  for (std::size_t k = 0; k < n - i; ++k) {
    x[k] = a[a_step ? i + k : 0];
    y[k] = b[b_step ? i + k : 0];
  }
  hn::Store(f(hn::Load(d, x), hn::Load(d, y)), d, x);
  std::memcpy(out + i, x, (n - i) * sizeof(float));
}

// The min and max instructions of CPUs differ for NaN.
template <class F>
HWY_INLINE VF Numbers(VF a, VF b, const F& f) {
  return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::IsNaN(b), b, f(a, b)));
}

void ApplyBinary(const BinaryWork& work) {
#define ANYBIT_PAIRS(NAME, EXPRESSION)                                       \
  case Pair::NAME:                                                           \
    return Pairs(work.a, work.a_step, work.b, work.b_step, work.out, work.n, \
                 [](VF a, VF b) HWY_ATTR { return EXPRESSION; })
  switch (work.function) {
    ANYBIT_PAIRS(add, hn::Add(a, b));
    ANYBIT_PAIRS(subtract, hn::Sub(a, b));
    ANYBIT_PAIRS(multiply, hn::Mul(a, b));
    ANYBIT_PAIRS(divide, hn::Div(a, b));
    ANYBIT_PAIRS(larger, Numbers(a, b, [](VF p, VF q) HWY_ATTR { return hn::Max(p, q); }));
    ANYBIT_PAIRS(smaller, Numbers(a, b, [](VF p, VF q) HWY_ATTR { return hn::Min(p, q); }));
    ANYBIT_PAIRS(leak, hn::IfThenElse(hn::Lt(a, hn::Zero(DF())), hn::Mul(a, b), a));
  }
#undef ANYBIT_PAIRS
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

std::span<const Descriptor> binary_simd_descriptors() {
  using enum Instructions;
  static const Descriptor all[] = {
      {"vectors", "float32", "", avx2, false, 0, FloatBinary{HWY_CHOOSE_AVX2(ApplyBinary)}},
      {"vectors", "float32", "", baseline, true, 0, FloatBinary{HWY_STATIC_DISPATCH(ApplyBinary)}},
  };
  return all;
}

#define ANYBIT_PAIRS(NAME)                                                                      \
  void NAME(const float* a, std::size_t a_step, const float* b, std::size_t b_step, float* out, \
            std::size_t n) {                                                                    \
    const BinaryWork work{Pair::NAME, a, a_step, b, b_step, out, n};                            \
    choose<FloatBinary>(work).run(work);                                                        \
  }
ANYBIT_PAIRS(add)
ANYBIT_PAIRS(subtract)
ANYBIT_PAIRS(multiply)
ANYBIT_PAIRS(divide)
ANYBIT_PAIRS(larger)
ANYBIT_PAIRS(smaller)
ANYBIT_PAIRS(leak)
#undef ANYBIT_PAIRS

}  // namespace anybit::kernels
#endif  // HWY_ONCE
