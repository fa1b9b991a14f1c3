// LRN: local response normalization across channels: divides each element by a power of a sum of squares over
// neighbouring channels. ONNX: -1, -13.

#include "base/math.hpp"
#include "ops/reals.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

struct Window {
  std::int64_t size, before, after;  // channels
  double alpha, beta, bias;
};

// One sample, [channels, inner], positions [first, last).
template <class C>
void normalize(const Window& window, const C* x, std::int64_t channels, std::int64_t inner,
               std::int64_t first, std::int64_t last, C* y) {
  for (std::int64_t c = 0; c < channels; ++c) {
    const std::int64_t low = std::max<std::int64_t>(0, c - window.before);
    const std::int64_t high = c < channels - window.after ? c + window.after : channels - 1;
    for (std::int64_t i = first; i < last; ++i) {
      double sum = 0;
      for (std::int64_t k = low; k <= high; ++k) {
        const auto v = static_cast<double>(x[k * inner + i]);
        sum += v * v;
      }
      const double base = window.bias + window.alpha / static_cast<double>(window.size) * sum;
      y[c * inner + i] =
          static_cast<C>(static_cast<double>(x[c * inner + i]) * math::pow(base, -window.beta));
    }
  }
}

template <class C>
Result<void> run_in(Frame& frame) {
  const Array& x = frame.in(0);
  if (x.rank() < 2) return wrong(fmt::format("input 0 is {}", to_string(x)), "batch, channels, …");
  const std::int64_t size = frame.integer("size", 0);
  if (size < 1) return wrong(fmt::format("size is {}", size), "a number of channels");
  const std::int64_t channels = x.dim(1), inner = x.dims().product(2, x.rank());
  const Window window{size,
                      std::min((size - 1) / 2, channels),
                      std::min(size / 2, channels),
                      frame.real("alpha", 1e-4),
                      frame.real("beta", 0.75),
                      frame.real("bias", 1)};
  const auto from = TRY(reals_in<C>(frame, x));
  auto to = TRY(RealOutput<C>::make(frame, TRY(frame.out(0, x.type(), x.dims()))));
  if (x.count() == 0) return {};
  constexpr std::int64_t kPart = 64;
  const std::int64_t parts = (inner + kPart - 1) / kPart;
  const double cost = 30.0 * static_cast<double>(channels * kPart);
  parallel(frame, x.dim(0) * parts, cost, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t at = i / parts * channels * inner, begin = i % parts * kPart;
      normalize(window, from.data() + at, channels, inner, begin, std::min(inner, begin + kPart),
                to.data() + at);
    }
  });
  to.finish();
  return {};
}

Result<void> run(Frame& frame) {
  if (!for_real(frame.in(0).type(), [](auto) {})) return wrong_type(frame, 0);
  return wants_double(frame.in(0).type()) ? run_in<double>(frame) : run_in<float>(frame);
}

}  // namespace

std::span<const Descriptor> lrn_descriptors() {
  static const Descriptor all[] = {{.name = "LRN",
                                    .domain = "",
                                    .since = {1, 13},
                                    .infer = infer_same,
                                    .run = run,
                                    .pairwise = true,
                                    .traits = computes_sensitive()}};
  return all;
}

}  // namespace anybit::ops
