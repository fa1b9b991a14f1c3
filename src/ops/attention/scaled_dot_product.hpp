// Scaled dot-product attention, softmax(scale · Q·Kᵀ + masks) · V per head: shared by all attention
// operators.
#pragma once

#include <array>

#include "ops/reals.hpp"

namespace anybit::ops {

// A strided view of heads: element i of (batch, head, position) is data[b · batch + h · head + s · row + i].
template <class T>
struct HeadsView {
  T* data = nullptr;
  std::int64_t batch = 0, head = 0, row = 0;

  T* at(std::int64_t b, std::int64_t h, std::int64_t s = 0) const {
    return data + b * batch + h * head + s * row;
  }
};
// [batch, heads, positions, size]
template <class T>
HeadsView<T> heads_first(T* data, std::int64_t heads, std::int64_t positions, std::int64_t size) {
  return {data, heads * positions * size, positions * size, size};
}
// [batch, positions, heads · size], in rows of `row` elements
template <class T>
HeadsView<T> heads_last(T* data, std::int64_t positions, std::int64_t size, std::int64_t row) {
  return {data, positions * row, size, row};
}

// The stage at which the scores are an output; numbered as in ONNX (qk_matmul_output_mode).
enum class Stage { product, capped, masked, softmax };

template <class C>
struct AttentionCall {
  std::int64_t batch = 0, heads = 0, kv_heads = 0, queries = 0, keys = 0, size = 0, v_size = 0;
  HeadsView<const C> q = {}, k = {}, v = {};
  HeadsView<C> y = {};
  double scale = 1, softcap = 0;
  // Added to the scores; rows have `keys` elements, a stride of 0 broadcasts. Null: none.
  std::array<HeadsView<const C>, 2> biases = {};
  // Key j counts for query i if j ≤ i + causal_offset.
  bool causal = false;
  std::int64_t causal_offset = 0;
  const std::int64_t* key_counts = nullptr;  // valid keys of each batch entry; null: all
  C* scores = nullptr;                       // an output, [batch, heads, queries, keys]; may be null
  Stage stage = Stage::product;
};

template <class C>
Result<void> attend(Frame& frame, const AttentionCall<C>& all);
extern template Result<void> attend(Frame&, const AttentionCall<float>&);
extern template Result<void> attend(Frame&, const AttentionCall<double>&);

// Small GEMM: C = alpha · A·Bᵀ (transposed) or alpha · A·B; rows are `*_row` elements apart.
template <class C>
void small_gemm(const Frame& frame, std::int64_t m, std::int64_t n, std::int64_t k, const C* a,
                std::int64_t a_row, const C* b, std::int64_t b_row, bool transposed, double alpha, C* c,
                std::int64_t c_row);
extern template void small_gemm(const Frame&, std::int64_t, std::int64_t, std::int64_t, const float*,
                                std::int64_t, const float*, std::int64_t, bool, double, float*, std::int64_t);
extern template void small_gemm(const Frame&, std::int64_t, std::int64_t, std::int64_t, const double*,
                                std::int64_t, const double*, std::int64_t, bool, double, double*,
                                std::int64_t);

// `to` = `past` and `now` concatenated along the positions, as [batch, heads, positions, size].
template <class C>
void join_heads(std::int64_t batch, std::int64_t heads, std::int64_t size, HeadsView<const C> past,
                std::int64_t past_positions, HeadsView<const C> now, std::int64_t positions, C* to) {
  const std::int64_t total = past_positions + positions;
  for (std::int64_t i = 0; i < batch * heads * total; ++i) {
    const std::int64_t s = i % total, h = i / total % heads, b = i / total / heads;
    const C* from = s < past_positions ? past.at(b, h, s) : now.at(b, h, s - past_positions);
    std::copy_n(from, size, to + i * size);
  }
}

// Softmax over n elements, in place.
void softmax_in_place(float* x, std::int64_t n);
void softmax_in_place(double* x, std::int64_t n);

}  // namespace anybit::ops
