// A right matrix of 2-, 4- or 8-bit codes with a scale and a zero point for each block of a column: what
// MatMulNBits stores. Decoded a panel at a time; never the whole of it.
#pragma once

#include <vector>

#include "kernels/gemm.hpp"

namespace anybit::kernels {

// Codes as the file has them: by column, `blocks` of `block` codes each, low bits first.
struct ColumnCodes {
  std::int64_t k = 0, n = 0;
  int bits = 4;
  std::int64_t block = 32;
  const std::uint8_t* codes = nullptr;
  const float* scales = nullptr;               // by column, then by block
  const float* zero_points = nullptr;          // the same; null: half of the range
  const std::int32_t* block_of_row = nullptr;  // null: row k is in block k / block

  std::int64_t blocks() const { return (k + block - 1) / block; }
};

class PackedCodes final : public FloatRight {
 public:
  explicit PackedCodes(const ColumnCodes& from);
  const float* panel(std::int64_t index, std::int64_t k, std::int64_t count, float* scratch) const override;

 private:
  std::int64_t k_, n_, block_, blocks_;
  int bits_;
  std::vector<std::uint8_t> codes_;  // [panel][k][16 · bits / 8]: column c is with c + 8 (4 bits) in a byte
  std::vector<float> scales_, zero_points_;  // [panel][block][16]
  std::vector<std::int32_t> block_of_row_;   // empty: k / block
};

}  // namespace anybit::kernels
