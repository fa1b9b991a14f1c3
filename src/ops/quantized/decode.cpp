// Decode of ai.anybit: turns packed elements of a number format, with their group parameters, into float32.
// The attribute `format` names the format; `coded` is the shape that was packed, `dims` the shape of the
// result (a convolution weight, for example, is packed as a matrix).
#include <algorithm>
#include <optional>

#include "ops/quantized/packed_tensor.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  const auto dims = call.integers("dims");
  if (!dims) return unknown_outputs(call);
  return outputs_of(call, tensor(ElementType::float32, Shape(dims->begin(), dims->end())));
}

// The format, and the weight if it is constant. (A runtime that folds no constants decodes it in every run.)
struct PreparedDecode : FormatUse {
  std::optional<StoredWeight> weight;
};

Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  auto made = std::make_shared<PreparedDecode>();
  made->use = TRY(formats::read_use(setup.text("format", "")));
  const auto known = [](const Array* one) { return one != nullptr; };
  if (!setup.constants.empty() && std::ranges::all_of(setup.constants, known))
    made->weight = TRY(StoredWeight::of(setup, made.get(), setup.constants));
  return std::shared_ptr<const Prepared>(std::move(made));
}

Result<StoredWeight> weight_in(const Frame& frame) {
  std::vector<const Array*> stored;
  for (std::size_t i = 0; i < frame.input_count(); ++i)
    stored.push_back(frame.has(i) ? &frame.in(i) : nullptr);
  return StoredWeight::of(frame, frame.prepared<FormatUse>(), stored);
}

Result<void> run(Frame& frame) {
  const auto* prepared = frame.prepared<PreparedDecode>();
  std::optional<StoredWeight> read;
  if (!prepared || !prepared->weight) read = TRY(weight_in(frame));
  const StoredWeight& weight = read ? *read : *prepared->weight;
  Array& out = *TRY(frame.out(0, ElementType::float32, Dims(std::span(weight.dims))));
  weight.codec.decode_packed(weight.codes, weight.parameters, out.mutable_data<float>(), frame.pool());
  return {};
}

}  // namespace

std::span<const Descriptor> decode_descriptors() {
  static const Descriptor all[] = {
      {.name = "Decode", .domain = kAnybit, .since = {1}, .infer = infer, .run = run, .prepare = prepare}};
  return all;
}

}  // namespace anybit::ops
