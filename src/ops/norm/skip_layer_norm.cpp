// ONNX Runtime's SkipLayerNormalization and SkipSimplifiedLayerNormalization (com.microsoft): input + skip +
// bias, normalized along the last axis; output 3 is the sum itself.
#include "ops/norm/stats.hpp"
#include "ops/reals.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  Values values = TRY(infer_same(call));
  if (values.size() > 3) values[3] = values[0];
  return values;
}

// A vector of n elements, or null if the input is omitted.
template <class C>
Result<const C*> vector_of(Frame& frame, std::size_t input, std::int64_t n, std::string_view what) {
  if (!frame.has(input)) return nullptr;
  TRY(expect_dims(frame, input, {n}, what));
  return TRY(reals_in<C>(frame, frame.in(input))).data();
}

// An output for the statistics of each row, as float32.
Result<float*> statistics_of(Frame& frame, std::size_t output, const Dims& dims) {
  if (!frame.wants(output)) return nullptr;
  Dims kept = dims;
  kept.back() = 1;
  return TRY(frame.out(output, ElementType::float32, kept))->mutable_data<float>();
}

template <class C, bool Centered>
Result<void> run_in(Frame& frame) {
  const Array& x = frame.in(0);
  const Dims& dims = x.dims();
  const std::int64_t n = dims.back(), rows = dims.product(0, dims.size() - 1);
  const Array& skip = frame.in(1);
  // A skip without a batch axis is the same for every sample.
  const Dims plain(std::span(dims.begin() + (skip.rank() < dims.size() ? 1 : 0), dims.end()));
  const bool one_batch = skip.rank() == dims.size() && skip.dim(0) == 1 &&
                         std::equal(plain.begin() + 1, plain.end(), skip.dims().begin() + 1);
  if (!one_batch) TRY(expect_dims(frame, 1, plain, "skip"));
  const std::int64_t skip_rows = n == 0 ? 1 : skip.count() / n;
  const C* from = TRY(reals_in<C>(frame, x)).data();
  const C* more = TRY(reals_in<C>(frame, skip)).data();
  const C* gamma = TRY(vector_of<C>(frame, 2, n, "gamma"));
  const C* beta = Centered ? TRY(vector_of<C>(frame, 3, n, "beta")) : nullptr;
  const C* bias = TRY(vector_of<C>(frame, Centered ? 4 : 3, n, "bias"));
  Array* y = TRY(frame.out(0, x.type(), dims));
  Array* total = frame.wants(3) ? TRY(frame.out(3, x.type(), dims)) : nullptr;
  float* means = Centered ? TRY(statistics_of(frame, 1, dims)) : nullptr;
  float* inverses = TRY(statistics_of(frame, 2, dims));
  auto to = TRY(RealOutput<C>::make(frame, y));
  auto sums = total ? std::optional(TRY(RealOutput<C>::make(frame, total))) : std::nullopt;
  const double epsilon = frame.real("epsilon", 1e-12);
  parallel(frame, rows, static_cast<double>(n) + 10, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t r = first; r < last; ++r) {
      C* sum = (sums ? sums->data() : to.data()) + r * n;
      const C* a = from + r * n;
      const C* b = more + r % skip_rows * n;
      for (std::int64_t i = 0; i < n; ++i) sum[i] = a[i] + b[i];
      for (std::int64_t i = 0; bias && i < n; ++i) sum[i] += bias[i];
      kernels::Moments found;
      if (Centered)
        found = row_moments(sum, n);
      else
        found.variance = row_sum(kernels::Summand::square, sum, n) / static_cast<double>(n);
      const double inverse = 1 / std::sqrt(found.variance + epsilon);
      if (means) means[r] = static_cast<float>(found.mean);
      if (inverses) inverses[r] = static_cast<float>(inverse);
      normalize_row(sum, n, found.mean, inverse, gamma, beta, to.data() + r * n);
    }
  });
  to.finish();
  if (sums) sums->finish();
  return {};
}

template <bool Centered>
Result<void> run(Frame& frame) {
  const std::size_t rank = frame.in(0).rank();
  if (rank != 2 && rank != 3) {
    return wrong(fmt::format("input 0 is {}", to_string(frame.in(0))), "batch, sequence, hidden size");
  }
  if (!for_real(frame.in(0).type(), [](auto) {})) return wrong_type(frame, 0);
  return wants_double(frame.in(0).type()) ? run_in<double, Centered>(frame) : run_in<float, Centered>(frame);
}

}  // namespace

std::span<const Descriptor> skip_layer_norm_descriptors() {
  static const Descriptor all[] = {
      {.name = "SkipLayerNormalization",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer,
       .run = run<true>,
       .required = 3,
       .traits = computes_sensitive({0, 1})},
      {.name = "SkipSimplifiedLayerNormalization",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer,
       .run = run<false>,
       .required = 3,
       .traits = computes_sensitive({0, 1})},
  };
  return all;
}

}  // namespace anybit::ops
