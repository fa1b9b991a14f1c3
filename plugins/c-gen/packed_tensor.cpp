#include "packed_tensor.hpp"

#include <algorithm>

#include "float_gemm.hpp"
#include "nest.hpp"
#include "numbers.hpp"
#include "packed.hpp"
#include "table_codes.hpp"

namespace anybit::cgen {
namespace {

// Index of the scale of element (r, j) of a matrix.
std::string scale_place(const Node& node, const Value& x, const Value& scale) {
  if (scale.count() == 1) return "0";
  const std::size_t axis = node.axis(node.integer("axis", 1), x.rank());
  const std::int64_t block = node.integer("block_size", 0);
  if (block == 0) return axis == 0 ? "r" : "j";
  return axis == 0 ? fmt::format("r / {} * {} + j", block, x.dims[1])
                   : fmt::format("r * {} + j / {}", scale.dims[1], block);
}

void emit_dequantized_row(Node& node) {
  const Value &x = node.in(0), &scale = node.in(1);
  const std::string place = scale_place(node, x, scale);
  node.loop("j", x.dims[1]);
  node.line("const int32_t i = r * {} + j;", x.dims[1]);
  std::string real;
  if (is_integer(x)) {
    const std::string whole = is_packed(x) ? packed_element(node, 0, "i") : node.x(0) + "[i]";
    real = node.has(2) ? fmt::format("(float)({} - {})", whole, load(node, node.in(2), node.x(2), place))
                       : fmt::format("(float){}", whole);
  } else {
    real = load(node, x, node.x(0), "i");
  }
  node.line("to[j] = {} * {};", real, load(node, scale, node.x(1), place));
  node.end();
}

// Dot product of two rows, in eight partial sums so that compilers vectorize it.
constexpr std::string_view kDot =
    R"(static float dot(const float *restrict a, const float *restrict b, int32_t count) {
  float parts[8] = {0}, sum = 0;
  const int32_t whole = count / 8 * 8;
  for (int32_t i = 0; i < whole; i += 8)
    for (int32_t j = 0; j < 8; ++j) parts[j] += a[i + j] * b[i + j];
  for (int32_t i = whole; i < count; ++i) sum += a[i] * b[i];
  return sum + ((parts[0] + parts[4]) + (parts[2] + parts[6])) + ((parts[1] + parts[5]) + (parts[3] + parts[7]));
})";

struct SizesPackedTensor {
  std::int64_t m, n, k;
};

// The operands and the result as floats, and the decoder of a row of B.
struct Matrices {
  std::string a, y;
  std::optional<std::string> decode;  // the decoder; none: elements have a type that C lacks
  std::string first, alpha;           // the addend of element (i, j); the factor of products

  void emit_row(Node& node, std::string_view row, std::int64_t count, const std::string& to) const {
    if (decode) return node.line("{}({}, {});", *decode, row, to);
    node.line("for (int32_t p = 0; p < {}; ++p) {}[p] = {};", count, to,
              load(node, node.in(1), node.x(1), fmt::format("{} * {} + p", row, count)));
  }
};

// B by rows: each row adds to all columns of the result.
void emit_by_depth(Node& node, const SizesPackedTensor& s, const Matrices& all) {
  const std::string line = node.scratch("float", s.n);
  node.line("for (int32_t i = 0; i < {}; ++i)", s.m);
  node.line("  for (int32_t j = 0; j < {}; ++j) {}[i * {} + j] = {};", s.n, all.y, s.n, all.first);
  node.loop("k", s.k);
  all.emit_row(node, "k", s.n, line);
  node.loop("i", s.m);
  node.line("const float a = {}{}[i * {} + k];", all.alpha, all.a, s.k);
  node.line("for (int32_t j = 0; j < {0}; ++j) {1}[i * {0} + j] += a * {2}[j];", s.n, all.y, line);
  node.end();
  node.end();
}

// B is transposed: each row gives one column of the result.
void emit_by_column(Node& node, const SizesPackedTensor& s, const Matrices& all) {
  need_dot(node);
  const std::string line = node.scratch("float", s.k);
  node.loop("j", s.n);
  all.emit_row(node, "j", s.k, line);
  node.line("for (int32_t i = 0; i < {}; ++i) {}[i * {} + j] = {}dot({} + i * {}, {}, {}) + {};", s.m, all.y,
            s.n, all.alpha, all.a, s.k, line, s.k, all.first);
  node.end();
}

// The bias C of Gemm.
std::string addend(Node& node) {
  const float beta = node.real("beta", 1);
  if (!node.has(2) || beta == 0) return "0";
  const Dims strides = spread_strides(node.in(2).dims, node.out().dims);
  const std::string place = fmt::format("i * {} + j * {}", strides[0], strides[1]);
  return (beta == 1 ? "" : literal(beta) + " * ") + load(node, node.in(2), node.x(2), place);
}

}  // namespace

void need_dot(Node& node) { node.helper("dot", kDot); }

bool emit_row_decoder(Node& decode) {
  if (decode.out().rank() != 2 || decode.out().type != Element::float32) return false;
  if (decode.op() == "TableDecode") return emit_table_row(decode);
  if (decode.op() != "DequantizeLinear" || !decode.constant(0) || !decode.constant(1)) return false;
  emit_dequantized_row(decode);
  return true;
}

bool emit_packed_gemm(Node& node) {
  const Value &a = node.in(0), &b = node.in(1), &out = node.out();
  const bool small = out.info().kind == Kind::small_real && b.type == out.type;
  const bool fits = b.rank() == 2 && a.rank() >= 1 && !node.flag("transA");
  if (!fits || (!small && out.type != Element::float32)) return false;
  const auto decode = small ? std::nullopt : node.row_decoder(1);
  if (!small && !decode) return false;
  const bool turned = node.flag("transB");
  const SizesPackedTensor s{a.count() / a.dims.back(), b.dims[turned ? 0 : 1], a.dims.back()};
  const float alpha = node.real("alpha", 1);
  const Computing to = computing(node);
  const Matrices all{computed_input(node, 0), to.y, decode, addend(node),
                     alpha == 1 ? "" : literal(alpha) + " * "};
  (turned ? emit_by_column : emit_by_depth)(node, s, all);
  to.keep(node);
  return true;
}

}  // namespace anybit::cgen
