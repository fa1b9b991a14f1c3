#include "ops/elementwise/real_unary.hpp"

#include <algorithm>

#include "ops/check.hpp"
#include "ops/convert.hpp"
#include "ops/elementwise/element_kernel.hpp"
#include "ops/layout.hpp"

namespace anybit::ops {
namespace {

constexpr double kExactCost = 20;

template <class T>
void exact_run(Exact exact, double a, double b, const T* in, T* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = static_cast<T>(exact(static_cast<double>(static_cast<Computed<T>>(in[i])), a, b));
  }
}

template <>
void exact_run(Exact exact, double a, double b, const BFloat16* in, BFloat16* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = BFloat16(static_cast<float>(exact(static_cast<double>(static_cast<float>(in[i])), a, b)));
  }
}

}  // namespace

void unary_half(kernels::Map map, ElementType type, const std::byte* in, std::byte* out, std::int64_t n,
                float a, float b) {
  constexpr std::int64_t kRun = 512, kSize = 2;
  float run[kRun];
  auto* bytes = reinterpret_cast<std::byte*>(run);
  for (std::int64_t i = 0; i < n; i += kRun) {
    const std::int64_t m = std::min(kRun, n - i);
    convert(type, in + i * kSize, ElementType::float32, bytes, m);
    kernels::map(map, run, run, static_cast<std::size_t>(m), a, b);
    convert(ElementType::float32, bytes, type, out + i * kSize, m);
  }
}

Result<void> run_unary(Frame& frame, kernels::Map map, Exact exact, double a, double b, double cost) {
  const Array& in = frame.in(0);
  const ElementType type = in.type();
  if (type == ElementType::float64) return run_exact(frame, exact, a, b);
  if (type != ElementType::float32 && type != ElementType::float16 && type != ElementType::bfloat16) {
    return wrong_type(frame, 0);
  }
  const auto a_float = static_cast<float>(a), b_float = static_cast<float>(b);
  if (const ElementProbe* probe = ElementProbe::in(frame)) {
    probe->found = {.map = map, .a = a_float, .b = b_float};
    return not_known();
  }
  Array* out = TRY(frame.out_over(0, 0, type, in.dims()));
  const bool half = type != ElementType::float32;
  const auto steps = half ? std::span<const FinishStep>() : frame.take_finish();
  const auto wide = [&](std::int64_t first, std::int64_t last) {
    kernels::map(map, in.data<float>() + first, out->mutable_data<float>() + first,
                 static_cast<std::size_t>(last - first), a_float, b_float);
  };
  parallel(frame, in.stored(), half ? cost + 2 : cost, [&](std::int64_t first, std::int64_t last) {
    if (!half) return finished_runs(steps, out->mutable_data<float>(), first, last, wide);
    unary_half(map, type, in.bytes() + 2 * first, out->mutable_bytes() + 2 * first, last - first, a_float,
               b_float);
  });
  clear_padding(*out);
  return {};
}

Result<void> run_exact(Frame& frame, Exact exact, double a, double b) {
  const Array& in = frame.in(0);
  if (!for_real(in.type(), [](auto) {})) return wrong_type(frame, 0);
  Array* out = TRY(frame.out_over(0, 0, in.type(), in.dims()));
  for_real(in.type(), [&]<class T>(T) {
    parallel(frame, in.stored(), kExactCost, [&](std::int64_t first, std::int64_t last) {
      exact_run(exact, a, b, in.data<T>() + first, out->mutable_data<T>() + first, last - first);
    });
  });
  clear_padding(*out);
  return {};
}

}  // namespace anybit::ops
