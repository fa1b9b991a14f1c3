// GEMM C = A·B in float32 and in exact integers, with a fused epilogue (bias, scale, clamp, requantization).
// On plain matrix views.
//
// Every element of C is one sum over k in order, for any block size, number of rows and number of threads:
// the result of a row does not depend on the rows beside it. B is used in panels of 16 columns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "base/thread_pool.hpp"

namespace anybit::kernels {

inline constexpr std::int64_t kPanel = 16;  // columns of a panel of B

// A matrix in memory; strides in elements. Swapping the strides transposes it.
template <class T>
struct MatrixView {
  const T* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;
};

// Per-element, per-row, per-column or scalar operands of an epilogue: a stride of 0 broadcasts. The column
// stride is 0 or 1.
template <class T>
struct Spread {
  const T* data = nullptr;  // null: none
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
};

// Rows of A that are not in memory as such: for example, a convolution's windows (im2col).
class RowSource {
 public:
  virtual ~RowSource() = default;
  // Writes elements [k, k + count) of rows [row, row + rows); consecutive rows are `stride` elements apart.
  // Elements have A's type. Called by many threads at once.
  virtual void read(std::int64_t row, std::int64_t rows, std::int64_t k, std::int64_t count, void* to,
                    std::int64_t stride) const = 0;
};

// Memory aligned for vector instructions.
using AlignedBytes = std::unique_ptr<std::byte[], void (*)(std::byte*)>;
AlignedBytes aligned_bytes(std::int64_t bytes);  // throws std::bad_alloc

// ---- float32

// B, read in panels.
struct FloatGemmWork;
class FloatRhs {
 public:
  virtual ~FloatRhs() = default;
  // Rows [k, k + count) of columns [16·index, 16·index + 16), as [count][16], zero past the last column. The
  // result is in `scratch` or elsewhere in memory.
  virtual const float* panel(std::int64_t index, std::int64_t k, std::int64_t count,
                             float* scratch) const = 0;
  // All panels one after another, k·16 floats each; null if they are not stored so.
  virtual const float* packed() const { return nullptr; }
  // The matrix itself, if its rows are contiguous in memory; null otherwise.
  virtual const MatrixView<float>* rows() const { return nullptr; }
  // Computes all of the GEMM, with the same sums, if this class has its own kernel; false: it has none.
  virtual bool multiply(const FloatGemmWork&, ThreadPool&) const { return false; }
  virtual std::int64_t bytes() const { return 0; }  // memory that it holds
};

// Constant weights, packed into panels once.
class PackedFloats final : public FloatRhs {
 public:
  PackedFloats(MatrixView<float> b, std::int64_t k, std::int64_t n);
  const float* panel(std::int64_t index, std::int64_t k, std::int64_t, float*) const override {
    return packed() + (index * k_ + k) * kPanel;
  }
  const float* packed() const override { return reinterpret_cast<const float*>(memory_.get()); }
  std::int64_t bytes() const override;

 private:
  std::int64_t k_, n_;
  AlignedBytes memory_;
};

// A matrix that changes from run to run: panels are packed when needed, not for a few rows of A.
class PlainFloats final : public FloatRhs {
 public:
  PlainFloats(MatrixView<float> b, std::int64_t n) : b_(b), n_(n) {}
  const float* panel(std::int64_t index, std::int64_t k, std::int64_t count, float* scratch) const override;
  const MatrixView<float>* rows() const override { return b_.column_stride == 1 ? &b_ : nullptr; }

 private:
  MatrixView<float> b_;
  std::int64_t n_;
};

struct FloatEpilogue {
  float alpha = 1, beta = 1;
  Spread<float> addend = {};  // C = alpha·A·B + beta·addend
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();  // then clamped; NaN stays
};

struct FloatGemmWork {
  std::int64_t m = 0, n = 0, k = 0;
  MatrixView<float> a = {};
  const RowSource* rows = nullptr;  // instead of a
  const FloatRhs* b = nullptr;
  float* c = nullptr;
  std::int64_t c_stride = 0;  // row stride
  FloatEpilogue epilogue = {};
};

void gemm(const FloatGemmWork& work, ThreadPool& pool);

// ---- Integers: C = (A − zero point)·(B − zero point), exact

enum class IntegerType : std::uint8_t { int8, uint8, int16, uint16 };
inline std::int64_t bytes_of(IntegerType type) {
  return type == IntegerType::int8 || type == IntegerType::uint8 ? 1 : 2;
}

struct IntegerView {
  IntegerType type = IntegerType::int8;
  const void* data = nullptr;
  std::int64_t row_stride = 0;  // in elements
  std::int64_t column_stride = 1;
};

// B, read in panels.
class IntegerRhs {
 public:
  virtual ~IntegerRhs() = default;
  // 16-bit values are split into two parts, value = part 0 + 256 · part 1.
  virtual int parts() const = 0;
  // Rows [k, k + count) of 16 columns, zero points subtracted, as [ceil(count / 2)][16][2]: pairs along k are
  // adjacent. k is even; zero past the last row and column.
  virtual void panel(std::int64_t index, std::int64_t k, std::int64_t count, int part,
                     std::int16_t* to) const = 0;
  // The panel from row 0 on, for a matrix that is kept as bytes. Zero points are not subtracted: zeros() has
  // them by column, padded to full panels (null if all are zero). Null if the matrix is not kept as bytes.
  virtual const std::int8_t* narrow(std::int64_t) const { return nullptr; }
  virtual const std::int32_t* zeros() const { return nullptr; }
  // Bounds for elements with zero points subtracted: the largest magnitude of one, and the largest sum of
  // magnitudes of a column.
  virtual std::int64_t largest() const = 0;
  virtual std::int64_t largest_sum() const = 0;
  // Column sums of the elements with zero points subtracted, padded to full panels; the zero point of 16-bit
  // A is multiplied by them. Null if they are not kept; each GEMM then computes them.
  virtual const std::int64_t* column_sums() const { return nullptr; }
};
std::vector<std::int64_t> column_sums(const IntegerRhs& b, std::int64_t k, std::int64_t n);

// Constant weights, packed into panels once.
class PackedIntegers final : public IntegerRhs {
 public:
  // `zero_points`: by column, or one for all, within the range of the type.
  PackedIntegers(IntegerView b, std::int64_t k, std::int64_t n, Spread<std::int32_t> zero_points);
  int parts() const override { return wide_ ? 2 : 1; }
  void panel(std::int64_t index, std::int64_t k, std::int64_t count, int part,
             std::int16_t* to) const override;
  const std::int8_t* narrow(std::int64_t index) const override;
  const std::int32_t* zeros() const override { return zeros_.get(); }
  std::int64_t largest() const override { return largest_; }
  std::int64_t largest_sum() const override { return largest_sum_; }
  void keep_column_sums() {
    if (column_sums_.empty()) column_sums_ = kernels::column_sums(*this, k_, n_);
  }
  const std::int64_t* column_sums() const override {
    return column_sums_.empty() ? nullptr : column_sums_.data();
  }
  std::int64_t bytes() const;

 private:
  std::int64_t k_, n_, largest_ = 0, largest_sum_ = 0;
  bool wide_;
  AlignedBytes memory_;
  std::unique_ptr<std::int32_t[]> zeros_;  // null: all are zero
  std::vector<std::int64_t> column_sums_;
};

// A matrix that changes from run to run.
class PlainIntegers final : public IntegerRhs {
 public:
  PlainIntegers(IntegerView b, std::int64_t k, std::int64_t n, Spread<std::int32_t> zero_points)
      : b_(b), k_(k), n_(n), zero_points_(zero_points) {}
  int parts() const override { return bytes_of(b_.type) == 2 ? 2 : 1; }
  void panel(std::int64_t index, std::int64_t k, std::int64_t count, int part,
             std::int16_t* to) const override;
  std::int64_t largest() const override { return bytes_of(b_.type) == 2 ? 65535 : 255; }
  std::int64_t largest_sum() const override { return k_ * largest(); }

 private:
  IntegerView b_;
  std::int64_t k_, n_;
  Spread<std::int32_t> zero_points_;
};

// The epilogue of a sum s = Σ (a − za)·(b − zb) + bias:
//   int32     s modulo 2³²
//   float32   float(s) · scale + addend
//   others    clamp(round_half_even(float(s) · scale) + zero_point, low, high)
enum class IntegerResult : std::uint8_t { int32, float32, int8, uint8, int16, uint16 };

struct IntegerEpilogue {
  IntegerResult type = IntegerResult::int32;
  Spread<std::int32_t> bias = {};
  Spread<float> scale = {};   // required unless the type is int32
  Spread<float> addend = {};  // float32 only
  std::int32_t zero_point = 0, low = 0, high = 0;
};

struct IntegerGemmWork {
  std::int64_t m = 0, n = 0, k = 0;
  IntegerView a = {};
  const RowSource* rows = nullptr;  // instead of a.data; elements have type a.type
  // By row, or one for all (always one for 16-bit A); within the range of the type.
  Spread<std::int32_t> a_zero = {};
  const IntegerRhs* b = nullptr;
  void* c = nullptr;
  std::int64_t c_stride = 0;
  IntegerEpilogue epilogue = {};
};

void gemm(const IntegerGemmWork& work, ThreadPool& pool);

// 16-bit A is made signed, and its zero point is applied to the sums. This is the zero point that then
// remains.
inline std::int32_t left_zero(IntegerType type, std::int32_t zero) {
  return bytes_of(type) == 1 ? 0 : type == IntegerType::uint16 ? zero - 32768 : zero;
}
// The largest distance of a value from its zero point; 8-bit matrices may have several zero points.
inline std::int64_t farthest(IntegerType type, std::int32_t zero) {
  if (bytes_of(type) == 1) return 255;
  const std::int64_t left = left_zero(type, zero);
  return std::max(left + 32768, 32767 - left);
}

}  // namespace anybit::kernels
