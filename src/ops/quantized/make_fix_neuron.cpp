// The attributes of AMD Quark's operators for a format.
#include <algorithm>

#include "base/error.hpp"
#include "base/try.hpp"
#include "formats/bfp_prime.hpp"
#include "formats/block_fp.hpp"
#include "formats/mx.hpp"
#include "formats/shared_micro.hpp"
#include "formats/table.hpp"
#include "graph/node.hpp"
#include "ops/quantized/fix_neuron.hpp"

namespace anybit::ops {
namespace {

using formats::Use;
using graph::Attribute;

constexpr std::int64_t kExponentBits = 8;  // which bit_width includes

Error lacks(const Use& use, std::string_view what, std::string hint) {
  return error_at(Code::unsupported, {}, fmt::format("AMD Quark has no operator for {}{}", use.format, what),
                  std::move(hint));
}

Result<std::int64_t> rounding_mode(const Use& use, formats::Rounding rounding) {
  switch (rounding) {
    case formats::Rounding::half_away:
      return 0;
    case formats::Rounding::half_up:
      return 1;
    case formats::Rounding::half_even:
      return 2;
    default:
      return lacks(use, fmt::format(" rounded {}", formats::name_of(rounding)),
                   "half_away, half_up or half_even");
  }
}

struct Written {
  bool is_mx;
  std::vector<Attribute> attributes;
};

// What both operators have.
struct Common {
  std::int64_t axis, block_size, rounding;
};

std::vector<Attribute> with(const Common& common, std::vector<Attribute> own) {
  own.push_back(graph::attribute("axis", common.axis));
  own.push_back(graph::attribute("block_size", common.block_size));
  own.push_back(graph::attribute("rounding_mode", common.rounding));
  return own;
}

Result<Written> mx_attributes(const Use& use, const formats::MxCodec& codec, const Common& common) {
  if (codec.options().scale_rule != formats::ScaleRule::floor || codec.options().symmetric)
    return lacks(use, " with these parameters", "scale_rule floor, symmetric false");
  const std::string element = codec.element().integer ? "int8" : std::string(codec.element().format);
  return Written{true, with(common, {graph::attribute("element_dtype", element)})};
}

Result<Written> bfp_attributes(const Use& use, const formats::BlockFpCodec& codec, const Common& common) {
  const formats::BlockFpLayout& layout = codec.layout();
  const bool compiler = layout.rule == formats::BlockFpLayout::Rule::fit_positive;
  if (layout.exponent_width != kExponentBits || layout.exponent_bias != 127 || layout.width < 2 ||
      (compiler && layout.width != 8))
    return lacks(use, " with these parameters", "exponent_width 8");
  return Written{false,
                 with(common, {graph::attribute("bfp_method", std::string("to_bfp")),
                               graph::attribute("bit_width", layout.width + kExponentBits),
                               graph::attribute("use_compiler_version_cpu_kernel", std::int64_t{compiler})})};
}

std::vector<Attribute> prime_attributes(const formats::BfpPrimeLayout& layout, const Common& common) {
  return with(common, {graph::attribute("bfp_method", std::string("to_bfp_prime")),
                       graph::attribute("bit_width", layout.width + kExponentBits),
                       graph::attribute("sub_block_size", std::int64_t{layout.sub_block_size}),
                       graph::attribute("sub_block_shift_bits", std::int64_t{layout.shift_bits})});
}

Result<Written> attributes_of(const Use& use, std::int64_t axis) {
  const formats::Descriptor& format = *TRY(formats::find(use.format));
  const formats::Values values = TRY(formats::complete(format, use.parameters));
  const auto codec = TRY(format.make(values));
  if (use.grouping.granularity.value_or(format.granularity) != formats::Granularity::block ||
      !use.grouping.block.empty())
    return lacks(use, " in this granularity", "blocks along an axis");
  const std::int64_t rounding = TRY(rounding_mode(use, codec->rounding(use.rounding)));
  const Common common{axis, use.grouping.block_size.value_or(format.block_size), rounding};
  if (const auto* mx = dynamic_cast<const formats::MxCodec*>(codec.get()))
    return mx_attributes(use, *mx, common);
  if (const auto* bfp = dynamic_cast<const formats::BlockFpCodec*>(codec.get()))
    return bfp_attributes(use, *bfp, common);
  if (const auto* prime = dynamic_cast<const formats::BfpPrimeCodec*>(codec.get()))
    return Written{false, prime_attributes(prime->layout(), common)};
  if (dynamic_cast<const formats::SharedMicroCodec*>(codec.get()) != nullptr)
    return Written{false, prime_attributes({.width = codec->bits()}, common)};
  return lacks(use, "", "MX formats, bfp16, block_fp, bfp_prime, mx9, mx6 or mx4");
}

}  // namespace

Result<graph::Node> make_fix_neuron(const Use& use, std::int64_t axis, std::string_view domain) {
  Written written = TRY(attributes_of(use, axis));
  const bool old = domain == kVitis;
  const std::string_view op = written.is_mx ? (old ? "MXFixNeuron" : "MXQuantizeDequantize")
                                            : (old ? "BFPFixNeuron" : "BFPQuantizeDequantize");
  return graph::make_node(op, {}, {}, std::move(written.attributes), domain);
}

}  // namespace anybit::ops
