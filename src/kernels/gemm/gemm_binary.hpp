// Binary GEMM: C = Σ ±1·±1 by popcount, exact, then scaled. A is binarized from float on the fly, B is packed
// into panels once.
#pragma once

#include <functional>

#include "kernels/gemm/gemm.hpp"

namespace anybit::kernels {

// B in panels of 64 columns. A byte of a column holds eight consecutive rows (k), one bit each, set for -1.
class PackedBinary {
 public:
  static constexpr std::int64_t kColumns = 64;  // per panel

  // negative(row, column): whether that element is -1.
  PackedBinary(std::int64_t k, std::int64_t n,
               const std::function<bool(std::int64_t, std::int64_t)>& negative);
  std::int64_t k() const { return k_; }
  std::int64_t n() const { return n_; }
  std::int64_t depth() const { return (k_ + 7) / 8; }  // bytes per column
  std::int64_t panels() const { return (n_ + kColumns - 1) / kColumns; }
  std::int64_t bytes() const { return panels() * depth() * kColumns; }
  // [depth()][64]; zero beyond the last row and column.
  const std::uint8_t* panel(std::int64_t index) const {
    return reinterpret_cast<const std::uint8_t*>(memory_.get()) + index * depth() * kColumns;
  }

 private:
  std::int64_t k_, n_;
  AlignedBytes memory_;
};

// One element of BinaryGemmWork::rows. `none` is padding and adds nothing.
enum class Sign : std::uint8_t { plus = 0, minus = 1, none = 2 };
void binarize(const float* from, std::int64_t count, std::uint8_t* to);

struct BinaryGemmWork {
  std::int64_t m = 0;
  const float* a = nullptr;         // m rows of b->k() elements: below zero is -1, everything else is +1
  std::int64_t a_stride = 0;        // row stride
  const RowSource* rows = nullptr;  // instead of a: one Sign per element
  const PackedBinary* b = nullptr;
  float* c = nullptr;  // sum · scale · factor + beta · addend
  std::int64_t c_stride = 0;
  float scale = 1;
  const float* factors = nullptr;  // one per column
  float beta = 1;
  Spread<float> addend = {};
};

void multiply(const BinaryGemmWork& work, ThreadPool& pool);

}  // namespace anybit::kernels
