#include "quantize/opsets.hpp"

#include <algorithm>

#include "base/try.hpp"
#include "lower/linear.hpp"
#include "lower/standard.hpp"
#include "portable/portable.hpp"
#include "quantize/weights.hpp"

namespace anybit::quantizing {
namespace {

std::int64_t opset_for(const Spec& spec) {
  if (spec.is_float() || spec.element() == graph::ElementType::undefined) return 1;
  return lower::opset_of(spec.element(), spec.granularity() == Granularity::channel,
                         spec.granularity() == Granularity::block);
}

Result<std::int64_t> opset_for(const Spec& spec, lower::Functions::Mode mode, bool constant) {
  if (spec.is_static() && spec.element() == graph::ElementType::undefined) {
    // An ONNX type or an equivalent function, depending on the range.
    constexpr std::int64_t kSixteenBits = 21, kFloats = 19;
    const int bits = TRY(formats::make(spec.format(), spec.use.parameters))->bits();
    return bits > 8 ? kSixteenBits : kFloats;
  }
  if (spec.is_linear()) return opset_for(spec);
  const lower::StandardType standard = lower::standard_type(spec.use);
  if (standard.type != graph::ElementType::undefined) return standard.opset;
  constexpr std::int64_t kDequantizesInt32 = 10;
  if (constant && TRY(wide_format(spec.use))) return kDequantizesInt32;
  if (mode == lower::Functions::Mode::refused)
    return constant ? TRY(lower::linear_type(spec.use)).opset : std::int64_t{1};
  if (mode == lower::Functions::Mode::left_out) return 1;
  const graph::Function function =
      TRY(constant ? portable::decode(spec.use) : portable::quantize_dequantize(spec.use));
  return function.opsets.front().version.value_or(1);
}

}  // namespace

std::int64_t opset_for(const Recipe& recipe) {
  std::int64_t opset = 10;
  for (const Rule& rule : recipe.rules) {
    for (const auto* part : {&rule.scheme.data_in, &rule.scheme.weight, &rule.scheme.data_out}) {
      if (*part && (*part)->is_linear()) opset = std::max(opset, opset_for(**part));
    }
  }
  return opset;
}

Result<std::int64_t> opset_for(const GraphNotes& notes, lower::Functions::Mode mode) {
  std::int64_t opset = notes.dynamic.empty() ? 10 : 11;
  for (const Cluster& one : notes.clusters) opset = std::max(opset, TRY(opset_for(one.spec, mode, false)));
  for (const ConstantNote& one : notes.constants)
    opset = std::max(opset, TRY(opset_for(one.spec, mode, true)));
  for (const GraphNotes& one : notes.inner) opset = std::max(opset, TRY(opset_for(one, mode)));
  return opset;
}

std::int64_t ir_for(std::int64_t opset) {
  struct Pair {
    std::int64_t opset, ir;
  };
  constexpr Pair kBinary[] = {{25, 13}, {24, 12}, {23, 11}, {21, 10}, {19, 9},
                              {15, 8},  {12, 7},  {11, 6},  {10, 5}};
  for (const Pair& one : kBinary) {
    if (opset >= one.opset) return one.ir;
  }
  return 4;
}

}  // namespace anybit::quantizing
