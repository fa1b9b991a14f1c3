// Float matrix multiplication: MatMul, Gemm and ONNX Runtime's FusedMatMul.
#include <algorithm>

#include "float_gemm.hpp"
#include "nest.hpp"
#include "numbers.hpp"
#include "packed_tensor.hpp"

namespace anybit::cgen {
namespace {

// y[i, j] = alpha · Σ a[i, p] · b[p, j] + beta · c[i, j] for one matrix of a batch.
struct Matrices {
  std::int64_t m = 1, n = 1, k = 1;
  std::string a, b, y;                  // pointers
  Dims a_strides, b_strides;            // of rows and columns
  std::string alpha = "", first = "0";  // `first`: the expression of the addend
};

void emit_rows(Node& node, const Value& type, const Matrices& p) {
  const std::string add = add_products(node, type);
  node.loop("i", p.m);
  node.line("{} *row = {} + i * {};", type.c(), p.y, p.n);
  node.line("for (int32_t j = 0; j < {}; ++j) row[j] = {};", p.n, p.first);
  node.line("{}({}, {}, {} + i * {}, {}, {}, {}, row);", add, p.k, p.n, p.a, p.a_strides[0], p.a_strides[1],
            p.b, p.b_strides[0]);
  if (!p.alpha.empty()) node.line("for (int32_t j = 0; j < {}; ++j) row[j] *= {};", p.n, p.alpha);
  node.end();
}

void emit_sums(Node& node, const Value& in, const Matrices& p) {
  const std::string type(is_real(in) ? computed(in) : wrapping(in));
  node.loop("i", p.m);
  node.loop("j", p.n);
  node.line("{} s = 0;", type);
  node.loop("p", p.k);
  const std::string a = load(node, in, p.a, fmt::format("i * {} + p * {}", p.a_strides[0], p.a_strides[1]));
  const std::string b = load(node, in, p.b, fmt::format("p * {} + j * {}", p.b_strides[0], p.b_strides[1]));
  node.line("s += ({0}){1} * ({0}){2};", type, a, b);
  node.end();
  const std::string scaled = p.alpha.empty() ? "s" : "s * " + p.alpha;
  node.line("{}", store(node, node.out(), p.y, fmt::format("i * {} + j", p.n),
                        p.first == "0" ? scaled : scaled + " + " + p.first));
  node.end();
  node.end();
}

// Several rows at a time if rows of b are contiguous and the sum needs no epilogue before the addend.
void emit_matrices(Node& node, const Matrices& p) {
  const Value& in = node.in(0);
  const bool rows =
      in.info().kind == Kind::real && p.b_strides[1] == 1 && p.n > 1 && (p.alpha.empty() || p.first == "0");
  rows ? emit_rows(node, in, p) : emit_sums(node, in, p);
}

void emit_gemm(Node& node) {
  if (emit_packed_gemm(node)) return;
  const Value &a = node.in(0), &b = node.in(1), &out = node.out();
  const bool turned_a = node.flag("transA"), turned_b = node.flag("transB");
  Matrices p{out.dims[0], out.dims[1], a.dims[turned_a ? 0 : 1], node.x(0), "", node.y(), {}, {}};
  p.a_strides = turned_a ? Dims{1, a.dims[1]} : Dims{a.dims[1], 1};
  const bool turn = turned_b && node.constant(1) && b.info().kind == Kind::real && p.n > 1;
  p.b = turn ? transposed(node, b, b.dims[0], b.dims[1]) : node.x(1);
  p.b_strides = turned_b && !turn ? Dims{1, b.dims[1]} : Dims{p.n, 1};
  const float alpha = node.real("alpha", 1), beta = node.real("beta", 1);
  if (alpha != 1) p.alpha = number(a, alpha);
  if (node.has(2) && beta != 0) {
    const Dims strides = spread_strides(node.in(2).dims, out.dims);
    p.first = load(node, a, node.x(2), fmt::format("i * {} + j * {}", strides[0], strides[1]));
    if (beta != 1) p.first = fmt::format("{} * {}", number(a, beta), p.first);
  }
  emit_matrices(node, p);
}

// The dims of an operand as [batch…, rows, columns]; a vector is one row or one column.
Dims matrices(const Dims& dims, bool first) {
  if (dims.size() >= 2) return dims;
  return first ? Dims{1, dims[0]} : Dims{dims[0], 1};
}

void emit_batches(Node& node, float alpha, bool turned_a, bool turned_b) {
  const Dims a = matrices(node.in(0).dims, true), b = matrices(node.in(1).dims, false);
  const Dims a_batch(a.begin(), a.end() - 2), b_batch(b.begin(), b.end() - 2);
  Dims batch(std::max(a_batch.size(), b_batch.size()), 1);
  for (const Dims* one : {&a_batch, &b_batch}) {
    for (std::size_t i = 0; i < one->size(); ++i) {
      std::int64_t& size = batch[batch.size() - one->size() + i];
      if ((*one)[i] != 1) size = (*one)[i];
    }
  }
  const std::int64_t a_rows = a[a.size() - 2], a_columns = a.back(), b_rows = b[b.size() - 2],
                     b_columns = b.back();
  Matrices p{turned_a ? a_columns : a_rows,
             turned_b ? b_rows : b_columns,
             turned_a ? a_rows : a_columns,
             "",
             "",
             "",
             {},
             {}};
  p.a_strides = turned_a ? Dims{1, a_columns} : Dims{a_columns, 1};
  p.b_strides = turned_b ? Dims{1, b_columns} : Dims{b_columns, 1};
  if (alpha != 1) p.alpha = number(node.in(0), alpha);
  const auto walk = [&](const Dims& own, std::int64_t size) {
    Walk made{spread_strides(own, batch)};
    for (std::int64_t& stride : made.strides) stride *= size;
    return made;
  };
  // B is shared by all batches: merge them into one multiplication.
  if (b_batch.empty() && !turned_a) {
    for (const std::int64_t size : batch) p.m *= size;
    batch.clear();
  }
  const Nest nest(batch,
                  {walk(batch.empty() ? Dims() : a_batch, a_rows * a_columns),
                   walk(batch.empty() ? Dims() : b_batch, b_rows * b_columns), walk(batch, p.m * p.n)},
                  "n");
  nest.open(node);
  const auto at = [](const std::string& pointer, const std::string& place) {
    return place == "0" ? pointer : fmt::format("({} + {})", pointer, place);
  };
  p.a = at(node.x(0), nest.at(0));
  p.b = at(node.x(1), nest.at(1));
  p.y = at(node.y(), nest.at(2));
  emit_matrices(node, p);
  nest.close(node);
}

void emit_matmul(Node& node) {
  if (!emit_packed_gemm(node)) emit_batches(node, 1, false, false);
}

void emit_fused_matmul(Node& node) {
  if (node.flag("transBatchA") || node.flag("transBatchB"))
    node.refuse("transBatchA and transBatchB are not supported");
  emit_batches(node, node.real("alpha", 1), node.flag("transA"), node.flag("transB"));
}

}  // namespace

std::span<const Descriptor> matmul_descriptors() {
  static constexpr Descriptor all[] = {
      {"FusedMatMul", "com.microsoft", emit_fused_matmul},
      {"Gemm", "", emit_gemm},
      {"MatMul", "", emit_matmul},
  };
  return all;
}

}  // namespace anybit::cgen
