#include "kernels/gemm/packed_weights.hpp"

#include <vector>

#include "kernels/codec/packing.hpp"
#include "kernels/gemm/gemm_dynamic_int8.hpp"

namespace anybit::kernels {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

std::size_t depth_axis(bool transposed) { return transposed ? 1 : 0; }

// The values of all codes, for a factor of 1.
std::vector<float> table_of(const TensorCodec& codec) {
  const std::size_t count = std::size_t{1} << codec.bits();
  std::vector<formats::Code16> codes(count);
  for (std::size_t i = 0; i < count; ++i) codes[i] = static_cast<formats::Code16>(i);
  std::vector<std::uint32_t> words(codec.stride());
  codec.codec().set_neutral(words);
  std::vector<float> values(count);
  codec.codec().decode(codes, words, values.data());
  return values;
}

// Factors and zeros by column, then by block.
struct Scales {
  std::vector<float> factors, zeros;
};

Scales scales_of(const PackedMatrix& matrix, std::int64_t columns, std::int64_t blocks) {
  const formats::Grouping& grouping = matrix.codec.grouping();
  const std::size_t depth = depth_axis(matrix.transposed);
  Scales scales;
  bool any = false;
  for (std::int64_t c = 0; c < columns; ++c) {
    const std::int64_t of_column = c / grouping.box[1 - depth];
    for (std::int64_t b = 0; b < blocks; ++b) {
      const std::int64_t group =
          matrix.transposed ? of_column * grouping.grid[1] + b : b * grouping.grid[1] + of_column;
      const auto words =
          std::span(matrix.parameters).subspan(at(group) * matrix.codec.stride(), matrix.codec.stride());
      const auto scaled = matrix.codec.codec().scaled(words).value();
      scales.factors.push_back(scaled.factor);
      scales.zeros.push_back(scaled.zero);
      any = any || scaled.zero != 0;
    }
  }
  if (!any) scales.zeros.clear();
  return scales;
}

}  // namespace

bool packs(const TensorCodec& codec, bool transposed) {
  const formats::Grouping& grouping = codec.grouping();
  if (grouping.dims.size() != 2 || codec.bits() > 8 || codec.count() == 0) return false;
  std::vector<std::uint32_t> words(codec.stride());
  codec.codec().set_neutral(words);
  const auto scaled = codec.codec().scaled(words);
  if (!scaled || !scaled->halved.empty()) return false;
  return CodeMatrix::has_kind(table_of(codec)) && grouping.box[depth_axis(transposed)] >= kGroupRows;
}

std::unique_ptr<const FloatRhs> packed_weights(const PackedMatrix& matrix, ThreadPool& pool) {
  const TensorCodec& codec = matrix.codec;
  if (!packs(codec, matrix.transposed)) return nullptr;
  const formats::Grouping& grouping = codec.grouping();
  const std::size_t depth = depth_axis(matrix.transposed);
  CodeMatrix from{.k = grouping.dims[depth], .n = grouping.dims[1 - depth], .block = grouping.box[depth]};
  const std::vector<float> table = table_of(codec);
  from.table = table;
  const Scales scales = scales_of(matrix, from.n, from.blocks());
  from.factors = scales.factors.data();
  from.zeros = scales.zeros.empty() ? nullptr : scales.zeros.data();
  std::vector<formats::Code16> all;
  if (grouping.pack_axis == static_cast<std::int64_t>(depth)) {
    from.column = [&](std::int64_t column, std::uint8_t* codes) {
      codec.unpack_row(matrix.codes + column * codec.row_bytes(), at(from.k), codes);
    };
    return pack_codes(from, matrix.rounded);
  }
  all.resize(at(codec.count()));
  codec.unpack(matrix.codes, all.data(), pool);
  const std::int64_t row_stride = matrix.transposed ? 1 : from.n;
  const std::int64_t column_stride = matrix.transposed ? from.k : 1;
  from.column = [&, row_stride, column_stride](std::int64_t column, std::uint8_t* codes) {
    for (std::int64_t k = 0; k < from.k; ++k)
      codes[k] = static_cast<std::uint8_t>(all[at(k * row_stride + column * column_stride)]);
  };
  return pack_codes(from, matrix.rounded);
}

}  // namespace anybit::kernels
