// MatMulNBits: matrix multiplication with 2-, 4- or 8-bit weights that have one scale per block of a column.
// The documentation of ONNX Runtime's operator defines the layout of the packed weights and zero points.
#include "base/checked.hpp"
#include "kernels/gemm/gemm_dynamic_int8.hpp"
#include "ops/check.hpp"
#include "ops/matmul/batched_gemm.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// Attributes K and N give the shape of the weight.
Result<Values> infer(const Call& call) {
  auto shape = call.in(0).shape;
  const auto columns = call.integer("N");
  if (shape && !shape->empty()) shape->back() = columns ? Dim(*columns) : Dim();
  return outputs_of(call, tensor(call.in(0).type, std::move(shape)));
}
Dim macs(const Call& call, std::span<const Value> outputs) {
  const auto depth = call.integer("K");
  if (!depth || outputs.empty() || !outputs[0].shape) return {};
  return product(*outputs[0].shape) * Dim(*depth);
}

// Layout of the packed weights: column by column, blocks of `block` values each, low bits first.
struct CodeLayout {
  std::int64_t k = 0, n = 0, block = 0;
  int bits = 4;
  std::int64_t blocks() const { return (k + block - 1) / block; }
  std::int64_t column_bytes() const { return blocks() * block * bits / 8; }
};

struct Codes : Prepared {
  std::unique_ptr<const kernels::FloatRhs> packed;
  std::int64_t bytes() const override { return packed->bytes(); }
};

constexpr std::size_t kCodes = 1, kScales = 2, kZeros = 3, kGroups = 4, kBias = 5;
constexpr std::int64_t kInt8 = 4;  // accuracy_level from which the rows of A may be quantized to int8

Result<void> check_count(const Array& array, std::string_view what, std::optional<std::int64_t> wanted) {
  if (wanted && array.count() == *wanted) return {};
  return wrong(fmt::format("{} is {}", what, to_string(array)),
               fmt::format("{} elements", wanted.value_or(0)));
}

std::vector<float> floats_of(const Array& array) {
  if (!has_elements(array)) return {};
  std::vector<float> all(static_cast<std::size_t>(array.count()));
  for_real(array.type(), [&]<class T>(T) {
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(array.data<T>()[i]);
  });
  return all;
}

// Packed like the weights; each column starts at a new byte.
Result<std::vector<float>> zero_points_of(const Array& array, const CodeLayout& codes) {
  const std::int64_t blocks = codes.blocks();
  if (array.type() != ElementType::uint8) {
    TRY(check_count(array, "the zero points", checked_mul(codes.n, blocks)));
    if (!for_real(array.type(), [](auto) {}))
      return wrong("the zero points have the wrong type", "uint8 or a float type");
    return floats_of(array);
  }
  const std::int64_t bytes = (blocks * codes.bits + 7) / 8;
  TRY(check_count(array, "the zero points", checked_mul(codes.n, bytes)));
  std::vector<float> all;
  for (std::int64_t i = 0; has_elements(array) && i < codes.n * blocks; ++i) {
    const std::int64_t bit = i % blocks * codes.bits;
    const int byte = array.data<std::uint8_t>()[i / blocks * bytes + bit / 8];
    all.push_back(static_cast<float>(byte >> bit % 8 & ((1 << codes.bits) - 1)));
  }
  return all;
}

Result<CodeLayout> layout_of(const Attributes& node) {
  CodeLayout codes;
  codes.k = node.integer("K", 0);
  codes.n = node.integer("N", 0);
  codes.block = node.integer("block_size", 0);
  const std::int64_t bits = node.integer("bits", 4);
  if (bits != 2 && bits != 4 && bits != 8) {
    return wrong(fmt::format("bits is {}", bits), "2, 4 or 8");
  }
  codes.bits = static_cast<int>(bits);
  const bool power = codes.block >= 16 && (codes.block & (codes.block - 1)) == 0;
  if (codes.k <= 0 || codes.n <= 0 || !power || codes.k > INT64_MAX - codes.block) {
    return wrong(fmt::format("K={}, N={}, block_size={}", codes.k, codes.n, codes.block),
                 "positive sizes, and a block_size that is a power of 2, 16 or more");
  }
  return codes;
}

// The parts of a weight, after validation.
struct Parts {
  CodeLayout layout = {};
  const std::uint8_t* codes = nullptr;
  std::vector<float> scales = {}, zeros = {};  // by column, then by block; empty zeros: half of the range
  const std::int32_t* groups = nullptr;

  int code(std::int64_t k, std::int64_t column) const {
    const std::int64_t bit = k * layout.bits;
    return codes[column * layout.column_bytes() + bit / 8] >> bit % 8 & ((1 << layout.bits) - 1);
  }
};

// `input(i)` is null for an omitted input.
template <class Input>
Result<Parts> parts_of(const Attributes& node, const Input& input) {
  Parts parts{.layout = TRY(layout_of(node))};
  const CodeLayout& layout = parts.layout;
  const Array &weight = *input(kCodes), &scale = *input(kScales);
  const auto groups = checked_mul(layout.n, layout.blocks());
  if (weight.type() != ElementType::uint8)
    return wrong(fmt::format("the weight is {}", to_string(weight)), "uint8");
  TRY(check_count(scale, "the scales", groups));
  TRY(check_count(weight, "the weight",
                  groups ? checked_mul(*groups, layout.block * layout.bits / 8) : groups));
  if (!for_real(scale.type(), [](auto) {})) return wrong(fmt::format("the scales are {}", to_string(scale)));
  parts.scales = floats_of(scale);
  if (const Array* given = input(kZeros)) parts.zeros = TRY(zero_points_of(*given, layout));
  if (const Array* given = input(kGroups)) {
    if (given->type() != ElementType::int32) return wrong("g_idx must be int32");
    TRY(check_count(*given, "g_idx", layout.k));
    for (std::int64_t i = 0; has_elements(*given) && i < given->count(); ++i) {
      const std::int32_t group = given->data<std::int32_t>()[i];
      if (group < 0 || group >= layout.blocks()) {
        return wrong(fmt::format("g_idx has {}", group), fmt::format("0 to {}", layout.blocks() - 1));
      }
    }
    parts.groups = given->data<std::int32_t>();
  }
  parts.codes = weight.data<std::uint8_t>();
  return parts;
}

// Fallback: dequantizes the whole weight, if g_idx maps each row to its group or if the kernel rejects the
// weight.
std::unique_ptr<const kernels::FloatRhs> decoded(const Parts& parts) {
  const CodeLayout& layout = parts.layout;
  std::vector<float> all(static_cast<std::size_t>(layout.k * layout.n));
  for (std::int64_t c = 0; c < layout.n; ++c) {
    for (std::int64_t k = 0; k < layout.k; ++k) {
      const std::int64_t block = parts.groups ? parts.groups[k] : k / layout.block;
      const auto i = static_cast<std::size_t>(c * layout.blocks() + block);
      const float zero = parts.zeros.empty() ? static_cast<float>(1 << (layout.bits - 1)) : parts.zeros[i];
      all[static_cast<std::size_t>(c * layout.k + k)] =
          (static_cast<float>(parts.code(k, c)) - zero) * parts.scales[i];
    }
  }
  return std::make_unique<const kernels::PackedFloats>(kernels::MatrixView<float>{all.data(), 1, layout.k},
                                                       layout.k, layout.n);
}

template <class Input>
Result<std::unique_ptr<const kernels::FloatRhs>> pack(const Attributes& node, const Input& input) {
  const Parts parts = TRY(parts_of(node, input));
  if (parts.groups) return decoded(parts);
  kernels::CodeMatrix matrix{.k = parts.layout.k, .n = parts.layout.n, .block = parts.layout.block};
  std::vector<float> table;
  const int middle = parts.zeros.empty() ? 1 << (parts.layout.bits - 1) : 0;
  for (int code = 0; code < 1 << parts.layout.bits; ++code)
    table.push_back(static_cast<float>(code - middle));
  matrix.table = table;
  matrix.column = [&](std::int64_t column, std::uint8_t* codes) {
    for (std::int64_t k = 0; k < parts.layout.k; ++k)
      codes[k] = static_cast<std::uint8_t>(parts.code(k, column));
  };
  matrix.factors = parts.scales.data();
  matrix.zeros = parts.zeros.empty() ? nullptr : parts.zeros.data();
  const bool rounded = node.integer("accuracy_level", 0) == kInt8;
  std::unique_ptr<const kernels::FloatRhs> packed = kernels::pack_codes(matrix, rounded);
  return packed ? std::move(packed) : decoded(parts);
}

Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  for (const std::size_t i : {kCodes, kScales, kZeros, kGroups}) {
    const bool given = i < setup.node.inputs.size() && !setup.node.inputs[i].empty();
    if (given && !setup.constant(i)) return std::shared_ptr<const Prepared>();
  }
  auto codes = std::make_shared<Codes>();
  codes->packed = TRY(pack(setup, [&](std::size_t i) { return setup.constant(i); }));
  return std::shared_ptr<const Prepared>(std::move(codes));
}

Result<void> run(Frame& frame) {
  const Array& a = frame.in(0);
  TRY(expect_inputs(frame, {kCodes, kScales}));
  const auto* prepared = frame.prepared<Codes>();
  Codes own;
  if (only_checks(frame)) {
    TRY(parts_of(frame, [&](std::size_t i) { return frame.has(i) ? &frame.in(i) : nullptr; }));
  } else if (!prepared) {
    own.packed = TRY(pack(frame, [&](std::size_t i) { return frame.has(i) ? &frame.in(i) : nullptr; }));
    prepared = &own;
  }
  const CodeLayout layout = TRY(layout_of(frame));
  if (a.rank() == 0 || a.dims().back() != layout.k) {
    return wrong(fmt::format("input 0 is {}", to_string(a)), fmt::format("{} on its last axis", layout.k));
  }
  if (!for_real(a.type(), [](auto) {})) return wrong_type(frame, 0);
  if (frame.has(kBias)) {
    TRY(check_count(frame.in(kBias), "the bias", layout.n));
    if (!for_real(frame.in(kBias).type(), [](auto) {})) return wrong_type(frame, kBias);
  }
  Dims dims = a.dims();
  dims.back() = layout.n;
  Array& out = *TRY(frame.out(0, a.type(), dims));
  const bool direct = a.type() == ElementType::float32;
  kernels::FloatGemmWork work{.m = a.count() / layout.k, .n = layout.n, .k = layout.k};
  work.a = {TRY(as_floats(frame, a)), layout.k, 1};
  work.b = prepared->packed.get();
  work.c = direct ? out.mutable_data<float>() : TRY(frame.scratch_of<float>(out.count())).data();
  work.c_stride = layout.n;
  if (frame.has(kBias)) {
    work.epilogue.addend = {TRY(as_floats(frame, frame.in(kBias))), 0, 1};
  }
  kernels::gemm(work, frame.pool());
  if (!direct) from_floats(work.c, out);
  return {};
}

}  // namespace

std::span<const Descriptor> matmul_nbits_descriptors() {
  static const Descriptor all[] = {
      {.name = "MatMulNBits",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer,
       .macs = macs,
       .quantized = {{.input = 1, .scale = 2, .zero_point = 3}},
       .run = run,
       .prepare = prepare,
       .required = 3},
  };
  return all;
}

}  // namespace anybit::ops
