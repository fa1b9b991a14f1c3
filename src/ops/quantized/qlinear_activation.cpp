// QLinearSigmoid and QLinearLeakyRelu: ONNX Runtime's activations on 8-bit tensors, by a 256-entry table.
// Inputs: the tensor, its scale and zero point; scale and zero point of the result.

#include "base/math.hpp"
#include "ops/quantized/quantization.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

struct Table : Prepared {
  ElementType type;
  ByteTable integers;
};

using Function = float (*)(float x, float alpha);

float sigmoid(float x, float) { return 1.0f / (1.0f + math::exp(-x)); }
float leaky_relu(float x, float alpha) { return x < 0 ? alpha * x : x; }

ByteTable table_of(ElementType type, Quantization in, Quantization out, Function function, float alpha) {
  return byte_table(type, in, out, [&](float x) { return function(x, alpha); });
}

float alpha_of(const Attributes& node) { return static_cast<float>(node.real("alpha", 0.01)); }

// The type comes from the zero points; without them the run builds the table.
template <Function kFunction>
Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  const Array* point = setup.constant(2);
  if (!setup.constant(1) || !point || !setup.constant(3) || !setup.constant(4) || !is_byte(point->type())) {
    return std::shared_ptr<const Prepared>();
  }
  auto table = std::make_shared<Table>();
  table->type = point->type();
  const Quantization in = TRY(quantization_of(setup.constant(1), point, table->type));
  const Quantization out = TRY(quantization_of(setup.constant(3), setup.constant(4), table->type));
  table->integers = table_of(table->type, in, out, kFunction, alpha_of(setup));
  return std::shared_ptr<const Prepared>(std::move(table));
}

template <Function kFunction>
Result<void> run(Frame& frame) {
  const Array& x = frame.in(0);
  if (!is_byte(x.type())) return wrong_type(frame, 0);
  const auto* kept = frame.prepared<Table>();
  ByteTable made;
  const ByteTable* table = &made;
  if (kept && kept->type == x.type()) {
    table = &kept->integers;
  } else {
    const Quantization in = TRY(quantization_at(frame, 1, 2, x.type()));
    const Quantization out = TRY(quantization_at(frame, 3, 4, x.type()));
    made = table_of(x.type(), in, out, kFunction, alpha_of(frame));
  }
  Array* out = TRY(frame.out_over(0, 0, x.type(), x.dims()));
  parallel(frame, x.stored(), 0.5, [&](std::int64_t first, std::int64_t last) {
    look_up(*table, x.data<std::uint8_t>() + first, out->mutable_data<std::uint8_t>() + first, last - first);
  });
  return {};
}

template <Function kFunction>
constexpr Descriptor activation(std::string_view name) {
  return {
      .name = name,
      .domain = kMicrosoft,
      .since = {1},
      .infer = infer_same,
      .quantized = {{.input = 0, .scale = 1, .zero_point = 2}, {.output = 0, .scale = 3, .zero_point = 4}},
      .run = run<kFunction>,
      .prepare = prepare<kFunction>,
      .required = 2,
      .layouts = Layouts::each};
}

}  // namespace

std::span<const Descriptor> qlinear_activation_descriptors() {
  static const Descriptor all[] = {activation<leaky_relu>("QLinearLeakyRelu"),
                                   activation<sigmoid>("QLinearSigmoid")};
  return all;
}

}  // namespace anybit::ops
