// Det: determinants of square matrices, by Gaussian elimination with partial pivoting. ONNX: Det-11, -22.
#include <algorithm>
#include <cmath>

#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  auto shape = call.in(0).shape;
  if (shape && shape->size() < 2) return wrong("the input must hold square matrices");
  if (shape) shape->resize(shape->size() - 2);
  return outputs_of(call, tensor(call.in(0).type, std::move(shape)));
}

// Overwrites the matrix.
double determinant(std::span<double> matrix, std::int64_t n) {
  const auto row = [&](std::int64_t i) { return matrix.begin() + i * n; };
  double result = 1;
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < n; ++i) {
      if (std::abs(row(i)[k]) > std::abs(row(pivot)[k])) pivot = i;
    }
    if (pivot != k) {
      std::swap_ranges(row(k), row(k) + n, row(pivot));
      result = -result;
    }
    result *= row(k)[k];
    if (row(k)[k] == 0) return result;
    for (std::int64_t i = k + 1; i < n; ++i) {
      const double factor = row(i)[k] / row(k)[k];
      for (std::int64_t j = k; j < n; ++j) row(i)[j] -= factor * row(k)[j];
    }
  }
  return result;
}

Result<void> run(Frame& frame) {
  const Array& input = frame.in(0);
  const std::size_t rank = input.rank();
  if (rank < 2 || input.dim(rank - 1) != input.dim(rank - 2))
    return wrong(fmt::format("the input is {}", to_string(frame.datum(0))), "square matrices");
  const std::int64_t n = input.dim(rank - 1);
  Dims dims = input.dims();
  dims.resize(rank - 2);
  if (!for_real(input.type(), [](auto) {})) return wrong_type(frame, 0);
  Array* out = TRY(frame.out(0, input.type(), dims));
  const auto scratch = TRY(frame.scratch_of<double>(n * n));
  for_real(input.type(), [&]<class T>(T) {
    for (std::int64_t i = 0; i < out->count(); ++i) {
      const T* matrix = input.data<T>() + i * n * n;
      std::transform(matrix, matrix + n * n, scratch.begin(),
                     [](T element) { return static_cast<double>(static_cast<Computed<T>>(element)); });
      out->mutable_data<T>()[i] = static_cast<T>(static_cast<Computed<T>>(determinant(scratch, n)));
    }
  });
  return {};
}

}  // namespace

std::span<const Descriptor> det_descriptors() {
  static const Descriptor all[] = {
      {.name = "Det", .domain = "", .since = {11, 22}, .infer = infer, .run = run, .pairwise = true}};
  return all;
}

}  // namespace anybit::ops
