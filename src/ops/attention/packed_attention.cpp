// ONNX Runtime's Attention and QAttention (com.microsoft): one weight projects the input to Q, K and V;
// QAttention's input and weight are 8-bit integers.
#include <cmath>

#include "kernels/gemm/gemm.hpp"
#include "ops/attention/attention_mask.hpp"
#include "ops/check.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// Input (batch, sequence, hidden); the weight holds Q, K and V side by side.
struct Packed {
  Dim batch, sequence, hidden, q_size, k_size, v_size;
};

std::optional<Packed> packed_of(const Call& call) {
  const auto& x = call.in(0).shape;
  const auto& w = call.in(1).shape;
  if (!x || !w || x->size() != 3 || w->size() != 2) return std::nullopt;
  Packed packed{(*x)[0], (*x)[1], (*x)[2], {}, {}, {}};
  if (const auto sizes = call.integers("qkv_hidden_sizes"); sizes && sizes->size() == 3) {
    packed.q_size = (*sizes)[0], packed.k_size = (*sizes)[1], packed.v_size = (*sizes)[2];
  } else {
    packed.q_size = packed.k_size = packed.v_size = floor_div((*w)[1], 3);
  }
  return packed;
}

Result<Values> infer(const Call& call) {
  const auto packed = packed_of(call);
  // The bias has the type of the result, which differs from the input's if the input is quantized.
  const ElementType type = call.has(2) ? call.in(2).type : call.in(0).type;
  if (!packed) return outputs_of(call, tensor(type, std::nullopt));
  return outputs_of(call, tensor(type, Shape{packed->batch, packed->sequence, packed->v_size}));
}

Dim macs(const Call& call, std::span<const Value>) {
  const auto packed = packed_of(call);
  const bool past = call.has(call.node.op_type.str() == "QAttention" ? 8 : 4);
  if (!packed || past) return {};
  const Dim rows = packed->batch * packed->sequence;
  const Dim projections = rows * packed->hidden * (packed->q_size + packed->k_size + packed->v_size);
  return projections + rows * packed->sequence * (packed->q_size + packed->v_size);
}

struct Sizes {
  std::int64_t batch = 0, positions = 0, hidden = 0, heads = 0;
  std::int64_t qk = 0, v = 0;  // summed over all heads
  std::int64_t past = 0;

  std::int64_t rows() const { return batch * positions; }
  std::int64_t columns() const { return 2 * qk + v; }
};

Result<Sizes> sizes_of(const Frame& frame, std::size_t past_input) {
  const Dims& x = frame.in(0).dims();
  const Dims& w = frame.in(1).dims();
  if (x.size() != 3 || w.size() != 2 || x[2] != w[0]) {
    return wrong(fmt::format("input {} and weight {} do not fit together", to_string(frame.in(0)),
                             to_string(frame.in(1))));
  }
  Sizes s{x[0], x[1], x[2], frame.integer("num_heads", 0), w[1] / 3, w[1] / 3};
  if (const auto given = frame.ints("qkv_hidden_sizes"); given && !given->empty()) {
    const bool fits = given->size() == 3 && (*given)[0] == (*given)[1] && (*given)[0] > 0 &&
                      (*given)[2] > 0 && (*given)[0] <= w[1] && (*given)[2] <= w[1];
    if (!fits)
      return wrong("qkv_hidden_sizes must be three positive sizes within the weight, the first two equal");
    s.qk = (*given)[0];
    s.v = (*given)[2];
  }
  if (s.columns() != w[1] || s.heads < 1 || s.qk % s.heads != 0 || s.v % s.heads != 0) {
    return wrong(fmt::format("num_heads {} or qkv_hidden_sizes do not match the weight {}", s.heads,
                             to_string(frame.in(1))));
  }
  if (frame.has(2)) TRY(expect_dims(frame, 2, {w[1]}, "bias"));
  if (frame.flag("do_rotary") || frame.flag("past_present_share_buffer")) {
    return error_at(Code::unsupported, {}, "do_rotary and past_present_share_buffer are not supported");
  }
  if (!frame.has(past_input)) return s;
  const Array& past = frame.in(past_input);
  s.past = past.rank() == 5 ? past.dim(3) : 0;
  if (s.qk != s.v) return wrong("with a past, keys and values must have the same size");
  TRY(expect_dims(frame, past_input, {2, s.batch, s.heads, s.past, s.v / s.heads}, "past"));
  return s;
}

struct Weights : Prepared {
  std::optional<kernels::PackedFloats> floats;
  std::int64_t bytes() const override { return floats ? floats->bytes() : 0; }
};

Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  const Array* w = setup.constant(1);
  if (!w || w->type() != ElementType::float32 || w->rank() != 2) return std::shared_ptr<const Prepared>();
  auto kept = std::make_shared<Weights>();
  kept->floats.emplace(kernels::MatrixView<float>{w->data<float>(), w->dim(1), 1}, w->dim(0), w->dim(1));
  return std::shared_ptr<const Prepared>(std::move(kept));
}

// Projects the input: Q, K and V side by side, one row per position.
template <class C>
Result<std::span<C>> project(Frame& frame, const Sizes& s) {
  const std::int64_t m = s.rows(), n = s.columns(), k = s.hidden;
  const auto x = TRY(reals_in<C>(frame, frame.in(0))), w = TRY(reals_in<C>(frame, frame.in(1)));
  const C* bias = frame.has(2) ? TRY(reals_in<C>(frame, frame.in(2))).data() : nullptr;
  if (only_checks(frame)) return std::span<C>();
  const auto made = TRY(frame.scratch_of<C>(m * n));
  if constexpr (std::is_same_v<C, float>) {
    const kernels::PlainFloats plain({w.data(), n, 1}, n);
    const auto* kept = frame.prepared<Weights>();
    kernels::FloatGemmWork work{
        .m = m, .n = n, .k = k, .a = {x.data(), k, 1}, .c = made.data(), .c_stride = n};
    work.b = kept ? static_cast<const kernels::FloatRhs*>(&*kept->floats) : &plain;
    work.epilogue.addend = {bias, 0, 1};
    kernels::gemm(work, frame.pool());
  } else {
    small_gemm(frame, m, n, k, x.data(), k, w.data(), n, false, 1, made.data(), n);
    for (std::int64_t i = 0; bias && i < m * n; ++i) made[static_cast<std::size_t>(i)] += bias[i % n];
  }
  return made;
}

std::optional<kernels::IntegerType> integer_type_of(ElementType type) {
  if (type == ElementType::int8) return kernels::IntegerType::int8;
  if (type == ElementType::uint8) return kernels::IntegerType::uint8;
  return std::nullopt;
}

// Zero points as int32: per tensor or per column. Empty if the input is omitted.
Result<kernels::Spread<std::int32_t>> zeros_of(Frame& frame, std::size_t input, std::int64_t columns) {
  if (!frame.has(input)) return kernels::Spread<std::int32_t>();
  const Array& zeros = frame.in(input);
  if (!integer_type_of(zeros.type()) || (zeros.count() != 1 && zeros.count() != columns))
    return wrong_type(frame, input);
  if (only_checks(frame)) return kernels::Spread<std::int32_t>();
  const auto made = TRY(frame.scratch_of<std::int32_t>(zeros.count()));
  for (std::size_t i = 0; i < made.size(); ++i) {
    made[i] =
        zeros.type() == ElementType::int8 ? zeros.data<std::int8_t>()[i] : zeros.data<std::uint8_t>()[i];
  }
  return kernels::Spread<std::int32_t>{made.data(), 0, zeros.count() == 1 ? 0 : 1};
}

Result<std::span<float>> project_quantized(Frame& frame, const Sizes& s) {
  const std::int64_t m = s.rows(), n = s.columns(), k = s.hidden;
  const auto x_type = integer_type_of(frame.in(0).type()), w_type = integer_type_of(frame.in(1).type());
  if (!x_type || !w_type) return wrong_type(frame, x_type ? 1 : 0);
  const double x_scale = TRY(scalar_from(frame.in(3), "input_scale"));
  const auto w_scale = TRY(reals_in<float>(frame, frame.in(4)));
  if (w_scale.size() != 1 && static_cast<std::int64_t>(w_scale.size()) != n) {
    return wrong(fmt::format("weight_scale is {}", to_string(frame.in(4))),
                 fmt::format("1 or {} numbers", n));
  }
  const auto scales = TRY(frame.scratch_of<float>(static_cast<std::int64_t>(w_scale.size())));
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = static_cast<float>(x_scale) * w_scale[i];
  const auto bias = TRY(reals_in<float>(frame, frame.in(2)));
  const auto made = TRY(frame.scratch_of<float>(m * n));
  const auto w_zeros = TRY(zeros_of(frame, 7, n));
  const kernels::PlainIntegers right({*w_type, frame.in(1).bytes(), n, 1}, k, n, w_zeros);
  kernels::IntegerGemmWork work{.m = m, .n = n, .k = k, .b = &right, .c = made.data(), .c_stride = n};
  work.a = {*x_type, frame.in(0).bytes(), k, 1};
  work.a_zero = TRY(zeros_of(frame, 6, 1));
  work.epilogue.type = kernels::IntegerResult::float32;
  work.epilogue.scale = {scales.data(), 0, scales.size() == 1 ? 0 : 1};
  work.epilogue.addend = {bias.data(), 0, 1};
  kernels::gemm(work, frame.pool());
  return made;
}

// Input indices, which differ between the operators.
struct Ports {
  std::size_t mask, past, bias;
};

template <class C>
Result<void> finish(Frame& frame, const Sizes& s, const C* qkv, const Ports& ports) {
  const ElementType type = frame.has(2) ? frame.in(2).type() : frame.in(0).type();
  const std::int64_t size = s.qk / s.heads, v_size = s.v / s.heads, row = s.columns(),
                     keys = s.past + s.positions;
  AttentionCall<C> all{.batch = s.batch,
                       .heads = s.heads,
                       .kv_heads = s.heads,
                       .queries = s.positions,
                       .keys = keys,
                       .size = size,
                       .v_size = v_size};
  const MaskedSizes masked{s.batch, s.heads, s.positions, keys};
  all.biases[0] = TRY(filter_mask<C>(frame, ports.mask, masked));
  all.biases[1] = TRY(score_bias<C>(frame, ports.bias, masked));
  const bool joins = frame.has(ports.past) || frame.wants(1);
  if (joins && s.qk != s.v) return wrong("with a past, keys and values must have the same size");
  if (only_checks(frame)) return {};
  all.q = heads_last(qkv, s.positions, size, row);
  all.k = heads_last(qkv + s.qk, s.positions, size, row);
  all.v = heads_last(qkv + 2 * s.qk, s.positions, v_size, row);
  if (joins) {
    const Dims dims{2, s.batch, s.heads, keys, size};
    const std::int64_t half = dims.product(1, 5), past_half = s.batch * s.heads * s.past * size;
    const C* past = frame.has(ports.past) ? TRY(reals_in<C>(frame, frame.in(ports.past))).data() : nullptr;
    Array* present = frame.wants(1) ? TRY(frame.out(1, type, dims)) : nullptr;
    std::optional<RealOutput<C>> output;
    if (present) output = TRY(RealOutput<C>::make(frame, present));
    C* joined = output ? output->data() : TRY(frame.scratch_of<C>(dims.count())).data();
    for (HeadsView<const C>* one : {&all.k, &all.v}) {
      const bool value = one == &all.v;
      const auto before = heads_first(past ? past + (value ? past_half : 0) : nullptr, s.heads, s.past, size);
      C* to = joined + (value ? half : 0);
      join_heads(s.batch, s.heads, size, before, s.past, *one, s.positions, to);
      *one = heads_first<const C>(to, s.heads, keys, size);
    }
    if (output) output->finish();
  }
  const double scale = frame.real("scale", 0);
  all.scale = scale == 0 ? 1 / std::sqrt(static_cast<double>(size)) : scale;
  all.causal = frame.flag("unidirectional");
  all.causal_offset = s.past;
  auto y = TRY(RealOutput<C>::make(frame, TRY(frame.out(0, type, {s.batch, s.positions, s.v}))));
  all.y = heads_last(y.data(), s.positions, v_size, s.v);
  TRY(attend(frame, all));
  y.finish();
  return {};
}

Result<void> run(Frame& frame) {
  const Ports ports{.mask = 3, .past = 4, .bias = 5};
  const Sizes s = TRY(sizes_of(frame, ports.past));
  if (wants_double(frame.in(0).type()))
    return finish<double>(frame, s, TRY(project<double>(frame, s)).data(), ports);
  return finish<float>(frame, s, TRY(project<float>(frame, s)).data(), ports);
}

Result<void> run_quantized(Frame& frame) {
  const Ports ports{.mask = 5, .past = 8, .bias = 99};  // QAttention has no bias of the scores
  const Sizes s = TRY(sizes_of(frame, ports.past));
  return finish<float>(frame, s, TRY(project_quantized(frame, s)).data(), ports);
}

}  // namespace

std::span<const Descriptor> packed_attention_descriptors() {
  static const Descriptor all[] = {
      {.name = "Attention",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer,
       .macs = macs,
       .run = run,
       .prepare = prepare,
       .required = 2,
       .traits = {.role = Traits::Role::compute, .weights = {{1, last_axis}}, .bias = 2, .mask = 5}},
      {.name = "QAttention",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer,
       .macs = macs,
       .quantized = {{.input = 0, .scale = 3, .zero_point = 6}, {.input = 1, .scale = 4, .zero_point = 7}},
       .run = run_quantized,
       .required = 5},
  };
  return all;
}

}  // namespace anybit::ops
