// Symmetric rank-k update of the upper triangle of a matrix in double: C += AᵀB, where AᵀB is symmetric. For
// XᵀX and for the factorization of matrices.
#pragma once

#include <cstdint>
#include <vector>

namespace anybit::kernels {

// `count` rows of `length` numbers, in panels of 8 columns: [panel][row][8], zero past the last column.
class RowPanels {
 public:
  static constexpr std::int64_t kWidth = 8;

  RowPanels(std::int64_t count, std::int64_t length)
      : count_(count),
        length_(length),
        data_(static_cast<std::size_t>((length + kWidth - 1) / kWidth * kWidth * count)) {}

  std::int64_t count() const { return count_; }
  std::int64_t length() const { return length_; }
  double* at(std::int64_t row, std::int64_t column) { return data_.data() + offset(row, column); }
  const double* at(std::int64_t row, std::int64_t column) const { return data_.data() + offset(row, column); }

 private:
  std::int64_t offset(std::int64_t row, std::int64_t column) const {
    return (column / kWidth * count_ + row) * kWidth + column % kWidth;
  }

  std::int64_t count_, length_;
  std::vector<double> data_;
};

// The rows of an upper triangle from the diagonal on: row i begins at i · stride, or, if `packed`, right
// behind row i − 1.
struct UpperTriangle {
  double* data;
  std::int64_t stride;  // packed: the length of row 0
  bool packed = false;

  double* row(std::int64_t i) const {  // element (i, i)
    return packed ? data + i * stride - i * (i - 1) / 2 : data + i * stride + i;
  }
};

inline constexpr std::int64_t kRankRows = 4;  // `begin` is a multiple

// Rows [begin, end) of C += AᵀB. Each sum is taken over the rows in order, starting with C: any division into
// calls gives the same result. If products are exact, as those of float32 values, it is the same on every
// CPU.
void add_products(const RowPanels& a, const RowPanels& b, std::int64_t begin, std::int64_t end,
                  const UpperTriangle& c);

}  // namespace anybit::kernels
