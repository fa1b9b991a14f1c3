// ONNX Runtime's DynamicQuantizeLSTM (com.microsoft): an LSTM with 8-bit weights; inputs and states are
// dynamically quantized to 8 bits.
#include <algorithm>
#include <cmath>

#include "ops/check.hpp"
#include "ops/recurrent/recurrent.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

enum Input : std::size_t { kW = 1, kR = 2, kWScale = 8, kWZero = 9, kRScale = 10, kRZero = 11 };

Dim macs(const Call& call, std::span<const Value>) { return recurrent_macs(call, 4); }

std::optional<kernels::IntegerType> integer_type_of(const Array& array) {
  if (array.type() == ElementType::int8) return kernels::IntegerType::int8;
  if (array.type() == ElementType::uint8) return kernels::IntegerType::uint8;
  return std::nullopt;
}

// One direction's matrix [k, n], with one scale and zero point, or one per column.
class QuantizedWeight final : public GateWeight<float> {
 public:
  QuantizedWeight(const kernels::PackedIntegers& packed, std::int64_t k, std::int64_t n,
                  kernels::Spread<float> scales, std::uint8_t* integers, float* factors)
      : packed_(packed), k_(k), n_(n), scales_(scales), quantized_(integers), factors_(factors) {}

  void multiply(std::int64_t m, const float* a, std::int64_t, kernels::Spread<float> addend, float* c,
                std::int64_t c_row, ThreadPool& pool) const override {
    const auto [scale, zero] = quantize(a, m * k_);
    const std::int64_t count = scales_.column_stride == 0 ? 1 : n_;
    for (std::int64_t i = 0; i < count; ++i) factors_[i] = scale * scales_.data[i];
    kernels::IntegerGemmWork work{.m = m, .n = n_, .k = k_, .b = &packed_, .c = c, .c_stride = c_row};
    work.a = {kernels::IntegerType::uint8, quantized_, k_, 1};
    work.a_zero = {&zero, 0, 0};
    work.epilogue.type = kernels::IntegerResult::float32;
    work.epilogue.scale = {factors_, 0, scales_.column_stride};
    work.epilogue.addend = addend;
    kernels::gemm(work, pool);
  }

 private:
  struct Quantization {
    float scale;
    std::int32_t zero;
  };
  // As in DynamicQuantizeLinear: maps the range, zero included, to 0 … 255.
  Quantization quantize(const float* x, std::int64_t count) const {
    float low = 0, high = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      low = std::min(low, x[i]);
      high = std::max(high, x[i]);
    }
    float scale = (high - low) / 255.0f;
    if (scale == 0 || !std::isfinite(scale)) scale = 1, low = 0;
    const auto zero = static_cast<std::int32_t>(std::nearbyint(std::clamp(-low / scale, 0.0f, 255.0f)));
    for (std::int64_t i = 0; i < count; ++i) {
      const float code = std::nearbyint(x[i] / scale) + static_cast<float>(zero);
      quantized_[i] = static_cast<std::uint8_t>(code >= 0 ? std::min(code, 255.0f) : 0.0f);  // NaN too
    }
    return {scale, zero};
  }

  const kernels::PackedIntegers& packed_;
  std::int64_t k_, n_;
  kernels::Spread<float> scales_;
  std::uint8_t* quantized_;  // buffer for the left operand
  float* factors_;
};

// Input indices of the parts of a matrix.
struct Ports {
  std::size_t matrix, scale, zero;
};
constexpr Ports kOfInput{kW, kWScale, kWZero}, kOfState{kR, kRScale, kRZero};

// Per direction: the input's matrix, then the state's.
struct Packs : Prepared {
  std::vector<kernels::PackedIntegers> all;
  std::int64_t bytes() const override { return bytes_of_all(all); }
};

// Direction d of a matrix [directions, k, n], less its zero points.
kernels::PackedIntegers pack(const Array& matrix, const Array& zero, std::int64_t d) {
  const std::int64_t k = matrix.dim(1), n = matrix.dim(2), count = zero.count() / matrix.dim(0);
  std::vector<std::int32_t> zeros;
  for (std::int64_t i = d * count; i < (d + 1) * count; ++i) {
    zeros.push_back(zero.type() == ElementType::int8 ? zero.data<std::int8_t>()[i]
                                                     : zero.data<std::uint8_t>()[i]);
  }
  const kernels::IntegerView view{*integer_type_of(matrix), matrix.bytes() + d * k * n, n, 1};
  return {view, k, n, {zeros.data(), 0, count == 1 ? 0 : 1}};
}

// Whether the zero points fit the matrix: one per direction, or one per column of each.
bool fit(const Array& matrix, const Array& other) {
  return matrix.rank() == 3 && matrix.dim(0) > 0 &&
         (other.count() == matrix.dim(0) || other.count() == matrix.dim(0) * matrix.dim(2));
}

Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  for (const Ports& ports : {kOfInput, kOfState}) {
    const Array *matrix = setup.constant(ports.matrix), *zero = setup.constant(ports.zero);
    if (!matrix || !zero || !integer_type_of(*matrix) || matrix->type() != zero->type() ||
        !fit(*matrix, *zero))
      return std::shared_ptr<const Prepared>();
  }
  auto packs = std::make_shared<Packs>();
  const std::int64_t directions = setup.constant(kW)->dim(0);
  if (setup.constant(kR)->dim(0) != directions) return std::shared_ptr<const Prepared>();
  for (std::int64_t d = 0; d < directions; ++d) {
    for (const Ports& ports : {kOfInput, kOfState})
      packs->all.push_back(pack(*setup.constant(ports.matrix), *setup.constant(ports.zero), d));
  }
  return std::shared_ptr<const Prepared>(std::move(packs));
}

Result<void> check(const Frame& frame, const Ports& ports, const RecurrentSizes& s, std::int64_t k) {
  const Array& matrix = frame.in(ports.matrix);
  if (!integer_type_of(matrix)) return wrong_type(frame, ports.matrix);
  TRY(expect_dims(frame, ports.matrix, {s.directions, k, 4 * s.hidden}, "weights"));
  if (frame.in(ports.zero).type() != matrix.type()) return wrong_type(frame, ports.zero);
  if (!for_real(frame.in(ports.scale).type(), [](auto) {})) return wrong_type(frame, ports.scale);
  for (const std::size_t i : {ports.scale, ports.zero}) {
    if (!fit(matrix, frame.in(i))) {
      return wrong(fmt::format("input {} is {}", i, to_string(frame.in(i))),
                   "one for each direction, or for each column");
    }
  }
  return {};
}

Result<std::unique_ptr<GateWeight<float>>> weight_of(Frame& frame, const Ports& ports, std::int64_t d,
                                                     const kernels::PackedIntegers& packed,
                                                     std::int64_t rows) {
  const Array &matrix = frame.in(ports.matrix), &scale = frame.in(ports.scale);
  const std::int64_t k = matrix.dim(1), n = matrix.dim(2), count = scale.count() / matrix.dim(0);
  const kernels::Spread<float> scales{TRY(reals_in<float>(frame, scale)).data() + d * count, 0,
                                      count == 1 ? 0 : 1};
  std::uint8_t* integers = TRY(frame.scratch_of<std::uint8_t>(rows * k)).data();
  float* factors = TRY(frame.scratch_of<float>(n)).data();
  return std::unique_ptr<GateWeight<float>>(
      std::make_unique<QuantizedWeight>(packed, k, n, scales, integers, factors));
}

Result<void> run(Frame& frame) {
  if (frame.in(0).type() != ElementType::float32) return wrong_type(frame, 0);
  for (const std::size_t i : {kWScale, kWZero, kRScale, kRZero}) {
    if (!frame.has(i)) return wrong(fmt::format("input {} is missing", static_cast<int>(i)));
  }
  if (frame.in(kR).rank() != 3) return wrong(fmt::format("input 2 is {}", to_string(frame.in(kR))), "rank 3");
  const RecurrentSizes s = TRY(recurrent_sizes(frame, frame.in(kR).dim(1)));
  TRY(check(frame, kOfInput, s, s.input));
  TRY(check(frame, kOfState, s, s.hidden));
  if (only_checks(frame)) {
    TRY(check_recurrent(frame, kLstm, s));
    return {};
  }
  const auto* kept = frame.prepared<Packs>();
  Packs made;
  for (std::int64_t d = 0; !kept && d < s.directions; ++d) {
    for (const Ports& ports : {kOfInput, kOfState})
      made.all.push_back(pack(frame.in(ports.matrix), frame.in(ports.zero), d));
  }
  std::vector<GateWeights<float>> weights(static_cast<std::size_t>(s.directions));
  auto packed = (kept ? kept->all : made.all).begin();
  for (std::int64_t d = 0; d < s.directions; ++d) {
    GateWeights<float>& one = weights[static_cast<std::size_t>(d)];
    one.input = TRY(weight_of(frame, kOfInput, d, *packed++, s.steps * s.batch));
    one.state.push_back(TRY(weight_of(frame, kOfState, d, *packed++, s.batch)));
  }
  return run_recurrent<float>(frame, kLstm, s, weights, lstm_step<float>);
}

}  // namespace

std::span<const Descriptor> dynamic_quantize_lstm_descriptors() {
  static const Descriptor all[] = {
      {.name = "DynamicQuantizeLSTM",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer_recurrent,
       .macs = macs,
       .quantized = {{.input = 1, .scale = 8, .zero_point = 9}, {.input = 2, .scale = 10, .zero_point = 11}},
       .run = run,
       .prepare = prepare,
       .required = 3}};
  return all;
}

}  // namespace anybit::ops
