#include "refine/unit_factor.hpp"

#include <algorithm>

#include "kernels/gemm/rank_update.hpp"

namespace anybit::quantizing {
namespace {

constexpr std::int64_t kBlock = 64;  // rows that are eliminated together

// Eliminates rows [begin, end) among themselves, in all columns behind them.
bool eliminate(Square& matrix, std::int64_t begin, std::int64_t end, double least) {
  const std::int64_t n = matrix.size;
  for (std::int64_t j = begin; j < end; ++j) {
    const double* const row = &matrix.data[static_cast<std::size_t>(j * n)];
    if (!(row[j] > least)) return false;
    for (std::int64_t i = j + 1; i < end; ++i) {
      double* const to = &matrix.data[static_cast<std::size_t>(i * n)];
      const double factor = row[i] / row[j];
      if (factor == 0) continue;
      for (std::int64_t k = i; k < n; ++k) to[k] -= factor * row[k];
    }
  }
  return true;
}

// Subtracts what rows [begin, end) contribute to the rows behind them.
void update(Square& matrix, std::int64_t begin, std::int64_t end, ThreadPool& pool) {
  const std::int64_t n = matrix.size, behind = n - end;
  if (behind == 0) return;
  kernels::RowPanels scaled(end - begin, behind), plain(end - begin, behind);
  for (std::int64_t j = begin; j < end; ++j) {
    const double* const row = &matrix.data[static_cast<std::size_t>(j * n)];
    for (std::int64_t k = 0; k < behind; ++k) {
      *plain.at(j - begin, k) = row[end + k];
      *scaled.at(j - begin, k) = -row[end + k] / row[j];
    }
  }
  const kernels::UpperTriangle rest{&matrix.at(end, end), n};
  pool.run(behind, 8 * kernels::kRankRows, [&](std::int64_t first, std::int64_t last) {
    kernels::add_products(scaled, plain, first, last, rest);
  });
}

}  // namespace

bool factorize(Square& matrix, double least, ThreadPool& pool) {
  const std::int64_t n = matrix.size;
  for (std::int64_t begin = 0; begin < n; begin += kBlock) {
    const std::int64_t end = std::min(n, begin + kBlock);
    if (!eliminate(matrix, begin, end, least)) return false;
    update(matrix, begin, end, pool);
  }
  for (std::int64_t j = 0; j < n; ++j) {
    double* const row = &matrix.data[static_cast<std::size_t>(j * n)];
    for (std::int64_t k = j + 1; k < n; ++k) row[k] /= row[j];
  }
  return true;
}

}  // namespace anybit::quantizing
