// Dynamic int8 GEMM: B holds integers with a scale per block; rows of A are quantized to int8 on the fly, in
// runs of up to 32 elements of one block, each with scale = largest magnitude / 127, half to even. Sums are
// exact integers within a run; runs are added in float32, in order.
#pragma once

#include <vector>

#include "kernels/gemm/gemm_packed.hpp"

namespace anybit::kernels {

// 4-bit codes that are the integers themselves, 4-bit indices of a table, or 8-bit integers.
enum class NumberKind : std::uint8_t { nibbles, table, bytes };

inline constexpr std::int64_t kRunRows = 32, kDot4Group = 16;

struct Run {
  std::int64_t first, count;   // rows
  std::int64_t groups, block;  // its groups of 16 rows, and its block
};

// The matrix as the vector code sees it. A weight is (number − offset − zero) · factor.
struct NumberView {
  NumberKind kind = NumberKind::bytes;
  std::int64_t k = 0, n = 0, block = 0, blocks = 0;
  std::int64_t groups = 0;  // per column
  std::int32_t offset = 0;
  std::uint8_t table[16] = {};
  // [panel][group][row / 4][column][row % 4]. For nibbles, the second four rows are the upper nibbles of the
  // bytes of the first four.
  const std::uint8_t* codes = nullptr;
  const float *factors = nullptr, *zeros = nullptr;  // [panel][block][16]; zeros may be null
  std::span<const Run> runs = {};

  std::int64_t group_bytes() const { return kDot4Group * kPanel / (kind == NumberKind::bytes ? 1 : 2); }
};

class DynamicInt8Weights final : public FloatRhs {
 public:
  // Null if the values are not integers, if a weight is NaN or infinite, or if blocks are too small to pay
  // off.
  static std::unique_ptr<const DynamicInt8Weights> make(const CodeMatrix& from);

  const float* panel(std::int64_t index, std::int64_t k, std::int64_t count, float* scratch) const override;
  bool multiply(const FloatGemmWork& work, ThreadPool& pool) const override;
  std::int64_t bytes() const override;

 private:
  DynamicInt8Weights(const CodeMatrix& from, const CodeStorage& storage);
  void find_kind(const CodeStorage& storage);
  void find_runs();
  NumberView view_ = {};
  std::vector<Run> runs_;
  AlignedBytes codes_, factors_, zeros_;
};

// With `rounded`, a matrix for dynamic int8 GEMM if the values allow it. Null if the codes have no supported
// storage.
std::unique_ptr<const FloatRhs> pack_codes(const CodeMatrix& from, bool rounded);

}  // namespace anybit::kernels
