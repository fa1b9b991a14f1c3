// The factorization H = U·D·Uᵀ of a symmetric positive definite matrix, with U unit upper triangular.
// Rounding weights one after another, with the errors of earlier ones weighted by U as feedback, is GPTQ
// (Frantar et al., ICLR 2023): U is what the Cholesky factor of H⁻¹ gives, without the inverse (LDLQ: Chee et
// al., NeurIPS 2023).
#pragma once

#include <cstdint>
#include <vector>

#include "base/thread_pool.hpp"

namespace anybit::quantizing {

// A square matrix; of a symmetric one the upper triangle is used.
struct Square {
  std::int64_t size = 0;
  std::vector<double> data;

  explicit Square(std::int64_t n = 0) : size(n), data(static_cast<std::size_t>(n * n)) {}
  double& at(std::int64_t i, std::int64_t k) { return data[static_cast<std::size_t>(i * size + k)]; }
  double at(std::int64_t i, std::int64_t k) const { return data[static_cast<std::size_t>(i * size + k)]; }
};

// Replaces the upper triangle of H, given in reverse order, by the transposed unit factor L of H = L·D·Lᵀ: of
// the matrix in its own order this is U. Returns false if a pivot is not above `least`. The result is the
// same for any number of threads.
bool factorize(Square& matrix, double least, ThreadPool& pool);

}  // namespace anybit::quantizing
