#include "integer_gemm.hpp"

#include <algorithm>
#include <cstdlib>

#include "nest.hpp"
#include "numbers.hpp"
#include "tiles.hpp"
#include "vnni.hpp"

namespace anybit::cgen {
namespace {

// Shapes of MatMul: vectors are matrices of one row or column.
struct Sizes {
  std::int64_t m = 1, n = 1, k = 1;
  Dims a_batch = {}, b_batch = {}, batch = {};
};

Sizes sizes_of(const Node& node, const IntegerGemmWork& work) {
  if (work.m > 0) return {work.m, work.n, work.k};
  const Dims &a = node.in(work.a).dims, &b = node.in(work.b).dims;
  if (a.empty() || b.empty()) node.refuse("a multiplication of scalars");
  Sizes s;
  s.k = work.trans_a ? a[a.size() - 2] : a.back();
  if (a.size() > 1) s.m = work.trans_a ? a.back() : a[a.size() - 2];
  if (b.size() > 1) s.n = work.trans_b ? b[b.size() - 2] : b.back();
  if (a.size() > 2) s.a_batch.assign(a.begin(), a.end() - 2);
  if (b.size() > 2) s.b_batch.assign(b.begin(), b.end() - 2);
  const std::size_t rank = std::max(s.a_batch.size(), s.b_batch.size());
  for (std::size_t i = 0; i < rank; ++i) {
    const auto at = [&](const Dims& dims) {
      return i + dims.size() < rank ? std::int64_t{1} : dims[i + dims.size() - rank];
    };
    s.batch.push_back(at(s.a_batch) == 1 ? at(s.b_batch) : at(s.a_batch));
  }
  return s;
}

std::int64_t largest(const ElementInfo& type, const Term& zero) {
  return zero.none() ? std::max(type.high, -type.low) : type.high - type.low;
}

// The largest column sum of |B|, without zero points; exact for a constant.
std::int64_t largest_column(const Node& node, const IntegerGemmWork& work, const Sizes& s) {
  const Value& b = node.in(work.b);
  const std::int64_t most = largest(b.info(), work.b_zero) * s.k;
  if (!b.constant() || !work.b_zero.none() || b.count() != s.k * s.n) return most;
  const auto quantized = node.integers_in(work.b, "the weights");
  std::vector<std::int64_t> sums(static_cast<std::size_t>(s.n));
  for (std::int64_t i = 0; i < s.k * s.n; ++i)
    sums[static_cast<std::size_t>(work.trans_b ? i / s.k : i % s.n)] +=
        std::abs(quantized[static_cast<std::size_t>(i)]);
  return sums.empty() ? most : *std::ranges::max_element(sums);
}

// The range of the accumulators.
struct Sums {
  bool wide;                   // more than 32 bits
  std::optional<Parts> parts;  // parts of A whose accumulators fit 32 bits; empty: none
};

Sums sums_of(const Node& node, const IntegerGemmWork& work, const Sizes& s) {
  const std::int64_t a = largest(info(work.a_type), work.a_zero), column = largest_column(node, work, s);
  return {a * column > INT32_MAX - work.largest_bias, parts_for(a, column)};
}

// Converts `sum` to an element of the output.
std::string finished(Node& node, const IntegerGemmWork& work, std::string_view sum) {
  const Value& out = node.out();
  if (out.type == Element::int32) return fmt::format("(int32_t){}", sum);
  std::string real = work.bias.none() ? fmt::format("(float){}", sum)
                                      : fmt::format("(float)({} + {})", sum, work.bias.expression);
  real += fmt::format(" * {}", work.factor.expression);
  if (is_integer(out)) return to_code(node, real, work.y_zero, out.info());
  return work.addend.none() ? real : fmt::format("{} + {}", real, work.addend.expression);
}

std::string store_at(Node& node, const std::string& index, const std::string& value) {
  return store(node, node.out(), node.y(), index, value);
}

void emit_plain(Node& node, const IntegerGemmWork& work, const Sizes& s, bool wide) {
  const std::string a = work.a_quantized.empty() ? node.x(work.a) : work.a_quantized, b = node.x(work.b);
  Dims matrices{s.batch};
  const auto batch_strides = [&](const Dims& dims, std::int64_t size) {
    Dims strides = spread_strides(dims, s.batch);
    for (std::int64_t& one : strides) one *= size;
    return strides;
  };
  const Nest nest(s.batch, {{batch_strides(s.batch, s.m * s.n)},
                            {batch_strides(s.a_batch, s.m * s.k)},
                            {batch_strides(s.b_batch, s.k * s.n)}});
  nest.open(node);
  node.loop("row", s.m);
  node.loop("column", s.n);
  node.line("{} sum = 0;", wide ? "int64_t" : "int32_t");
  node.loop("k", s.k);
  const auto less = [&](const std::string& array, const std::string& index, const Term& zero) {
    const std::string element = fmt::format("{}{}[{}]", wide ? "(int64_t)" : "", array, index);
    return zero.none() ? element : fmt::format("({} - {})", element, zero.expression);
  };
  const std::string a_index =
      fmt::format("{} + {}", nest.at(1),
                  work.trans_a ? fmt::format("k * {} + row", s.m) : fmt::format("row * {} + k", s.k));
  const std::string b_index =
      fmt::format("{} + {}", nest.at(2),
                  work.trans_b ? fmt::format("column * {} + k", s.k) : fmt::format("k * {} + column", s.n));
  node.line("sum += {} * {};", less(a, a_index, work.a_zero), less(b, b_index, work.b_zero));
  node.end();
  node.line("{}", store_at(node, fmt::format("{} + row * {} + column", nest.at(0), s.n),
                           finished(node, work, "sum")));
  node.end();
  node.end();
  nest.close(node);
}

// Packs a constant matrix in panels of 16 columns with interleaved pairs of rows, zero-padded.
std::string panels_of(Node& node, const IntegerGemmWork& work, const Sizes& s, std::int64_t depth,
                      std::int64_t zeros) {
  const auto quantized = node.integers_in(work.b, "the weights");
  const std::int64_t panels = (s.n + kTileColumns - 1) / kTileColumns;
  const Value& b = node.in(work.b);
  const auto width = static_cast<std::size_t>(b.info().bytes);
  const std::int64_t count = panels * depth * kTileColumns + zeros;
  std::string bytes(static_cast<std::size_t>(count) * width, '\0');
  for (std::int64_t k = 0; k < s.k; ++k) {
    for (std::int64_t j = 0; j < s.n; ++j) {
      const std::int64_t at =
          j / kTileColumns * depth * kTileColumns + (k / 2 * kTileColumns + j % kTileColumns) * 2 + k % 2;
      const std::int64_t code = quantized[static_cast<std::size_t>(work.trans_b ? j * s.k + k : k * s.n + j)];
      // Little endian, like constants.
      for (std::size_t i = 0; i < width; ++i)
        bytes[static_cast<std::size_t>(at) * width + i] = static_cast<char>(code >> (8 * i));
    }
  }
  return node.array(b.type, bytes.data(), count);
}

// Computes `sums` from a panel and the rows of A, or of parts of them that are `apart`.
void emit_tiles(Node& node, const Value& b, const Parts& parts, const std::string& panel,
                const std::string& rows, std::int64_t apart, const std::string& filled, std::int64_t depth) {
  if (!is_byte(b)) need_tile(node);
  const std::string tile = is_byte(b) ? need_byte_tile(node, b) : "tile",
                    step = is_byte(b) ? "" : fmt::format("{}, ", 2 * kTileColumns);
  for (std::int64_t i = 0; i < parts.count; ++i)
    node.line("{}({}, {}{}, {}, {}, sums + {});", tile, panel, step,
              i == 0 ? rows : fmt::format("{} + {}", rows, i * apart), filled, depth, i * kTileSums);
}

// Shared parts of the int16-pair and dot4 tiles.
struct Tiled {
  Value a;
  std::string quantized = {};  // pointer to A
  std::string taken = {};      // scratch memory for rows of A: pointers to int16
  std::string panels = {};     // pointer to the panels of B
  std::int64_t rows = 1, depth = 0;
};

void open_rows(Node& node, const Tiled& how, std::int64_t height) {
  node.open("for (int32_t first = 0; first < {}; first += {})", how.rows, height);
  node.line("const int32_t filled = {0} - first < {1} ? {0} - first : {1};", how.rows, height);
}

void open_panels(Node& node, const Sizes& s, std::int64_t sums) {
  node.open("for (int32_t panel = 0; panel < {}; panel += {})", s.n, kTileColumns);
  node.line("const int32_t wanted = {0} - panel < {1} ? {0} - panel : {1};", s.n, kTileColumns);
  node.line("int32_t sums[{}];", sums);
}

// Stores a panel's sums to the output; ends the loop over panels and the one over rows.
void emit_elements(Node& node, const IntegerGemmWork& work, const Sizes& s, std::string_view type,
                   const std::string& sum) {
  node.open("for (int32_t r = 0; r < filled; ++r)");
  node.open("for (int32_t j = 0; j < wanted; ++j)");
  node.line("const int32_t row = first + r, column = panel + j;");
  node.line("const {} sum = {};", type, sum);
  node.line("{}", store_at(node, fmt::format("row * {} + column", s.n), finished(node, work, "sum")));
  for (int i = 0; i < 4; ++i) node.end();
}

std::string less_totals(const IntegerGemmWork& work) {
  return work.b_zero.none() ? ""
                            : fmt::format(" - (uint32_t)totals[r] * (uint32_t){}", work.b_zero.expression);
}

void emit_binary(Node& node, const IntegerGemmWork& work, const Sizes& s, const Sums& sums,
                 const Tiled& how) {
  const Parts parts = *sums.parts;
  const std::int64_t height = how.rows == 1 ? 1 : kTileRows, depth = how.depth;
  open_rows(node, how, height);
  node.line("{}({} + first * {}, {}, filled, {}, {}, {}, &a_zero, 0);", need_widen(node, how.a),
            how.quantized, s.k, how.taken, height, s.k, depth);
  emit_split(node, parts, how.taken, height * depth);
  if (!work.b_zero.none()) {
    node.line("int32_t totals[{}] = {{0}};", height);
    node.loop("r", height);
    node.line("for (int32_t k = 0; k < {1}; ++k) totals[r] += {0}[r * {1} + k];", how.taken, depth);
    node.end();
  }
  open_panels(node, s, kTileSums * (parts.count - 1) + height * kTileColumns);
  emit_tiles(node, node.in(work.b), parts, fmt::format("{} + panel * {}", how.panels, depth), how.taken,
             height * depth, height == 1 ? "1" : "filled", depth);
  const std::string at = fmt::format("r * {} + j", kTileColumns);
  if (sums.wide) {
    emit_elements(node, work, s, "int64_t", parts.sum("sums", kTileSums, at));
  } else if (work.b_zero.none()) {
    emit_elements(node, work, s, "int32_t", fmt::format("sums[{}]", at));
  } else {
    emit_elements(node, work, s, "int32_t",
                  fmt::format("(int32_t)((uint32_t)sums[{}]{})", at, less_totals(work)));
  }
}

// Multiplies A minus the lowest integer by B; an extra row of ones gives the zero-point correction.
void emit_dot4(Node& node, const IntegerGemmWork& work, const Sizes& s, const Tiled& how) {
  const std::int64_t height = std::min(how.rows, kDot4TileRows - 1), depth = dot4_depth(s.k);
  need_dot4_panel(node);
  node.line("const int32_t above = a_zero - ({});", how.a.info().low);
  node.line("uint8_t *rows = (uint8_t *){};", how.taken);
  open_rows(node, how, height);
  node.line("{}({} + first * {}, rows, filled, {}, {});", need_shift(node, how.a), how.quantized, s.k, s.k,
            depth);
  node.line("for (int32_t k = 0; k < {0}; ++k) rows[filled * {0} + k] = k < {1};", depth, s.k);
  if (!work.b_zero.none()) {
    node.line("int32_t totals[{}];", height);
    node.open("for (int32_t r = 0; r < filled; ++r)");
    node.line("totals[r] = -above * {};", s.k);
    node.line("for (int32_t k = 0; k < {}; ++k) totals[r] += rows[r * {} + k];", s.k, depth);
    node.end();
  }
  open_panels(node, s, (height + 1) * kTileColumns);
  node.line("dot4_panel({} + panel * {}, rows, filled + 1, {}, sums);", how.panels, how.depth, depth);
  emit_elements(node, work, s, "int32_t",
                fmt::format("(int32_t)((uint32_t)sums[r * {0} + j] - (uint32_t)above * (uint32_t)sums[filled "
                            "* {0} + j]{1})",
                            kTileColumns, less_totals(work)));
}

void emit_tiled(Node& node, const IntegerGemmWork& work, const Sizes& s, const Sums& sums) {
  const std::int64_t parts = sums.parts->count;
  const bool dot4_groups = !sums.wide && node.in(work.b).type == Element::int8 && info(work.a_type).bits == 8;
  Tiled how{.a = node.in(work.a), .depth = tile_depth(s.k)};
  how.a.type = work.a_type;
  how.quantized = work.a_quantized.empty() ? node.x(work.a) : work.a_quantized;
  for (const std::int64_t one : s.batch) how.rows *= one;
  how.rows *= s.m;
  std::int64_t bytes = 2 * (how.rows == 1 ? 1 : kTileRows) * how.depth * parts;
  if (dot4_groups) bytes = std::max(bytes, std::min(how.rows + 1, kDot4TileRows) * dot4_depth(s.k));
  how.taken = node.scratch("int16_t", bytes / 2);
  how.panels =
      panels_of(node, work, s, how.depth, dot4_groups ? (dot4_depth(s.k) - how.depth) * kTileColumns : 0);
  node.line("const int32_t a_zero = {};", work.a_zero.none() ? "0" : work.a_zero.expression);
  if (!dot4_groups) return emit_binary(node, work, s, sums, how);
  node.line("#if defined(VNNI)");
  emit_dot4(node, work, s, how);
  node.line("#else");
  emit_binary(node, work, s, sums, how);
  node.line("#endif");
}

}  // namespace

void emit_integer_gemm(Node& node, const IntegerGemmWork& work) {
  const Sizes s = sizes_of(node, work);
  if (node.out().count() == 0) return;
  const Sums sums = sums_of(node, work, s);
  const Value& b = node.in(work.b);
  // Operands minus zero points must fit 16 bits.
  const bool narrow = (is_byte(b) || (b.type == Element::int16 && work.b_zero.none())) &&
                      (info(work.a_type).bits == 8 || (work.a_type == Element::int16 && work.a_zero.none()));
  // A 32-bit output wraps around.
  const bool fits = !sums.wide || (sums.parts && work.b_zero.none() && node.out().type != Element::int32);
  const bool tiled = narrow && fits && b.constant() && (b.rank() == 2 || work.m > 0) && !work.trans_a &&
                     !node.small() && !node.quick() && work.a_zero.by == Term::By::all && s.k > 0;
  if (tiled) return emit_tiled(node, work, s, sums);
  emit_plain(node, work, s, sums.wide);
}

}  // namespace anybit::cgen
