// Decode of ai.anybit: packed codes of a number format, and what groups of values share, become float32. The
// attribute `format` tells which; `coded` has the dimensions of the tensor that was coded, `dims` those that
// it gets (those of a convolution's weight, say, which is coded as a matrix).
#include "base/checked.hpp"
#include "kernels/stored_fields.hpp"
#include "ops/coded.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

using Integers = std::vector<std::int64_t>;

Result<Values> infer(const Call& call) {
  const auto dims = call.integers("dims");
  if (!dims) return unknown_outputs(call);
  return outputs_of(call, tensor(ElementType::float32, Shape(dims->begin(), dims->end())));
}

Result<std::int64_t> count_of(std::span<const std::int64_t> dims) {
  std::optional<std::int64_t> count = 1;
  for (const std::int64_t dim : dims) count = count && dim >= 0 ? checked_mul(*count, dim) : std::nullopt;
  return count ? Result<std::int64_t>(*count)
               : wrong(fmt::format("dimensions [{}]", fmt::join(dims, ", ")), "no tensor is as large");
}

Result<kernels::TensorCodec> codec_of(const Frame& frame, const Integers& dims) {
  const Integers coded = frame.integers("coded").value_or(dims);
  if (TRY(count_of(coded)) != TRY(count_of(dims)))
    return wrong(fmt::format("coded as [{}], used as [{}]", fmt::join(coded, ", "), fmt::join(dims, ", ")),
                 "the same number of values");
  return codec_for(frame, coded);
}

// The fields that inputs 1 … hold, in the order of the format.
Result<kernels::TensorCodec::Parameters> parameters_of(const Frame& frame,
                                                       const kernels::TensorCodec& codec) {
  std::vector<StoredField> fields;
  for (const formats::Field& field : codec.codec().fields(codec.grouping().size())) {
    if (field.stored_bits == 0) continue;
    const std::size_t i = fields.size() + 1;
    if (!frame.has(i)) return wrong(fmt::format("input {} is missing", i), std::string(field.name));
    const Array& in = frame.in(i);
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

Result<void> run(Frame& frame) {
  const auto dims = frame.integers("dims");
  if (!dims) return wrong("the attribute dims is missing");
  const Array& codes = frame.in(0);
  if (codes.type() != ElementType::uint8) return wrong_type(frame, 0);
  const kernels::TensorCodec codec = TRY(codec_of(frame, *dims));
  if (codes.count() != codec.packed_bytes())
    return wrong(fmt::format("{} bytes of codes", codes.count()),
                 fmt::format("[{}] in {} takes {}", fmt::join(codec.grouping().dims, ", "),
                             codec.descriptor().name, codec.packed_bytes()));
  const auto parameters = TRY(parameters_of(frame, codec));
  Array& out = *TRY(frame.out(0, ElementType::float32, Dims(std::span(*dims))));
  codec.decode_packed(codes.data<std::uint8_t>(), parameters, out.mutable_data<float>(), frame.pool());
  return {};
}

}  // namespace

std::span<const Descriptor> decode_descriptors() {
  static const Descriptor all[] = {{.name = "Decode",
                                    .domain = kAnybit,
                                    .since = {1},
                                    .infer = infer,
                                    .run = run,
                                    .prepare = prepare_use}};
  return all;
}

}  // namespace anybit::ops
