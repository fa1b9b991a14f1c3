#include "kernels/gemm/rank_update.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/rank_update_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Adds a tile of four rows and eight columns: to[row][column].
void AddProductTile(const double* HWY_RESTRICT a, const double* HWY_RESTRICT b, std::int64_t count,
                    double* const* to) {
  constexpr std::size_t kWidth = 8, kRows = 4;
  const hn::CappedTag<double, 4> d;
  constexpr std::size_t kLanes = hn::MaxLanes(hn::CappedTag<double, 4>()), kVectors = kWidth / kLanes;
  hn::Vec<hn::CappedTag<double, 4>> sums[kRows][kVectors];
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t v = 0; v < kVectors; ++v) sums[row][v] = hn::LoadU(d, to[row] + v * kLanes);
  }
  for (std::int64_t r = 0; r < count; ++r, a += kWidth, b += kWidth) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      const auto factor = hn::LoadU(d, b + v * kLanes);
      for (std::size_t row = 0; row < kRows; ++row)
        sums[row][v] = hn::MulAdd(hn::Set(d, a[row]), factor, sums[row][v]);
    }
  }
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(sums[row][v], d, to[row] + v * kLanes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

HWY_EXPORT(AddProductTile);

void add_products(const RowPanels& a, const RowPanels& b, std::int64_t begin, std::int64_t end,
                  const UpperTriangle& c) {
  constexpr std::int64_t kWidth = RowPanels::kWidth;
  double tile[kRankRows][kWidth];
  for (std::int64_t first = begin; first < end; first += kRankRows) {
    const std::int64_t rows = std::min(kRankRows, end - first);
    for (std::int64_t column = first / kWidth * kWidth; column < b.length(); column += kWidth) {
      const std::int64_t columns = std::min(kWidth, b.length() - column);
      double* to[kRankRows];
      const bool whole = column >= first + rows && columns == kWidth && rows == kRankRows;
      const auto low = [&](std::int64_t row) { return std::max<std::int64_t>(0, first + row - column); };
      for (std::int64_t row = 0; row < kRankRows; ++row) {
        to[row] = whole ? c.row(first + row) + (column - first - row) : tile[row];
        if (whole) continue;
        std::fill_n(tile[row], kWidth, 0.0);
        for (std::int64_t k = low(row); k < columns && row < rows; ++k)
          tile[row][k] = c.row(first + row)[column + k - first - row];
      }
      HWY_DYNAMIC_DISPATCH(AddProductTile)(a.at(0, first), b.at(0, column), a.count(), to);
      for (std::int64_t row = 0; row < rows && !whole; ++row) {
        for (std::int64_t k = low(row); k < columns; ++k)
          c.row(first + row)[column + k - first - row] = tile[row][k];
      }
    }
  }
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
