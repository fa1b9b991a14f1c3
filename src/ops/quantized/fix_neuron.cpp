// Fake quantization in MX and block floating point as AMD's tools write it: MXFixNeuron and BFPFixNeuron,
// called MXQuantizeDequantize and BFPQuantizeDequantize in newer versions.
#include "ops/quantized/packed_tensor.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

constexpr std::string_view kOld = "com.vai.quantize", kNew = "com.amd.quark";
constexpr std::string_view kRoundings[] = {"half_away", "half_up", "half_even"};

struct Block {
  std::int64_t axis, size, rounding;
};

Result<Block> block_of(const Attributes& node, std::int64_t size) {
  const Block block{node.integer("axis", 1), node.integer("block_size", size),
                    node.integer("rounding_mode", 0)};
  if (block.rounding < 0 || block.rounding > 2)
    return wrong(fmt::format("rounding_mode is {}", block.rounding), "0 half away, 1 half up, 2 half even");
  return block;
}

Result<formats::Use> mx_use(const Attributes& node) {
  const Block block = TRY(block_of(node, 32));
  const std::string_view element = node.text("element_dtype", "int8");
  for (const std::string_view one : {"fp8_e5m2", "fp8_e4m3", "fp6_e3m2", "fp6_e2m3", "fp4_e2m1", "int8"}) {
    if (one == element)
      return formats::read_use(fmt::format("mx{} profile=quark rounding_mode={} axis={} block_size={}",
                                           element, block.rounding, block.axis, block.size));
  }
  return wrong(fmt::format("element_dtype is '{}'", element),
               "fp8_e5m2, fp8_e4m3, fp6_e3m2, fp6_e2m3, fp4_e2m1 or int8");
}

// bit_width includes the 8 bits of the shared exponent.
Result<formats::Use> bfp_use(const Attributes& node) {
  const Block block = TRY(block_of(node, 8));
  const std::string_view method = node.text("bfp_method", "to_bfp");
  if (method != "to_bfp") return wrong(fmt::format("bfp_method is '{}'", method), "to_bfp");
  const std::int64_t bits = node.integer("bit_width", 16);
  if (bits < 10 || bits > 24) return wrong(fmt::format("bit_width is {}", bits), "10 to 24; 16 is BFP16");
  return formats::read_use(fmt::format("block_fp width={} exponent_width=8 axis={} block_size={} rounding={}",
                                       bits - 8, block.axis, block.size,
                                       kRoundings[static_cast<std::size_t>(block.rounding)]));
}

using UseOf = Result<formats::Use> (*)(const Attributes& node);

template <UseOf use_of>
Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  auto made = std::make_shared<FormatUse>();
  made->use = TRY(use_of(setup));
  return std::shared_ptr<const Prepared>(std::move(made));
}

template <UseOf use_of>
Result<void> run(Frame& frame) {
  const auto* prepared = frame.prepared<FormatUse>();
  return quantize_dequantize(frame, prepared ? prepared->use : TRY(use_of(frame)));
}

template <UseOf use_of>
constexpr Descriptor descriptor(std::string_view name, std::string_view domain) {
  return {.name = name,
          .domain = domain,
          .since = {1},
          .infer = infer_same,
          .run = run<use_of>,
          .prepare = prepare<use_of>};
}

}  // namespace

std::span<const Descriptor> fix_neuron_descriptors() {
  static const Descriptor all[] = {
      descriptor<mx_use>("MXFixNeuron", kOld), descriptor<bfp_use>("BFPFixNeuron", kOld),
      descriptor<mx_use>("MXQuantizeDequantize", kNew), descriptor<bfp_use>("BFPQuantizeDequantize", kNew)};
  return all;
}

}  // namespace anybit::ops
