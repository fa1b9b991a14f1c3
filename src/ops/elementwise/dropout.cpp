// Dropout: passes its input through; in training mode it sets some elements to 0 and scales up the others.
// ONNX: Dropout-1 … -10 (the ratio is an attribute, only used in training, which is not supported), -12 … -22
// (training mode is an input).
#include <random>

#include "ops/create/random_stream.hpp"
#include "ops/frame.hpp"
#include "ops/gradient.hpp"
#include "ops/raise.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// The mask had the data's type until version 10.
Result<Values> infer(const Call& call) {
  Values values = outputs_of(call, tensor(call.in(0).type, call.in(0).shape));
  if (values.size() > 1) {
    values[1] = tensor(call.version < 10 ? call.in(0).type : ElementType::boolean, call.in(0).shape);
  }
  return values;
}

Result<void> hand_on(Frame& frame) {
  const Array& in = frame.in(0);
  if (frame.wants(1) && frame.version < 10) {
    Array* mask = TRY(frame.out(1, in.type(), in.dims()));
    for_real(in.type(), [&]<class T>(T) { std::ranges::fill(mask->elements<T>(), static_cast<T>(1.0f)); });
  } else if (frame.wants(1)) {
    Array* mask = TRY(frame.out(1, ElementType::boolean, in.dims()));
    std::ranges::fill(mask->elements<bool>(), true);
  }
  return frame.share(0, 0, in.dims());
}

// The random generator of ONNX's reference implementation, to reproduce its published test data.
class Uniform {
 public:
  explicit Uniform(std::uint64_t seed) : engine_(static_cast<std::uint32_t>(seed)) {}
  double next() {
    const std::uint64_t high = engine_() >> 5, low = engine_() >> 6;
    return static_cast<double>((high << 26) + low) * 0x1p-53;
  }

 private:
  std::mt19937 engine_;
};

Result<void> run(Frame& frame) {
  const Array& in = frame.in(0);
  if (!is_float(in.type())) return wrong_type(frame, 0);
  const bool training =
      frame.version >= 12 && frame.has(2) && TRY(scalar_from(frame.in(2), "training_mode")) != 0;
  const double ratio = frame.version >= 12 && frame.has(1) ? TRY(scalar_from(frame.in(1), "ratio")) : 0.5;
  if (!training || ratio == 0) return hand_on(frame);
  if (!(ratio > 0 && ratio < 1)) return wrong(fmt::format("ratio is {}", ratio), "at least 0, less than 1");
  Array* mask = frame.wants(1) ? TRY(frame.out(1, ElementType::boolean, in.dims())) : nullptr;
  Array* out = TRY(frame.out(0, in.type(), in.dims()));
  Uniform uniform(seed_of(frame));
  for_real(in.type(), [&]<class T>(T) {
    using Real = Computed<T>;
    const auto scale = static_cast<Real>(1 / (1 - ratio));
    for (std::int64_t i = 0; i < in.count(); ++i) {
      const bool kept = uniform.next() >= ratio;
      if (mask) mask->mutable_data<bool>()[i] = kept;
      const auto value = static_cast<Real>(in.data<T>()[i]);
      out->mutable_data<T>()[i] = static_cast<T>(kept ? value * scale : Real(0));
    }
  });
  return {};
}

// The mask had the data's type.
Result<void> raise_to_10(Raising& raising) {
  if (raising.edited.outputs.size() < 2 || raising.edited.outputs[1].empty()) return {};
  const ElementType type = raising.in(0).type;
  if (type == ElementType::undefined) {
    raising.wrap_output(1, "CastLike", {raising.edited.inputs[0]});
  } else {
    const auto number = static_cast<std::int64_t>(type);
    raising.wrap_output(1, "Cast", {}, {graph::attribute("to", number)});
  }
  return {};
}

Result<void> raise_to_12(Raising& raising) {
  TRY(raising.real_to_input("ratio", 1));
  return {};
}

// In training mode the mask says what was kept; the ratio gives the scale.
Result<void> gradient(Gradient& g) {
  const auto trains = g.has(2) && g.version >= 12 ? g.in(2).elements : std::optional(std::vector<Dim>{0});
  if (trains && trains->size() == 1 && (*trains)[0].is(0)) return gradient_unchanged(g);
  if (g.node.outputs.size() < 2 || g.output(1).empty()) {
    return wrong("it drops elements at random, and has no mask as an output",
                 "the output mask, or training_mode false");
  }
  // 1 / (1 - ratio), or 1 out of training mode, where the mask keeps everything.
  std::string ratio = g.has(1) ? in_type_of(g, g.input(1), g.in(0)) : g.number(0.5);
  ratio = only_where(g, g.input(2), ratio);
  const std::string scale = g.add("Reciprocal", {g.add("Sub", {g.number(1), ratio})});
  g.set(0, g.add("Mul", {only_where(g, g.output(1), g.dy()), scale}));
  return {};
}

}  // namespace

std::span<const Descriptor> dropout_descriptors() {
  static const Descriptor all[] = {{.name = "Dropout",
                                    .domain = "",
                                    .since = {1, 6, 7, 10, 12, 13, 22},
                                    .infer = infer,
                                    .run = run,
                                    .pure = false,
                                    .raise = {{10, raise_to_10}, {12, raise_to_12}},
                                    .traits = moves(),
                                    .gradient = gradient}};
  return all;
}

}  // namespace anybit::ops
