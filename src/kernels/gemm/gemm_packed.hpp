// Weight-only quantized GEMM: B is kept as 4-bit or 8-bit codes with a scale for each block of a column, as
// quantized models store it. A few rows of A are multiplied by codes that are decoded in registers; more rows
// use panels that are decoded when needed. Each weight is the float32 that decoding gives and sums are in the
// order of k, so results are bit-identical to a GEMM with the decoded matrix.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "kernels/gemm/gemm.hpp"

namespace anybit::kernels {

// The weight in row k of column c is (table[code] − zero) · factor, rounded after each operation.
struct CodeMatrix {
  std::int64_t k = 0, n = 0;
  std::int64_t block = 0;             // rows that share a factor; the last block may be short
  std::span<const float> table = {};  // values by code; 256 entries at most
  // Writes the codes of a column, one per byte.
  std::function<void(std::int64_t column, std::uint8_t* codes)> column = {};
  const float* factors = nullptr;  // by column, then by block
  const float* zeros = nullptr;    // like factors; null: all are zero

  std::int64_t blocks() const { return (k + block - 1) / block; }
  // Whether codes with these values are supported.
  static bool has_kind(std::span<const float> table);
};

// How codes are stored: as nibbles with a table of 16 integers, or as bytes.
enum class CodeKind : std::uint8_t { nibbles, int8, uint8, e4m3, e5m2 };

// A storage for the codes of a format: `stored[code]` is the stored code, and a weight is the value of that
// times `unit`, a power of two.
struct CodeStorage {
  CodeKind kind = CodeKind::nibbles;
  std::vector<std::uint8_t> stored = {};
  float unit = 1;
};
// As integers, if all values are integers and all weights fit float32.
std::optional<CodeStorage> integer_storage(const CodeMatrix& from);

AlignedBytes zeroed_bytes(std::int64_t bytes);

// How codes become weights: value · factor; (value − zero) · factor; or the value alone, where factors are
// powers of two and the sums are kept in units of the block's factor, which is equally exact.
enum class CodeScale : std::uint8_t { factor, zero, unit };

// The matrix as the vector code sees it. Blocks are padded to groups of 8 rows.
struct CodeView {
  CodeKind kind = CodeKind::nibbles;
  bool wide = false;  // nibbles in the layout of gemm_packed_avx512.hpp
  std::int64_t k = 0, n = 0, block = 0, blocks = 0;
  std::int64_t block_groups = 0, groups = 0;         // per full block; per column
  float values[16] = {};                             // nibbles: the value of each code
  std::uint8_t lower[16] = {}, upper[16] = {};       // the bytes of its upper 16 bits
  const std::uint8_t* codes = nullptr;               // [panel][group][128 codes]
  const float *factors = nullptr, *zeros = nullptr;  // [panel][block][16]; zeros may be null

  // If all factors are powers of two: [panel][block + 1][16], the factor of the previous block over that of
  // the block; the last entry is the last block's factor. Otherwise null.
  const float* units = nullptr;

  std::int64_t group_bytes() const { return kind == CodeKind::nibbles ? 64 : 128; }
};

inline constexpr std::int64_t kGroupRows = 8;

class PackedCodes final : public FloatRhs {
 public:
  // Null if the table has no supported storage, if a weight is NaN or infinite, or if blocks are too small to
  // pay off.
  static std::unique_ptr<const PackedCodes> make(const CodeMatrix& from);

  const float* panel(std::int64_t index, std::int64_t k, std::int64_t count, float* scratch) const override;
  bool multiply(const FloatGemmWork& work, ThreadPool& pool) const override;
  CodeKind kind() const { return view_.kind; }
  std::int64_t bytes() const override;

 private:
  PackedCodes(const CodeMatrix& from, CodeKind kind, std::span<const std::uint8_t> stored, float unit);
  CodeView view_ = {};
  bool has_units() const;
  void find_units();
  AlignedBytes codes_, factors_, zeros_, units_;
};

}  // namespace anybit::kernels
