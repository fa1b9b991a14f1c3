// DequantizeLinear: (x - zero point) · scale. ONNX: DequantizeLinear-10, -13 (axis), -19 (8-bit floats), -21
// (blocks, 4 bits), -23 … -25 (output_dtype); also in ONNX Runtime's domain.
#include <algorithm>

#include "kernels/elementwise/quantize.hpp"
#include "ops/convert.hpp"
#include "ops/gradient.hpp"
#include "ops/quantized/quantization.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

using enum ElementType;

Result<Values> infer(const Call& call) {
  const ElementType asked = type_of(call.integer("output_dtype", 0));
  return outputs_of(call, tensor(asked != undefined ? asked : call.in(1).type, call.in(0).shape));
}

struct Job {
  const Array& x;
  Array& out;
  std::span<const float> scales;
  std::span<const std::int32_t> zero_points;
};

void dequantize_run(const Job& job, std::int64_t first, std::int64_t n, std::int64_t parameter,
                    std::size_t step) {
  const float* scale = job.scales.data() + parameter;
  const std::int32_t* zero = job.zero_points.data() + parameter;
  if (is_code(job.x.type()) && job.out.type() == float32) {
    for_code(job.x.type(), [&]<class Q>(Q) {
      kernels::dequantize(job.x.data<Q>() + first, {scale, zero, step}, job.out.mutable_data<float>() + first,
                          static_cast<std::size_t>(n));
    });
    return;
  }
  constexpr std::int64_t kRun = 256;
  float values[kRun];
  std::int32_t integers[kRun];
  const bool is_small_float = small_float_values(job.x.type()) != nullptr;
  const auto in_size = static_cast<std::int64_t>(element_bytes(job.x.type()));
  const auto out_size = static_cast<std::int64_t>(element_bytes(job.out.type()));
  for (std::int64_t i = 0; i < n; i += kRun) {
    const std::int64_t m = std::min(kRun, n - i);
    const std::byte* in = job.x.bytes() + (first + i) * in_size;
    if (is_small_float) {
      convert(job.x.type(), in, float32, reinterpret_cast<std::byte*>(values), m);
    } else {
      convert(job.x.type(), in, int32, reinterpret_cast<std::byte*>(integers), m);
      for (std::int64_t j = 0; j < m; ++j) {
        const std::int64_t point = zero[(i + j) * static_cast<std::int64_t>(step)];
        values[j] = static_cast<float>(integers[j] - point);
      }
    }
    for (std::int64_t j = 0; j < m; ++j) values[j] *= scale[static_cast<std::size_t>(i + j) * step];
    convert(float32, reinterpret_cast<const std::byte*>(values), job.out.type(),
            job.out.mutable_bytes() + (first + i) * out_size, m);
  }
}

Result<void> run(Frame& frame) {
  const ElementType asked = type_of(frame.integer("output_dtype", 0));
  const ElementType to = asked != undefined ? asked : frame.in(1).type();
  if (!is_float(to)) return wrong(fmt::format("the result is {}", graph::name_of(to)), "a float");
  const ElementType from = frame.in(0).type();
  if (range_of(from).high == 0 && from != int32 && !small_float_values(from)) return wrong_type(frame, 0);
  const ParameterRuns runs = TRY(ParameterRuns::of(frame, frame.in(0), frame.in(1)));
  if (!runs.per_tensor()) TRY(frame.make_plain(0));
  const Array &x = frame.in(0), &scale = frame.in(1);
  if (!is_convertible(scale.type())) return wrong_type(frame, 1);
  if (frame.has(2) && (frame.in(2).count() != scale.count() || frame.in(2).type() != from)) {
    return wrong(fmt::format("the scale is {}, the zero point {}", to_string(scale), to_string(frame.in(2))),
                 "the same shape, and the tensor's type");
  }
  const auto scales = TRY(frame.scratch_of<float>(scale.count()));
  const auto zeros = TRY(frame.scratch_of<std::int32_t>(scale.count()));
  convert(scale.type(), scale.bytes(), float32, reinterpret_cast<std::byte*>(scales.data()), scale.count());
  std::ranges::fill(zeros, 0);
  if (frame.has(2)) {
    const Array& zero = frame.in(2);
    convert(from, zero.bytes(), int32, reinterpret_cast<std::byte*>(zeros.data()), zero.count());
  }
  Array* out = TRY(frame.out_over(0, 0, to, x.dims()));
  const Job job{x, *out, scales, zeros};
  const double cost = is_code(from) && to == float32 ? 0.3 : 5;
  if (runs.per_tensor()) {
    parallel(frame, x.stored(), cost,
             [&](std::int64_t first, std::int64_t last) { dequantize_run(job, first, last - first, 0, 0); });
    return {};
  }
  parallel(frame, runs.count(), cost * static_cast<double>(runs.length()),
           [&](std::int64_t first, std::int64_t last) {
             for (std::int64_t i = first; i < last; ++i) {
               const auto part = runs.at(i);
               dequantize_run(job, part.first, part.length, part.parameter, part.step);
             }
           });
  return {};
}

constexpr Descriptor dequantize(std::string_view domain, Versions since) {
  return {.name = "DequantizeLinear",
          .domain = domain,
          .since = since,
          .infer = infer,
          .quantized = {{.input = 0, .scale = 1, .zero_point = 2}},
          .run = run,
          .required = 2,
          .layouts = Layouts::each,
          .gradient = gradient_unchanged};
}

}  // namespace

std::span<const Descriptor> dequantize_linear_descriptors() {
  static const Descriptor all[] = {dequantize("", {10, 13, 19, 21, 23, 24, 25}), dequantize(kMicrosoft, {1})};
  return all;
}

}  // namespace anybit::ops
