// Matrix products C = A·B, in float32 and in exact integers, with what follows a product (bias, scaling,
// clamping, requantization) done while the result is at hand. Plain views, no graph.
//
// Every element of C is one sum over k in order, whatever the sizes of blocks, the number of rows or of
// threads: a row's result does not depend on the rows beside it. B is used in panels of 16 columns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "base/thread_pool.hpp"

namespace anybit::kernels {

inline constexpr std::int64_t kPanel = 16;  // columns of B that lie together

// A matrix in memory; strides in elements. A transposed one has its strides swapped.
template <class T>
struct MatrixView {
  const T* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;
};

// Numbers for the elements of C: of each (row, column), or one for all where the stride is 0. The column
// stride is 0 or 1.
template <class T>
struct Spread {
  const T* data = nullptr;  // null: none
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
};

// Rows of A that lie nowhere as such: a convolution reads its windows this way.
class RowSource {
 public:
  virtual ~RowSource() = default;
  // Writes elements [k, k + count) of rows [row, row + rows); each row begins `stride` elements after the one
  // before. The elements are of A's type. Many threads call it at once.
  virtual void read(std::int64_t row, std::int64_t rows, std::int64_t k, std::int64_t count, void* to,
                    std::int64_t stride) const = 0;
};

// Memory for vector instructions.
using AlignedBytes = std::unique_ptr<std::byte[], void (*)(std::byte*)>;
AlignedBytes aligned_bytes(std::int64_t bytes);  // throws std::bad_alloc

// ---- float32

// B, a panel at a time.
struct FloatProduct;
class FloatRight {
 public:
  virtual ~FloatRight() = default;
  // Rows [k, k + count) of columns [16·index, 16·index + 16), as [count][16], zero beyond the last column;
  // written to `scratch`, which has room for it, or where they lie.
  virtual const float* panel(std::int64_t index, std::int64_t k, std::int64_t count,
                             float* scratch) const = 0;
  // All panels one after another, k·16 floats each; null if they do not lie so.
  virtual const float* packed() const { return nullptr; }
  // Does the whole product if it has a way of its own for that; the same sums. False: it has not.
  virtual bool multiply(const FloatProduct&, ThreadPool&) const { return false; }
  virtual std::int64_t bytes() const { return 0; }  // of memory that it keeps
};

// Weights, put into panels once.
class PackedFloats final : public FloatRight {
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

// A matrix that changes from run to run: panels are copied as they are needed.
class PlainFloats final : public FloatRight {
 public:
  PlainFloats(MatrixView<float> b, std::int64_t n) : b_(b), n_(n) {}
  const float* panel(std::int64_t index, std::int64_t k, std::int64_t count, float* scratch) const override;

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

struct FloatProduct {
  std::int64_t m = 0, n = 0, k = 0;
  MatrixView<float> a = {};
  const RowSource* rows = nullptr;  // instead of a
  const FloatRight* b = nullptr;
  float* c = nullptr;
  std::int64_t c_stride = 0;  // of its rows
  FloatEpilogue epilogue = {};
};

void gemm(const FloatProduct& product, ThreadPool& pool);

// ---- Integers: C = (A − zero point)·(B − zero point), exact

enum class Whole : std::uint8_t { int8, uint8, int16, uint16 };
inline std::int64_t bytes_of(Whole type) { return type == Whole::int8 || type == Whole::uint8 ? 1 : 2; }

struct WholeView {
  Whole type = Whole::int8;
  const void* data = nullptr;
  std::int64_t row_stride = 0;  // in elements
  std::int64_t column_stride = 1;
};

// B, a panel at a time.
class WholeRight {
 public:
  virtual ~WholeRight() = default;
  // Numbers of 16 bits are given in two parts, number = part 0 + 256 · part 1.
  virtual int parts() const = 0;
  // Rows [k, k + count) of 16 columns less their zero points, as [ceil(count / 2)][16][2]: neighbours on k
  // side by side. k is even; zero beyond the last row and column.
  virtual void panel(std::int64_t index, std::int64_t k, std::int64_t count, int part,
                     std::int16_t* to) const = 0;
  // The same from row 0 on, for a matrix that is kept as bytes: without the zero points, which zeros() has by
  // column, padded to whole panels (null if all are zero). Null if it is kept otherwise.
  virtual const std::int8_t* narrow(std::int64_t) const { return nullptr; }
  virtual const std::int32_t* zeros() const { return nullptr; }
  // The largest magnitude that an element less its zero point may have, and the most that those of a column
  // may add up to.
  virtual std::int64_t largest() const = 0;
  virtual std::int64_t largest_sum() const = 0;
  // Sums over k of the columns less their zero points, padded to whole panels: what a zero point of 16-bit
  // numbers in A is multiplied by. Null if they are not kept; then they are added up for each product.
  virtual const std::int64_t* column_sums() const { return nullptr; }
};
std::vector<std::int64_t> column_sums(const WholeRight& b, std::int64_t k, std::int64_t n);

// Weights, put into panels once.
class PackedWholes final : public WholeRight {
 public:
  // `zero_points`: by column, or one for all. They are in the range of the type.
  PackedWholes(WholeView b, std::int64_t k, std::int64_t n, Spread<std::int32_t> zero_points);
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
class PlainWholes final : public WholeRight {
 public:
  PlainWholes(WholeView b, std::int64_t k, std::int64_t n, Spread<std::int32_t> zero_points)
      : b_(b), k_(k), n_(n), zero_points_(zero_points) {}
  int parts() const override { return bytes_of(b_.type) == 2 ? 2 : 1; }
  void panel(std::int64_t index, std::int64_t k, std::int64_t count, int part,
             std::int16_t* to) const override;
  std::int64_t largest() const override { return bytes_of(b_.type) == 2 ? 65535 : 255; }
  std::int64_t largest_sum() const override { return k_ * largest(); }

 private:
  WholeView b_;
  std::int64_t k_, n_;
  Spread<std::int32_t> zero_points_;
};

// What becomes of the sum s = Σ (a − za)·(b − zb) + bias:
//   int32     s modulo 2³²
//   float32   float(s) · scale + addend
//   others    clamp(round_half_even(float(s) · scale) + zero_point, low, high)
enum class WholeResult : std::uint8_t { int32, float32, int8, uint8, int16, uint16 };

struct WholeEpilogue {
  WholeResult type = WholeResult::int32;
  Spread<std::int32_t> bias = {};
  Spread<float> scale = {};   // must be there unless the type is int32
  Spread<float> addend = {};  // float32 only
  std::int32_t zero_point = 0, low = 0, high = 0;
};

struct WholeProduct {
  std::int64_t m = 0, n = 0, k = 0;
  WholeView a = {};
  const RowSource* rows = nullptr;  // instead of a.data; their type is a.type
  // By row, or one for all (of 16-bit numbers: one for all); in the range of the type.
  Spread<std::int32_t> a_zero = {};
  const WholeRight* b = nullptr;
  void* c = nullptr;
  std::int64_t c_stride = 0;
  WholeEpilogue epilogue = {};
};

void gemm(const WholeProduct& product, ThreadPool& pool);

// Numbers of 16 bits in A are made signed, and their zero point is taken off the sums: what is left of it
// then.
inline std::int32_t left_zero(Whole type, std::int32_t zero) {
  return bytes_of(type) == 1 ? 0 : type == Whole::uint16 ? zero - 32768 : zero;
}
// How far a number of this type may be from its zero point; bytes may have several.
inline std::int64_t farthest(Whole type, std::int32_t zero) {
  if (bytes_of(type) == 1) return 255;
  const std::int64_t left = left_zero(type, zero);
  return std::max(left + 32768, 32767 - left);
}

}  // namespace anybit::kernels
