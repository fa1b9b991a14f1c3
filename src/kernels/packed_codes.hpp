// A right matrix kept as codes of 4 or 8 bits with a factor for each block of a column: what quantized models
// store. A few rows are multiplied by the codes as they lie; more go by panels that are decoded when they are
// needed. Either way every weight is the float32 that decoding gives, and sums are in the order of k: results
// are those of the decoded matrix, bit for bit.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "kernels/gemm.hpp"

namespace anybit::kernels {

// The weight in row k of column c is (table[code] − zero) · factor, rounded once after each operation.
struct CodeMatrix {
  std::int64_t k = 0, n = 0;
  std::int64_t block = 0;             // rows that share a factor; the last block may be short
  std::span<const float> table = {};  // by code; 256 entries at most
  // Writes the codes of a column, one in a byte.
  std::function<void(std::int64_t column, std::uint8_t* codes)> column = {};
  const float* factors = nullptr;  // by column, then by block
  const float* zeros = nullptr;    // the same; null: all are zero

  std::int64_t blocks() const { return (k + block - 1) / block; }
  // Whether codes with these values can be kept.
  static bool has_kind(std::span<const float> table);
};

// How codes are kept: as nibbles with a table of 16 whole numbers, or as bytes.
enum class CodeKind : std::uint8_t { nibbles, int8, uint8, e4m3, e5m2 };

// How the codes of a format are kept: `stored` has what each becomes, and a weight is what that stands for
// times `unit`, a power of two.
struct CodeStorage {
  CodeKind kind = CodeKind::nibbles;
  std::vector<std::uint8_t> stored = {};
  float unit = 1;
};
// As whole numbers, if all values are that and no weight needs more than float32 has.
std::optional<CodeStorage> whole_storage(const CodeMatrix& from);

AlignedBytes zeroed_bytes(std::int64_t bytes);

// How codes become weights: by a factor; less a zero, then by a factor; or as they are, where factors are
// powers of two and the sums are in units of the block's factor, which is as exact.
enum class CodeScale : std::uint8_t { factor, zero, unit };

// What the vector code sees of a matrix. Blocks take whole groups of 8 rows.
struct CodeView {
  CodeKind kind = CodeKind::nibbles;
  bool wide = false;  // nibbles, as packed_codes_avx512.hpp has them
  std::int64_t k = 0, n = 0, block = 0, blocks = 0;
  std::int64_t block_groups = 0, groups = 0;         // of a full block, of a column
  float values[16] = {};                             // nibbles: what each stands for
  std::uint8_t lower[16] = {}, upper[16] = {};       // and the upper bytes of that
  const std::uint8_t* codes = nullptr;               // [panel][group][128 codes]
  const float *factors = nullptr, *zeros = nullptr;  // [panel][block][16]; zeros may be null

  // Where all factors are powers of two: [panel][block + 1][16], the factor of the block before over that of
  // the block, and last the last block's. Null elsewhere.
  const float* units = nullptr;

  std::int64_t group_bytes() const { return kind == CodeKind::nibbles ? 64 : 128; }
};

inline constexpr std::int64_t kGroupRows = 8;

class PackedCodes final : public FloatRight {
 public:
  // Null if the table fits no kind, if a weight is not finite, or if blocks are too small to be worth it.
  static std::unique_ptr<const PackedCodes> make(const CodeMatrix& from);

  const float* panel(std::int64_t index, std::int64_t k, std::int64_t count, float* scratch) const override;
  bool multiply(const FloatProduct& product, ThreadPool& pool) const override;
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
