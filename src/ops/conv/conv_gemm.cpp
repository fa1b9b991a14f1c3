#include "ops/conv/conv_gemm.hpp"

#include "ops/conv/window.hpp"
#include "ops/layout.hpp"

namespace anybit::ops {
namespace {

using kernels::ConvSizes;
using Kind = kernels::Activation::Kind;

// The GEMM epilogue does Relu and Clip.
void clamp(const kernels::Activation& activation, kernels::FloatEpilogue& epilogue) {
  if (activation.kind == Kind::relu) epilogue.low = 0;
  if (activation.kind != Kind::clip) return;
  epilogue.low = activation.a;
  epilogue.high = activation.b;
}

bool is_clamp(const kernels::Activation& activation) {
  return activation.kind == Kind::none || activation.kind == Kind::relu || activation.kind == Kind::clip;
}

// Steps that the GEMM epilogue cannot do: the sum with another tensor, and other activations.
void finish(Frame& frame, const Array* added, const kernels::Activation& activation, Array& out) {
  const auto y = out.elements<float>();
  const float* z = added ? added->data<float>() : nullptr;
  const auto body = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      float& one = y[static_cast<std::size_t>(i)];
      one = kernels::activate(activation, z ? one + z[i] : one);
    }
  };
  parallel(frame, out.stored(), 5, [&body](std::int64_t a, std::int64_t b) { body(a, b); });
}

void multiply_group(Frame& frame, const ConvSizes& sizes, std::int64_t group, const float* x,
                    const kernels::FloatRhs& weights, const float* bias,
                    const kernels::Activation& activation, float* y) {
  const std::int64_t outputs = sizes.out_per_group();
  kernels::FloatGemmWork work{.m = sizes.batch * output_size(sizes.window),
                              .n = outputs,
                              .k = sizes.depth(),
                              .b = &weights,
                              .c = y + group * outputs,
                              .c_stride = sizes.out_channels};
  const float zero = 0;
  const kernels::ConvRows rows(sizes, group, x, sizeof(float), &zero);
  if (kernels::ConvRows::is_plain(sizes)) {
    work.a = {x + group * sizes.in_per_group(), sizes.in_channels, 1};
  } else {
    work.rows = &rows;
  }
  if (bias) work.epilogue.addend = {bias + group * outputs, 0, 1};
  clamp(activation, work.epilogue);
  kernels::gemm(work, frame.pool());
}

}  // namespace

ConvMatrices conv_matrices(const ConvSizes& sizes, const Array& w) {
  ConvMatrices matrices;
  std::vector<float> columns(static_cast<std::size_t>(sizes.out_per_group() * sizes.depth()));
  for (std::int64_t group = 0; group < sizes.groups; ++group) {
    kernels::conv_columns(sizes, group, w.data<float>(), columns.data());
    matrices.groups.emplace_back(kernels::MatrixView<float>{columns.data(), 1, sizes.depth()}, sizes.depth(),
                                 sizes.out_per_group());
  }
  return matrices;
}

Result<void> run_conv_gemm(Frame& frame, const ConvSizes& sizes, const ConvMatrices* matrices,
                           const kernels::Activation& activation) {
  const Array x = TRY(in_layout(frame, frame.in(0), Layout::channels_last));
  const Array w = TRY(in_layout(frame, frame.in(1), Layout::plain));
  const Array bias = TRY(in_layout(frame, frame.in(2), Layout::plain));
  const bool sum = frame.has(3);
  const Dims dims = output_dims(sizes.batch, sizes.out_channels, sizes.window, x.rank());
  const Layout layout = output_size(sizes.window) > 1 ? Layout::channels_last : Layout::plain;
  Array* out = TRY(frame.out(0, ElementType::float32, dims, layout));
  const kernels::Activation inside = sum ? kernels::Activation{} : activation;
  const auto columns = TRY(frame.scratch_of<float>(matrices ? 0 : sizes.out_per_group() * sizes.depth()));
  for (std::int64_t group = 0; group < sizes.groups; ++group) {
    const float* numbers = frame.has(2) ? bias.data<float>() : nullptr;
    if (matrices) {
      multiply_group(frame, sizes, group, x.data<float>(), matrices->groups[static_cast<std::size_t>(group)],
                     numbers, inside, out->mutable_data<float>());
      continue;
    }
    kernels::conv_columns(sizes, group, w.data<float>(), columns.data());
    const kernels::PlainFloats plain({columns.data(), 1, sizes.depth()}, sizes.out_per_group());
    multiply_group(frame, sizes, group, x.data<float>(), plain, numbers, inside, out->mutable_data<float>());
  }
  if (!sum && is_clamp(activation)) return {};
  const Array added = sum ? TRY(in_layout(frame, frame.in(3), layout)) : Array();
  finish(frame, sum ? &added : nullptr, activation, *out);
  return {};
}

}  // namespace anybit::ops
