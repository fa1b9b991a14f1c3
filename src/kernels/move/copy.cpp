#include "kernels/move/copy.hpp"

#include <algorithm>
#include <complex>
#include <string>

namespace anybit::kernels {
namespace {

constexpr std::int64_t kRun = 1 << 14;                       // consecutive elements of a part
constexpr std::int64_t kTileRows = 256, kTileColumns = 256;  // of a part of a transpose

// A strided copy; the compiler unrolls the common short rows.
template <class T>
void strided_row(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride, std::int64_t count) {
  if (from_stride == 0 && to_stride == 1) {
    std::fill_n(to, count, *from);
  } else if (to_stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * from_stride];
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

template <std::int64_t Count, class T>
void short_runs(const T* from, std::int64_t from_step, T* to, std::int64_t to_step, std::int64_t rows) {
  for (std::int64_t r = 0; r < rows; ++r) std::copy_n(from + r * from_step, Count, to + r * to_step);
}

// Contiguous runs of a few elements: calling memcpy for each would cost more than the copy.
template <class T>
bool copy_short_runs(const T* from, std::int64_t from_step, T* to, std::int64_t to_step, std::int64_t rows,
                     std::int64_t count) {
  switch (count) {
    case 1:
      return short_runs<1>(from, from_step, to, to_step, rows), true;
    case 2:
      return short_runs<2>(from, from_step, to, to_step, rows), true;
    case 3:
      return short_runs<3>(from, from_step, to, to_step, rows), true;
    case 4:
      return short_runs<4>(from, from_step, to, to_step, rows), true;
    case 8:
      return short_runs<8>(from, from_step, to, to_step, rows), true;
    case 16:
      return short_runs<16>(from, from_step, to, to_step, rows), true;
    default:
      return false;
  }
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

StridedCopy::StridedCopy(std::span<const CopyAxis> axes) {
  for (const CopyAxis& axis : axes) {
    if (axis.size == 0) return;
  }
  merge(axes);
  while (rank_ < 2) {
    std::copy_backward(axes_.begin(), axes_.begin() + rank_, axes_.begin() + rank_ + 1);
    axes_[0] = {1, 0, 0};
    ++rank_;
  }
  choose_inner();
  cut();
}

// Drops axes of size one; merges neighbouring axes that are contiguous on both sides.
void StridedCopy::merge(std::span<const CopyAxis> axes) {
  for (const CopyAxis& axis : axes) {
    if (axis.size == 1) continue;
    if (rank_ > 0) {
      CopyAxis& last = axes_[rank_ - 1];
      if (last.from == axis.from * axis.size && last.to == axis.to * axis.size) {
        last = {last.size * axis.size, axis.from, axis.to};
        continue;
      }
    }
    axes_[rank_++] = axis;
  }
}

void StridedCopy::choose_inner() {
  const CopyAxis last = columns();
  inner_ = last.from == 1 && last.to == 1 ? Inner::runs : Inner::strided;
  if (inner_ == Inner::runs || last.to != 1 || last.from <= 1) return;
  // The axis that is contiguous in the source becomes the other side of a transpose.
  for (std::size_t i = 0; i + 1 < rank_; ++i) {
    if (axes_[i].from != 1 || axes_[i].to < 0) continue;
    std::rotate(axes_.begin() + i, axes_.begin() + i + 1, axes_.begin() + (rank_ - 1));
    inner_ = Inner::transposed;
    return;
  }
}

void StridedCopy::cut() {
  outer_ = 1;
  for (std::size_t i = 0; i + 2 < rank_; ++i) outer_ *= axes_[i].size;
  column_grain_ = std::min(columns().size, inner_ == Inner::transposed ? kTileColumns : kRun);
  const std::int64_t at_once = inner_ == Inner::transposed ? std::max(kTileRows, kRun / column_grain_)
                                                           : std::max<std::int64_t>(1, kRun / column_grain_);
  row_grain_ = std::min(rows().size, at_once);
  row_parts_ = ceil_div(rows().size, row_grain_);
  column_parts_ = ceil_div(columns().size, column_grain_);
}

template <class T>
void StridedCopy::part(const T* from, T* to, std::int64_t row_count, std::int64_t column_count) const {
  const CopyAxis row = rows(), column = columns();
  if (inner_ == Inner::transposed) {
    if constexpr (sizeof(T) <= 8) return transpose(from, column.from, to, row.to, row_count, column_count);
  }
  if (inner_ == Inner::runs) {
    if (copy_short_runs(from, row.from, to, row.to, row_count, column_count)) return;
    for (std::int64_t r = 0; r < row_count; ++r) {
      std::copy_n(from + r * row.from, column_count, to + r * row.to);
    }
    return;
  }
  for (std::int64_t r = 0; r < row_count; ++r) {
    strided_row(from + r * row.from, column.from, to + r * row.to, column.to, column_count);
  }
}

template <class T>
void StridedCopy::run(const T* from, T* to, std::int64_t first, std::int64_t last) const {
  const CopyAxis row = rows(), column = columns();
  const std::int64_t inner_parts = row_parts_ * column_parts_;
  for (std::int64_t index = first; index < last; ++index) {
    std::int64_t rest = index / inner_parts, from_at = 0, to_at = 0;
    for (std::size_t i = rank_ - 2; i-- > 0;) {
      const std::int64_t place = rest % axes_[i].size;
      rest /= axes_[i].size;
      from_at += place * axes_[i].from;
      to_at += place * axes_[i].to;
    }
    const std::int64_t r = index % inner_parts / column_parts_ * row_grain_;
    const std::int64_t c = index % column_parts_ * column_grain_;
    part(from + from_at + r * row.from + c * column.from, to + to_at + r * row.to + c * column.to,
         std::min(row_grain_, row.size - r), std::min(column_grain_, column.size - c));
  }
}

// A type cannot stand in parentheses: NOLINTNEXTLINE(bugprone-macro-parentheses)
#define ANYBIT_COPY(T) template void StridedCopy::run<T>(const T*, T*, std::int64_t, std::int64_t) const
ANYBIT_COPY(std::uint8_t);
ANYBIT_COPY(std::uint16_t);
ANYBIT_COPY(std::uint32_t);
ANYBIT_COPY(std::uint64_t);
ANYBIT_COPY(std::complex<double>);
ANYBIT_COPY(std::string);
#undef ANYBIT_COPY

}  // namespace anybit::kernels
