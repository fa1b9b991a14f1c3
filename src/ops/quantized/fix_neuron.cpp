// Fake quantization in MX and block floating point as AMD's tools write it: MXFixNeuron and BFPFixNeuron,
// called MXQuantizeDequantize and BFPQuantizeDequantize in newer versions. A tensor of one value is passed
// on.
#include "ops/quantized/fix_neuron.hpp"

#include <algorithm>
#include <bit>

#include "graph/node.hpp"
#include "kernels/elementwise/float16.hpp"
#include "ops/check.hpp"
#include "ops/node_attributes.hpp"
#include "ops/quantized/packed_tensor.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

constexpr std::string_view kRoundings[] = {"half_away", "half_up", "half_even"};
constexpr std::int64_t kCompilerBits = 16;

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

Result<FixNeuron> mx(const Attributes& node) {
  const Block block = TRY(block_of(node, 32));
  const std::string_view element = node.text("element_dtype", "int8");
  for (const std::string_view one : {"fp8_e5m2", "fp8_e4m3", "fp6_e3m2", "fp6_e2m3", "fp4_e2m1", "int8"}) {
    if (one == element)
      return FixNeuron{
          TRY(formats::read_use(fmt::format("mx{} profile=quark rounding_mode={} axis={} block_size={}",
                                            element, block.rounding, block.axis, block.size)))};
  }
  return wrong(fmt::format("element_dtype is '{}'", element),
               "fp8_e5m2, fp8_e4m3, fp6_e3m2, fp6_e2m3, fp4_e2m1 or int8");
}

Result<std::string> bfp_format(const Attributes& node, std::int64_t bits) {
  const bool compiler = node.integer("use_compiler_version_cpu_kernel", 0) != 0;
  if (compiler && bits != kCompilerBits)
    return wrong(fmt::format("use_compiler_version_cpu_kernel with bit_width {}", bits), "bit_width 16");
  const std::string format = bits == 16 ? "bfp16" : fmt::format("block_fp width={}", bits - 8);
  return fmt::format("{} profile={}", format, compiler ? "quark_compiler" : "quark");
}

Result<std::string> bfp_prime_format(const Attributes& node, std::int64_t bits, std::int64_t block_size) {
  const std::int64_t sub_block = node.integer("sub_block_size", 2);
  if (sub_block < 1 || block_size % sub_block != 0)
    return wrong(fmt::format("sub_block_size is {} in blocks of {}", sub_block, block_size),
                 "a divisor of block_size");
  return fmt::format("bfp_prime width={} sub_block_size={} sub_block_shift_bits={}", bits - 8, sub_block,
                     node.integer("sub_block_shift_bits", 1));
}

// bit_width includes the 8 bits of the shared exponent.
Result<FixNeuron> bfp(const Attributes& node) {
  const Block block = TRY(block_of(node, 8));
  const std::string_view method = node.text("bfp_method", "to_bfp");
  const bool prime = method == "to_bfp_prime" || method == "to_bfp_prime_shared";
  if (!prime && method != "to_bfp")
    return wrong(fmt::format("bfp_method is '{}'", method), "to_bfp or to_bfp_prime");
  const std::int64_t bits = node.integer("bit_width", 16);
  if (bits < 10 || bits > 24) return wrong(fmt::format("bit_width is {}", bits), "10 to 24; 16 is BFP16");
  const std::string format = TRY(prime ? bfp_prime_format(node, bits, block.size) : bfp_format(node, bits));
  return FixNeuron{
      TRY(formats::read_use(fmt::format("{} axis={} block_size={} rounding={}", format, block.axis,
                                        block.size, kRoundings[static_cast<std::size_t>(block.rounding)]))),
      node.integer("convert_to_bfloat_before_bfp", 0) != 0};
}

struct Named {
  std::string_view op, domain;
  Result<FixNeuron> (*read)(const Attributes& node);
};
constexpr Named kOps[] = {{"MXFixNeuron", kVitis, mx},
                          {"BFPFixNeuron", kVitis, bfp},
                          {"MXQuantizeDequantize", kQuark, mx},
                          {"BFPQuantizeDequantize", kQuark, bfp}};

const Named* find(const graph::Node& node) {
  const auto* found = std::ranges::find_if(
      kOps, [&](const Named& one) { return one.op == node.op_type && one.domain == node.domain; });
  return found == std::end(kOps) ? nullptr : found;
}

struct PreparedFixNeuron : Prepared {
  FixNeuron neuron;
  CodecCache codecs;
};

Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  auto made = std::make_shared<PreparedFixNeuron>();
  made->neuron = TRY(fix_neuron_of(setup));
  return std::shared_ptr<const Prepared>(std::move(made));
}

// On the bits, so that NaN becomes what it becomes there.
void round_to_bfloat16(const float* from, float* to, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(from[i]);
    to[i] = std::bit_cast<float>((bits + 0x7FFFu + (bits >> 16 & 1u)) & 0xFFFF0000u);
  }
}

// The input as float32, rounded to bfloat16 if that is asked.
Result<const float*> values_of(Frame& frame, bool through_bfloat16) {
  const Array& x = frame.in(0);
  const auto count = static_cast<std::size_t>(x.count());
  const bool half = x.type() == ElementType::float16;
  if (!half && !through_bfloat16) return x.data<float>();
  float* values = TRY(frame.scratch_of<float>(x.count())).data();
  if (half) kernels::from_float16(reinterpret_cast<const std::uint16_t*>(x.bytes()), values, count);
  if (through_bfloat16) round_to_bfloat16(half ? values : x.data<float>(), values, count);
  return values;
}

Result<void> quantize(Frame& frame, const PreparedFixNeuron& node, const float* x, float* out) {
  const Dims& dims = frame.in(0).dims();
  const auto count = static_cast<std::size_t>(frame.in(0).count());
  if (count == 1) {
    *out = *x;
    return {};
  }
  auto codec = node.codecs.find(dims);
  if (!codec) codec = node.codecs.keep(dims, TRY(codec_for(node.neuron.use_for(dims.size()), dims.span())));
  codec->choose_and_quantize({x, count}, out, frame.pool());
  return {};
}

Result<void> run(Frame& frame) {
  const Array& x = frame.in(0);
  const bool half = x.type() == ElementType::float16;
  if (!half && x.type() != ElementType::float32) return wrong_type(frame, 0);
  PreparedFixNeuron made;
  const auto* prepared = frame.prepared<PreparedFixNeuron>();
  if (!prepared) made.neuron = TRY(fix_neuron_of(frame));
  const PreparedFixNeuron& node = prepared ? *prepared : made;
  const float* values = TRY(values_of(frame, node.neuron.through_bfloat16));
  Array& out = *TRY(frame.out(0, x.type(), x.dims()));
  if (!half) return quantize(frame, node, values, out.mutable_data<float>());
  const auto rounded = TRY(frame.scratch_of<float>(x.count()));
  TRY(quantize(frame, node, values, rounded.data()));
  kernels::to_float16(rounded.data(), reinterpret_cast<std::uint16_t*>(out.mutable_bytes()), rounded.size());
  return {};
}

constexpr Descriptor descriptor(const Named& one) {
  return {.name = one.op,
          .domain = one.domain,
          .since = {1},
          .infer = infer_same,
          .run = run,
          .prepare = prepare};
}

}  // namespace

bool is_fix_neuron(const graph::Node& node) { return find(node) != nullptr; }

Result<FixNeuron> fix_neuron_of(const Attributes& node) { return find(node.node)->read(node); }

Result<formats::Use> format_of(const graph::Node& node) {
  if (!is_fix_neuron(node)) return formats::read_use(graph::text(node, "format", ""));
  return TRY(fix_neuron_of(NodeAttributes(node))).use;
}

formats::Use FixNeuron::use_for(std::size_t rank) const {
  formats::Use made = use;
  if (rank == 1) made.grouping.axis = 0;
  return made;
}

std::span<const Descriptor> fix_neuron_descriptors() {
  static const Descriptor all[] = {descriptor(kOps[0]), descriptor(kOps[1]), descriptor(kOps[2]),
                                   descriptor(kOps[3])};
  return all;
}

}  // namespace anybit::ops
