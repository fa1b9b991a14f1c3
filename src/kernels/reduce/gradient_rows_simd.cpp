#include <algorithm>
#include <cstring>

#include "kernels/reduce/gradient_rows.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/gradient_rows_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/float_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
using namespace float_math;

constexpr std::size_t kInFloat = 2048;  // values that are summed in float

// Calls whole(i) for full vectors of [0, n), then tail(i, count) for the rest.
template <class Whole, class Tail>
HWY_INLINE void Steps(std::size_t n, const Whole& whole, const Tail& tail) {
  const std::size_t lanes = hn::Lanes(DF());
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) whole(i);
  if (i < n) tail(i, n - i);
}

HWY_INLINE VF LoadPart(const float* x, std::size_t n) {
  HWY_ALIGN float buffer[hn::MaxLanes(DF())] = {};
  std::memcpy(buffer, x, n * sizeof(float));
  return hn::Load(DF(), buffer);
}

HWY_INLINE void StorePart(VF v, float* x, std::size_t n) {
  HWY_ALIGN float buffer[hn::MaxLanes(DF())];
  hn::Store(v, DF(), buffer);
  std::memcpy(x, buffer, n * sizeof(float));
}

HWY_INLINE double SumOf(VF v) { return static_cast<double>(hn::GetLane(hn::SumOfLanes(DF(), v))); }

// Two sums each, to hide latency.
PairSums Pairs(const float* dy, const float* x, float center, std::size_t n) {
  const DF d;
  const std::size_t lanes = hn::Lanes(d);
  const VF middle = hn::Set(d, center);
  PairSums sums;
  for (std::size_t first = 0; first < n; first += kInFloat) {
    const std::size_t end = std::min(first + kInFloat, n);
    VF plain = hn::Zero(d), weighted = plain, plain2 = plain, weighted2 = plain;
    std::size_t i = first;
    for (; i + 2 * lanes <= end; i += 2 * lanes) {
      const VF g = hn::LoadU(d, dy + i), h = hn::LoadU(d, dy + i + lanes);
      plain = hn::Add(plain, g);
      plain2 = hn::Add(plain2, h);
      weighted = hn::MulAdd(g, hn::Sub(hn::LoadU(d, x + i), middle), weighted);
      weighted2 = hn::MulAdd(h, hn::Sub(hn::LoadU(d, x + i + lanes), middle), weighted2);
    }
    for (; i < end; i += lanes) {
      const std::size_t count = std::min(lanes, end - i);
      const VF g = LoadPart(dy + i, count);
      plain = hn::Add(plain, g);
      weighted = hn::MulAdd(g, hn::Sub(LoadPart(x + i, count), middle), weighted);
    }
    sums.plain += SumOf(hn::Add(plain, plain2));
    sums.weighted += SumOf(hn::Add(weighted, weighted2));
  }
  return sums;
}

// Vectors of 8 lanes, or parts of them.
using D8 = hn::CappedTag<float, kEight>;
using V8 = hn::Vec<D8>;

// Sums body(i, lane) over rows i for each vector of lanes; `add` takes each lane's sum.
template <class Body, class Add>
HWY_INLINE void SumRows(std::size_t n, const Body& body, const Add& add) {
  const D8 d;
  const std::size_t lanes = hn::Lanes(d), rows = kInFloat / kEight;
  HWY_ALIGN float held[kEight];
  for (std::size_t lane = 0; lane < kEight; lane += lanes) {
    for (std::size_t first = 0; first < n; first += rows) {
      const std::size_t end = std::min(first + rows, n);
      V8 one = hn::Zero(d), two = one;
      std::size_t i = first;
      for (; i + 2 <= end; i += 2) {
        one = body(one, i * kEight + lane, lane);
        two = body(two, (i + 1) * kEight + lane, lane);
      }
      if (i < end) one = body(one, i * kEight + lane, lane);
      hn::Store(hn::Add(one, two), d, held);
      for (std::size_t k = 0; k < lanes; ++k) add(lane + k, static_cast<double>(held[k]));
    }
  }
}

void PairsOf8(const float* dy, const float* x, const float* center, std::size_t n, PairSums* sums) {
  const D8 d;
  SumRows(
      n, [&](V8 sum, std::size_t at, std::size_t) HWY_ATTR { return hn::Add(sum, hn::LoadU(d, dy + at)); },
      [&](std::size_t lane, double sum) { sums[lane].plain += sum; });
  SumRows(
      n,
      [&](V8 sum, std::size_t at, std::size_t lane) HWY_ATTR {
        return hn::MulAdd(hn::LoadU(d, dy + at), hn::Sub(hn::LoadU(d, x + at), hn::LoadU(d, center + lane)),
                          sum);
      },
      [&](std::size_t lane, double sum) { sums[lane].weighted += sum; });
}

void SumsOf8(const float* x, std::size_t n, double* sums) {
  const D8 d;
  SumRows(
      n, [&](V8 sum, std::size_t at, std::size_t) HWY_ATTR { return hn::Add(sum, hn::LoadU(d, x + at)); },
      [&](std::size_t lane, double sum) { sums[lane] += sum; });
}

void DeviationsOf8(const float* x, const float* center, std::size_t n, double* sums) {
  const D8 d;
  SumRows(
      n,
      [&](V8 sum, std::size_t at, std::size_t lane) HWY_ATTR {
        const V8 away = hn::Sub(hn::LoadU(d, x + at), hn::LoadU(d, center + lane));
        return hn::MulAdd(away, away, sum);
      },
      [&](std::size_t lane, double sum) { sums[lane] += sum; });
}

void MixRows(const float* dy, const float* x, std::size_t n, float a, float b, float c, float* out) {
  const DF d;
  const VF va = hn::Set(d, a), vb = hn::Set(d, b), vc = hn::Set(d, c);
  const auto mixed = [&](VF g, VF v) HWY_ATTR { return hn::MulAdd(va, g, hn::MulAdd(vb, v, vc)); };
  Steps(
      n,
      [&](std::size_t i)
          HWY_ATTR { hn::StoreU(mixed(hn::LoadU(d, dy + i), hn::LoadU(d, x + i)), d, out + i); },
      [&](std::size_t i, std::size_t count)
          HWY_ATTR { StorePart(mixed(LoadPart(dy + i, count), LoadPart(x + i, count)), out + i, count); });
}

void MixRowsOf8(const float* dy, const float* x, std::size_t n, const float* a, const float* b,
                const float* c, float* out) {
  const D8 d;
  for (std::size_t lane = 0; lane < kEight; lane += hn::Lanes(d)) {
    const V8 va = hn::LoadU(d, a + lane), vb = hn::LoadU(d, b + lane), vc = hn::LoadU(d, c + lane);
    for (std::size_t at = lane; at < n * kEight; at += kEight) {
      const V8 sum = hn::MulAdd(vb, hn::LoadU(d, x + at), vc);
      hn::StoreU(hn::MulAdd(va, hn::LoadU(d, dy + at), sum), d, out + at);
    }
  }
}

void ScaleRowsOf8(const float* x, std::size_t n, const float* a, const float* c, float* out) {
  const D8 d;
  for (std::size_t lane = 0; lane < kEight; lane += hn::Lanes(d)) {
    const V8 va = hn::LoadU(d, a + lane), vc = hn::LoadU(d, c + lane);
    for (std::size_t at = lane; at < n * kEight; at += kEight)
      hn::StoreU(hn::MulAdd(va, hn::LoadU(d, x + at), vc), d, out + at);
  }
}

void SoftmaxGradient(const float* dy, const float* y, std::size_t n, bool logarithm, float* dx) {
  const DF d;
  const PairSums sums = Pairs(dy, y, 0, n);
  const VF sum = hn::Set(d, static_cast<float>(logarithm ? sums.plain : sums.weighted));
  const auto result = [&](VF g, VF v) HWY_ATTR {
    return logarithm ? hn::NegMulAdd(Exp(v), sum, g) : hn::Mul(v, hn::Sub(g, sum));
  };
  Steps(
      n,
      [&](std::size_t i)
          HWY_ATTR { hn::StoreU(result(hn::LoadU(d, dy + i), hn::LoadU(d, y + i)), d, dx + i); },
      [&](std::size_t i, std::size_t count)
          HWY_ATTR { StorePart(result(LoadPart(dy + i, count), LoadPart(y + i, count)), dx + i, count); });
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

HWY_EXPORT(Pairs);
HWY_EXPORT(PairsOf8);
HWY_EXPORT(SumsOf8);
HWY_EXPORT(DeviationsOf8);
HWY_EXPORT(MixRows);
HWY_EXPORT(MixRowsOf8);
HWY_EXPORT(ScaleRowsOf8);
HWY_EXPORT(SoftmaxGradient);

PairSums pair_sums(const float* dy, const float* x, float center, std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(Pairs)(dy, x, center, n);
}
void pair_sums_of_8(const float* dy, const float* x, const float* center, std::size_t n, PairSums* sums) {
  HWY_DYNAMIC_DISPATCH(PairsOf8)(dy, x, center, n, sums);
}
void sums_of_8(const float* x, std::size_t n, double* sums) { HWY_DYNAMIC_DISPATCH(SumsOf8)(x, n, sums); }
void deviations_of_8(const float* x, const float* center, std::size_t n, double* sums) {
  HWY_DYNAMIC_DISPATCH(DeviationsOf8)(x, center, n, sums);
}
void mix_rows(const float* dy, const float* x, std::size_t n, float a, float b, float c, float* out) {
  HWY_DYNAMIC_DISPATCH(MixRows)(dy, x, n, a, b, c, out);
}
void mix_rows_of_8(const float* dy, const float* x, std::size_t n, const float* a, const float* b,
                   const float* c, float* out) {
  HWY_DYNAMIC_DISPATCH(MixRowsOf8)(dy, x, n, a, b, c, out);
}
void scale_rows_of_8(const float* x, std::size_t n, const float* a, const float* c, float* out) {
  HWY_DYNAMIC_DISPATCH(ScaleRowsOf8)(x, n, a, c, out);
}
void softmax_gradient(const float* dy, const float* y, std::size_t n, bool logarithm, float* dx) {
  HWY_DYNAMIC_DISPATCH(SoftmaxGradient)(dy, y, n, logarithm, dx);
}

}  // namespace anybit::kernels
#endif
