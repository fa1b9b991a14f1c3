// The epilogue of float32 GEMM, included once for each SIMD target.
#if defined(ANYBIT_KERNELS_GEMM_FINISH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ANYBIT_KERNELS_GEMM_FINISH_INL_H_
#undef ANYBIT_KERNELS_GEMM_FINISH_INL_H_
#else
#define ANYBIT_KERNELS_GEMM_FINISH_INL_H_
#endif

#include "kernels/gemm/gemm_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

using VF = hn::Vec<DF>;

// Tiles have as many rows as the registers allow; kernels for few rows have up to four.
inline constexpr int kMostRows = kTileRows > 4 ? kTileRows : 4;

// The epilogue for up to kMostRows rows of C: scale, add, clamp. Sums are in rows of 16.
HWY_INLINE void FinishTile(const FloatGemmWork& work, const float* sums, std::int64_t row, int rows,
                           std::int64_t panel) {
  const DF d;
  const FloatEpilogue& e = work.epilogue;
  const std::int64_t column = panel * kPanel, columns = std::min(kPanel, work.n - column);
  const VF alpha = hn::Set(d, e.alpha), beta = hn::Set(d, e.beta);
  const VF low = hn::Set(d, e.low), high = hn::Set(d, e.high);
  HWY_ALIGN float tail[kMostRows * kPanel];
  float* to = work.c + row * work.c_stride + column;
  float* at = columns == kPanel ? to : tail;
  const std::int64_t stride = columns == kPanel ? work.c_stride : kPanel;
  Terms<float> addend;
  for (int v = 0; v < kVectors; ++v) {
    for (int r = 0; r < rows; ++r) {
      VF x = hn::Mul(hn::Load(d, sums + r * kPanel + v * kLanes), alpha);
      addend.Find(e.addend, r == 0, row + r, column, columns);
      if (addend.at) x = hn::Add(x, hn::Mul(hn::LoadU(d, addend.at + v * kLanes), beta));
      x = hn::IfThenElse(hn::Lt(x, low), low, x);  // NaN fails both comparisons and stays
      x = hn::IfThenElse(hn::Lt(high, x), high, x);
      hn::StoreU(x, d, at + r * stride + v * kLanes);
    }
  }
  for (int r = 0; r < rows && at != to; ++r) {
    std::memcpy(to + r * work.c_stride, tail + r * kPanel, static_cast<std::size_t>(columns) * sizeof(float));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
