#include "ops/quantized/packed_tensor.hpp"

#include "base/checked.hpp"
#include "kernels/codec/stored_fields.hpp"
#include "ops/check.hpp"

namespace anybit::ops {
namespace {

using Integers = std::vector<std::int64_t>;

Result<std::int64_t> count_of(std::span<const std::int64_t> dims) {
  std::optional<std::int64_t> count = 1;
  for (const std::int64_t dim : dims) count = count && dim >= 0 ? checked_mul(*count, dim) : std::nullopt;
  return count ? Result<std::int64_t>(*count)
               : wrong(fmt::format("dimensions [{}]", fmt::join(dims, ", ")), "a tensor of addressable size");
}

// The fields in arrays 1 …, in the order of the format.
Result<kernels::TensorCodec::Parameters> parameters_of(const kernels::TensorCodec& codec,
                                                       std::span<const Array* const> stored) {
  std::vector<StoredField> fields;
  for (const formats::Field& field : codec.codec().fields(codec.grouping().size())) {
    if (field.stored_bits == 0) continue;
    const std::size_t i = fields.size() + 1;
    if (i >= stored.size() || !stored[i])
      return wrong(fmt::format("input {} is missing", i), std::string(field.name));
    const Array& in = *stored[i];
    if (!has_elements(in)) return not_known();
    StoredField& one = fields.emplace_back();
    one.name = field.name;
    one.type = graph::name_of(in.type());
    one.dims.assign(in.dims().begin(), in.dims().end());
    one.bytes.assign(in.bytes(), in.bytes() + in.byte_count());
  }
  auto parameters = TRY(kernels::restore(codec, fields));
  TRY(codec.check(parameters));
  return parameters;
}

}  // namespace

Result<std::shared_ptr<const Prepared>> prepare_use(const Setup& setup) {
  auto made = std::make_shared<FormatUse>();
  made->use = TRY(formats::read_use(setup.text("format", "")));
  return std::shared_ptr<const Prepared>(std::move(made));
}

Result<kernels::TensorCodec> codec_for(const Attributes& node, const FormatUse* prepared,
                                       std::span<const std::int64_t> dims) {
  return codec_for(prepared ? prepared->use : TRY(formats::read_use(node.text("format", ""))), dims);
}

Result<kernels::TensorCodec> codec_for(const formats::Use& use, std::span<const std::int64_t> dims) {
  if (use.rank && static_cast<std::size_t>(*use.rank) != dims.size())
    return wrong(fmt::format("a tensor of rank {}", dims.size()), fmt::format("rank {}", *use.rank));
  return kernels::TensorCodec::make(
      use.format, formats::Dims(dims.begin(), dims.end()),
      {.parameters = use.parameters, .grouping = use.grouping, .rounding = use.rounding});
}

Result<void> quantize_dequantize(Frame& frame, const FormatUse& format) {
  return quantize_dequantize(frame, format, frame.in(0).dims());
}

Result<void> quantize_dequantize(Frame& frame, const FormatUse& format, const Dims& dims) {
  const Array& x = frame.in(0);
  if (x.type() != ElementType::float32) return wrong_type(frame, 0);
  auto codec = format.codecs.find(dims);
  if (!codec) codec = format.codecs.keep(dims, TRY(codec_for(format.use, dims.span())));
  if (codec->count() != x.count())
    return wrong(fmt::format("{} values to divide as [{}]", x.count(), fmt::join(dims.span(), ", ")));
  Array& out = *TRY(frame.out(0, x.type(), x.dims()));
  codec->choose_and_quantize(x.elements<float>(), out.mutable_data<float>(), frame.pool());
  return {};
}

Result<kernels::TensorCodec> StoredWeight::codec_of(const Attributes& node, const FormatUse* prepared) {
  const auto dims = node.integers("dims");
  if (!dims) return wrong("the attribute dims is missing");
  const Integers coded = node.integers("coded").value_or(*dims);
  if (TRY(count_of(coded)) != TRY(count_of(*dims)))
    return wrong(
        fmt::format("the packed shape is [{}], dims is [{}]", fmt::join(coded, ", "), fmt::join(*dims, ", ")),
        "the same number of values");
  return codec_for(node, prepared, coded);
}

Result<StoredWeight> StoredWeight::of(const Attributes& node, const FormatUse* prepared,
                                      std::span<const Array* const> stored) {
  kernels::TensorCodec codec = TRY(codec_of(node, prepared));
  if (stored.empty() || !stored[0]) return wrong("the packed data is missing");
  const Array& codes = *stored[0];
  if (codes.type() != ElementType::uint8)
    return wrong(fmt::format("the packed data is {}", to_string(codes)), "uint8");
  if (codes.count() != codec.packed_bytes())
    return wrong(fmt::format("{} bytes of packed data", codes.count()),
                 fmt::format("[{}] in {} takes {}", fmt::join(codec.grouping().dims, ", "),
                             codec.descriptor().name, codec.packed_bytes()));
  if (!has_elements(codes)) return not_known();
  auto parameters = TRY(parameters_of(codec, stored));
  return StoredWeight{std::move(codec), *node.integers("dims"), codes.data<std::uint8_t>(),
                      std::move(parameters)};
}

}  // namespace anybit::ops
