#include "ops/attention/scaled_dot_product.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/math.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/reduce/norm.hpp"
#include "kernels/reduce/softmax.hpp"

namespace anybit::ops {
namespace {

constexpr std::int64_t kScores = 1 << 16;  // scores computed at a time

template <class C>
void add_row(const C* x, std::int64_t n, C* y) {
  if constexpr (std::is_same_v<C, float>) {
    kernels::add_row(x, static_cast<std::size_t>(n), y);
  } else {
    for (std::int64_t i = 0; i < n; ++i) y[i] += x[i];
  }
}

// A range of queries of one head.
struct Part {
  std::int64_t batch, head, first, count;
};

template <class C>
class Worker {
 public:
  Worker(const Frame& frame, const AttentionCall<C>& all, const Part& part, C* scores)
      : frame_(frame),
        all_(all),
        part_(part),
        scores_(scores),
        kv_head_(part.head * all.kv_heads / all.heads) {}

  void work() const {
    const auto& [b, h, first, count] = part_;
    small_gemm(frame_, count, all_.keys, all_.size, all_.q.at(b, h, first), all_.q.row,
               all_.k.at(b, kv_head_), all_.k.row, true, all_.scale, scores_, all_.keys);
    for (std::int64_t i = 0; i < count; ++i) finish_row(first + i, scores_ + i * all_.keys);
    small_gemm(frame_, count, all_.v_size, all_.keys, scores_, all_.keys, all_.v.at(b, kv_head_), all_.v.row,
               false, 1, all_.y.at(b, h, first), all_.y.row);
  }

 private:
  void keep(Stage stage, std::int64_t query, const C* row) const {
    if (!all_.scores || all_.stage != stage) return;
    const std::int64_t at = (part_.batch * all_.heads + part_.head) * all_.queries + query;
    std::copy_n(row, all_.keys, all_.scores + at * all_.keys);
  }

  void finish_row(std::int64_t query, C* row) const {
    keep(Stage::product, query, row);
    if (all_.softcap > 0) {
      const auto cap = static_cast<C>(all_.softcap);
      for (std::int64_t j = 0; j < all_.keys; ++j) row[j] = math::tanh(row[j] / cap) * cap;
    }
    keep(Stage::capped, query, row);
    std::int64_t limit = all_.keys;
    if (all_.causal) limit = std::clamp<std::int64_t>(query + all_.causal_offset + 1, 0, limit);
    if (all_.key_counts) limit = std::clamp<std::int64_t>(all_.key_counts[part_.batch], 0, limit);
    for (const auto& bias : all_.biases) {
      if (bias.data) add_row(bias.at(part_.batch, part_.head, query), limit, row);
    }
    std::fill(row + limit, row + all_.keys, -std::numeric_limits<C>::infinity());
    keep(Stage::masked, query, row);
    // A query without valid keys is undefined: NaN, as 0 / 0.
    if (limit == 0) limit = all_.keys;
    softmax_in_place(row, limit);
    std::fill(row + limit, row + all_.keys, C(0));
    keep(Stage::softmax, query, row);
  }

  const Frame& frame_;
  const AttentionCall<C>& all_;
  const Part part_;
  C* scores_;
  std::int64_t kv_head_;
};

}  // namespace

void softmax_in_place(float* x, std::int64_t n) {
  kernels::softmax_rows(x, 1, static_cast<std::size_t>(n), false, x);
}

void softmax_in_place(double* x, std::int64_t n) {
  if (n == 0) return;
  double largest = x[0], sum = 0;
  for (std::int64_t i = 1; i < n; ++i) largest = x[i] > largest || std::isnan(x[i]) ? x[i] : largest;
  for (std::int64_t i = 0; i < n; ++i) sum += x[i] = math::exp(x[i] - largest);
  for (std::int64_t i = 0; i < n; ++i) x[i] /= sum;
}

template <class C>
void small_gemm(const Frame& frame, std::int64_t m, std::int64_t n, std::int64_t k, const C* a,
                std::int64_t a_row, const C* b, std::int64_t b_row, bool transposed, double alpha, C* c,
                std::int64_t c_row) {
  const std::int64_t down = transposed ? 1 : b_row, across = transposed ? b_row : 1;
  if constexpr (std::is_same_v<C, float>) {
    const kernels::PlainFloats right({b, down, across}, n);
    kernels::FloatGemmWork gemm{
        .m = m, .n = n, .k = k, .a = {a, a_row, 1}, .b = &right, .c = c, .c_stride = c_row};
    gemm.epilogue.alpha = static_cast<float>(alpha);
    kernels::gemm(gemm, frame.pool());
  } else {
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        C sum = 0;
        for (std::int64_t p = 0; p < k; ++p) sum += a[i * a_row + p] * b[p * down + j * across];
        c[i * c_row + j] = static_cast<C>(alpha) * sum;
      }
    }
  }
}
template void small_gemm(const Frame&, std::int64_t, std::int64_t, std::int64_t, const float*, std::int64_t,
                         const float*, std::int64_t, bool, double, float*, std::int64_t);
template void small_gemm(const Frame&, std::int64_t, std::int64_t, std::int64_t, const double*, std::int64_t,
                         const double*, std::int64_t, bool, double, double*, std::int64_t);

// The queries are processed in rounds of tasks; each task of a round has its own score buffer.
template <class C>
Result<void> attend(Frame& frame, const AttentionCall<C>& all) {
  if (all.batch * all.heads * all.queries == 0) return {};
  if (all.keys == 0) return wrong("there are no keys");
  const std::int64_t rows = std::clamp<std::int64_t>(kScores / all.keys, 1, all.queries);
  const std::int64_t parts = (all.queries + rows - 1) / rows, total = all.batch * all.heads * parts;
  const std::int64_t round = std::min<std::int64_t>(total, 4 * frame.pool().threads());
  const auto memory = TRY(frame.scratch_of<C>(round * rows * all.keys));
  for (std::int64_t begin = 0; begin < total; begin += round) {
    const auto body = [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t task = begin + i, head = task / parts, query = task % parts * rows;
        const Part part{head / all.heads, head % all.heads, query, std::min(rows, all.queries - query)};
        Worker<C>(frame, all, part, memory.data() + i * rows * all.keys).work();
      }
    };
    const double cost =
        static_cast<double>(rows * all.keys) * (0.05 * static_cast<double>(all.size + all.v_size) + 2);
    // A single task leaves the threads to its GEMMs.
    if (total == 1)
      body(0, 1);
    else
      parallel(frame, std::min(round, total - begin), cost, body);
  }
  return {};
}
template Result<void> attend(Frame&, const AttentionCall<float>&);
template Result<void> attend(Frame&, const AttentionCall<double>&);

}  // namespace anybit::ops
