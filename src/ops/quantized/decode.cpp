// Decode of ai.anybit: turns packed elements of a number format, with their group parameters, into float32.
// The attribute `format` names the format; `coded` is the shape that was packed, `dims` the shape of the
// result (a convolution weight, for example, is packed as a matrix).
#include "ops/quantized/packed_tensor.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  const auto dims = call.integers("dims");
  if (!dims) return unknown_outputs(call);
  return outputs_of(call, tensor(ElementType::float32, Shape(dims->begin(), dims->end())));
}

Result<void> run(Frame& frame) {
  std::vector<const Array*> stored;
  for (std::size_t i = 0; i < frame.input_count(); ++i)
    stored.push_back(frame.has(i) ? &frame.in(i) : nullptr);
  const StoredWeight weight = TRY(StoredWeight::of(frame, frame.prepared<FormatUse>(), stored));
  Array& out = *TRY(frame.out(0, ElementType::float32, Dims(std::span(weight.dims))));
  weight.codec.decode_packed(weight.codes, weight.parameters, out.mutable_data<float>(), frame.pool());
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
