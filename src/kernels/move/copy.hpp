// Copies between strided views of the same shape: the core of Transpose, Slice, Concat, Expand and related
// operators. Elements are opaque; a stride may be zero or negative.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace anybit::kernels {

struct CopyAxis {
  std::int64_t size, from, to;  // strides in elements
};

// A copy whose axes are merged and ordered for long contiguous runs.
class StridedCopy {
 public:
  static constexpr std::size_t kAxes = 40;

  // Outermost first, at most kAxes - 2; no two elements of the target may overlap.
  explicit StridedCopy(std::span<const CopyAxis> axes);

  // The work in independent parts, in any order. Zero parts: nothing to copy.
  std::int64_t parts() const { return outer_ * row_parts_ * column_parts_; }
  std::int64_t part_elements() const { return row_grain_ * column_grain_; }
  // Parts [first, last). T: an unsigned integer of 1, 2, 4 or 8 bytes, complex<double>, or string.
  template <class T>
  void run(const T* from, T* to, std::int64_t first, std::int64_t last) const;

 private:
  enum class Inner : std::uint8_t { runs, transposed, strided };
  void merge(std::span<const CopyAxis> axes);
  void choose_inner();
  void cut();
  template <class T>
  void part(const T* from, T* to, std::int64_t row_count, std::int64_t column_count) const;
  CopyAxis rows() const { return axes_[rank_ - 2]; }
  CopyAxis columns() const { return axes_[rank_ - 1]; }

  std::array<CopyAxis, kAxes> axes_;
  std::size_t rank_ = 0;
  Inner inner_ = Inner::strided;
  std::int64_t outer_ = 0, row_parts_ = 0, column_parts_ = 0, row_grain_ = 1, column_grain_ = 1;
};

// to[r * to_stride + c] = from[c * from_stride + r]; strides are not negative. T: 1, 2, 4 or 8 bytes.
template <class T>
void transpose(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride, std::int64_t rows,
               std::int64_t columns);

}  // namespace anybit::kernels
