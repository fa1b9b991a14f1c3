// QuantizeLinear: x / scale, rounded half to even, plus the zero point, saturated. ONNX: QuantizeLinear-10,
// -13 (axis), -19 (8-bit floats), -21 (blocks, 4 bits), -23 … -25; also in ONNX Runtime's domain.
#include <algorithm>

#include "kernels/elementwise/quantize.hpp"
#include "ops/convert.hpp"
#include "ops/gradient.hpp"
#include "ops/quantized/quantization.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

using enum ElementType;

// The quantized type is that of the zero point, else output_dtype, else uint8.
Result<Values> infer(const Call& call) {
  ElementType type = call.has(2) ? call.in(2).type : type_of(call.integer("output_dtype", 0));
  if (!call.has(2) && type == undefined) type = uint8;
  return outputs_of(call, tensor(type, call.in(0).shape));
}

struct Job {
  const Array& x;
  Array& out;
  std::span<const float> scales;
  std::span<const std::int32_t> zero_points;  // for integer types
  std::span<const float> float_zeros;         // for small floats
  ElementType precision;                      // precision of the quotient
  ConvertOptions options;
};

// Quotients in float32, rounded to `precision` if that is a 16-bit float.
void divide(const Job& job, const std::byte* x, const float* scale, std::size_t step, float* out,
            std::int64_t n) {
  auto* bytes = reinterpret_cast<std::byte*>(out);
  convert(job.x.type(), x, float32, bytes, n);
  const auto narrow = [&] {
    for (std::int64_t i = 0; i < n; ++i) {
      out[i] = job.precision == float16 ? static_cast<float>(Float16(out[i]))
                                        : static_cast<float>(BFloat16(out[i]));
    }
  };
  const bool half = job.precision == float16 || job.precision == bfloat16;
  if (half) narrow();
  for (std::int64_t i = 0; i < n; ++i) out[i] /= scale[static_cast<std::size_t>(i) * step];
  if (half) narrow();
}

void quantize_run(const Job& job, std::int64_t first, std::int64_t n, std::int64_t parameter,
                  std::size_t step) {
  const ElementType to = job.out.type();
  const float* scale = job.scales.data() + parameter;
  const std::int32_t* zero = job.zero_points.data() + parameter;
  if (job.x.type() == float32 && job.precision == float32 && is_code(to)) {
    for_code(to, [&]<class Q>(Q) {
      kernels::quantize(job.x.data<float>() + first, {scale, zero, step}, job.out.mutable_data<Q>() + first,
                        static_cast<std::size_t>(n));
    });
    return;
  }
  constexpr std::int64_t kRun = 256;
  float quotients[kRun];
  std::int32_t integers[kRun];
  const auto in_size = static_cast<std::int64_t>(element_bytes(job.x.type()));
  const auto out_size = static_cast<std::int64_t>(element_bytes(to));
  for (std::int64_t i = 0; i < n; i += kRun) {
    const std::int64_t m = std::min(kRun, n - i);
    const std::int64_t shift = i * static_cast<std::int64_t>(step);
    divide(job, job.x.bytes() + (first + i) * in_size, scale + shift, step, quotients, m);
    std::byte* out = job.out.mutable_bytes() + (first + i) * out_size;
    if (small_float_values(to)) {
      const float* zeros = job.float_zeros.data() + parameter + shift;
      for (std::int64_t j = 0; j < m; ++j) quotients[j] += zeros[static_cast<std::size_t>(j) * step];
      convert(float32, reinterpret_cast<const std::byte*>(quotients), to, out, m, job.options);
      continue;
    }
    const QuantizedRange range = range_of(to);
    for (std::int64_t j = 0; j < m; ++j) {
      const std::int32_t point = zero[shift + j * static_cast<std::int64_t>(step)];
      integers[j] = quantized(static_cast<double>(quotients[j]), point, range);
    }
    convert(int32, reinterpret_cast<const std::byte*>(integers), to, out, m);
  }
}

ElementType precision_of(const Frame& frame) {
  const ElementType asked = type_of(frame.integer("precision", 0));
  if (asked != undefined) return asked;
  const ElementType x = frame.in(0).type();
  const bool half = (x == float16 || x == bfloat16) && x == frame.in(1).type();
  return half ? x : float32;
}

Result<void> run(Frame& frame) {
  const bool has_zero = frame.has(2);
  const ElementType asked = type_of(frame.integer("output_dtype", 0));
  const ElementType to = has_zero ? frame.in(2).type() : asked != undefined ? asked : uint8;
  if (range_of(to).high == 0 && !small_float_values(to)) {
    return wrong(fmt::format("the quantized type is {}", graph::name_of(to)),
                 "an integer of at most 16 bits, or a small float");
  }
  const ParameterRuns runs = TRY(ParameterRuns::of(frame, frame.in(0), frame.in(1)));
  if (!runs.per_tensor()) TRY(frame.make_plain(0));
  const Array &x = frame.in(0), &scale = frame.in(1);
  if (!is_convertible(x.type())) return wrong_type(frame, 0);
  if (!is_convertible(scale.type())) return wrong_type(frame, 1);
  if (has_zero && frame.in(2).count() != scale.count()) {
    return wrong(fmt::format("the scale is {}, the zero point {}", to_string(scale), to_string(frame.in(2))),
                 "the same shape");
  }
  const auto scales = TRY(frame.scratch_of<float>(scale.count()));
  const auto zeros = TRY(frame.scratch_of<float>(scale.count()));  // or as many int32
  auto* integer_zeros = reinterpret_cast<std::int32_t*>(zeros.data());
  convert(scale.type(), scale.bytes(), float32, reinterpret_cast<std::byte*>(scales.data()), scale.count());
  std::ranges::fill(zeros, 0.0f);  // 0.0f has the same bits as the integer 0
  if (has_zero) {
    const Array& zero = frame.in(2);
    convert(to, zero.bytes(), small_float_values(to) ? float32 : int32,
            reinterpret_cast<std::byte*>(zeros.data()), zero.count());
  }
  Array* out = TRY(frame.out_over(0, 0, to, x.dims()));
  const Job job{x,
                *out,
                scales,
                {integer_zeros, zeros.size()},
                zeros,
                precision_of(frame),
                {.saturate = frame.flag("saturate", true)}};
  const double cost = x.type() == float32 && is_code(to) ? 0.3 : 5;
  if (runs.per_tensor()) {
    parallel(frame, x.stored(), cost,
             [&](std::int64_t first, std::int64_t last) { quantize_run(job, first, last - first, 0, 0); });
    return {};
  }
  parallel(frame, runs.count(), cost * static_cast<double>(runs.length()),
           [&](std::int64_t first, std::int64_t last) {
             for (std::int64_t i = first; i < last; ++i) {
               const auto part = runs.at(i);
               quantize_run(job, part.first, part.length, part.parameter, part.step);
             }
           });
  return {};
}

// Straight-through (Bengio et al., 2013): the gradient of a code is that by the number it stands for, and
// values outside of the range have none. The scale is not learned.
Result<void> quantize_linear_rule(Gradient& gradient) {
  const QuantizedRange range = range_of(gradient.out().type);
  if (range.high == 0 || gradient.integer("block_size", 0) != 0)
    return error_at(Code::unsupported, {},
                    fmt::format("there is no gradient through {}", range.high == 0 ? "this type" : "blocks"),
                    "integers of at most 16 bits with one scale per tensor or channel");
  const auto in_float = [&](std::size_t i) {
    return gradient.add("Cast", {gradient.input(i)},
                        {graph::attribute("to", static_cast<std::int64_t>(float32))});
  };
  std::vector<std::string> inputs{gradient.dy(), gradient.input(0), gradient.input(1)};
  if (gradient.has(2)) inputs.push_back(in_float(2));
  Gradient::NodeAttributes attributes{graph::attribute("low", std::int64_t{range.low}),
                                      graph::attribute("high", std::int64_t{range.high})};
  const auto& scales = gradient.in(1).shape;
  if (scales && scales->size() == 1 && !(*scales)[0].is(1))
    attributes.push_back(graph::attribute("axis", gradient.integer("axis", 1)));
  gradient.set(0, gradient.add("FakeQuantizeGradient", std::move(inputs), std::move(attributes), kTraining));
  return {};
}

constexpr Descriptor quantize(std::string_view domain, Versions since) {
  return {.name = "QuantizeLinear",
          .domain = domain,
          .since = since,
          .infer = infer,
          .quantized = {{.output = 0, .scale = 1, .zero_point = 2}},
          .run = run,
          .required = 2,
          .layouts = Layouts::each,
          .gradient = quantize_linear_rule};
}

}  // namespace

std::span<const Descriptor> quantize_linear_descriptors() {
  static const Descriptor all[] = {quantize("", {10, 13, 19, 21, 23, 24, 25}), quantize(kMicrosoft, {1})};
  return all;
}

}  // namespace anybit::ops
