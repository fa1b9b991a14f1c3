// Cast, CastLike and BitCast: another element type, the same shape. ONNX: Cast-1 … -25, CastLike-15 …,
// BitCast-26. CastThrough of ai.anybit fuses two Casts: to the type `through`, then to `to`.
#include <algorithm>
#include <cstring>
#include <utility>

#include "graph/node.hpp"
#include "kernels/elementwise/float16.hpp"
#include "ops/check.hpp"
#include "ops/convert.hpp"
#include "ops/elementwise/element_kernel.hpp"
#include "ops/frame.hpp"
#include "ops/gradient.hpp"
#include "ops/number_text.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

constexpr std::int64_t kExactInFloat = 1 << 24;
constexpr std::int64_t kMostBytes = 8;  // of a number

// Integers keep their value in a type that can hold them. Narrow types would wrap or round.
std::optional<std::vector<Dim>> cast_elements(const Value& input, ElementType to) {
  using enum ElementType;
  if (!input.elements) return std::nullopt;
  std::vector<Dim> list = *input.elements;
  for (Dim& dim : list) {
    if (to == boolean) {
      dim = dim.known() ? Dim(*dim.size != 0) : Dim();
    } else if (to == float32 || to == float64) {
      if (dim.known() && (*dim.size > kExactInFloat || *dim.size < -kExactInFloat)) dim = Dim();
    } else if (to == int32) {
      if (dim.known() && *dim.size != static_cast<std::int32_t>(*dim.size)) dim = Dim();
    } else if (to != int64) {
      return std::nullopt;
    }
  }
  return list;
}

Values cast_to(const Call& call, ElementType to) {
  Value value = tensor(to, call.in(0).shape);
  value.elements = cast_elements(call.in(0), to);
  return outputs_of(call, std::move(value));
}

Result<Values> infer_cast(const Call& call) {
  // Version 1 spelled the type out: "INT64".
  if (call.version < 6) return outputs_of(call, tensor(ElementType::undefined, call.in(0).shape));
  return cast_to(call, type_of(call.integer("to", 0)));
}

Result<Values> infer_cast_through(const Call& call) { return cast_to(call, type_of(call.integer("to", 0))); }

Result<Values> infer_cast_like(const Call& call) { return cast_to(call, call.in(1).type); }

Result<Values> infer_bit_cast(const Call& call) {
  return outputs_of(call, tensor(type_of(call.integer("to", 0)), call.in(0).shape));
}

// Version 1 spelled the type out, in ONNX's own capitals.
ElementType type_named(std::string_view name) {
  using enum ElementType;
  static constexpr std::pair<std::string_view, ElementType> kNames[] = {
      {"FLOAT", float32}, {"DOUBLE", float64}, {"FLOAT16", float16}, {"INT8", int8},
      {"INT16", int16},   {"INT32", int32},    {"INT64", int64},     {"UINT8", uint8},
      {"UINT16", uint16}, {"UINT32", uint32},  {"UINT64", uint64},   {"BOOL", boolean}};
  for (const auto& [text, type] : kNames) {
    if (text == name) return type;
  }
  return undefined;
}

Result<ConvertOptions> options_of(const Frame& frame) {
  ConvertOptions options{.saturate = frame.flag("saturate", true)};
  const std::string_view mode = frame.text("round_mode", "up");
  using Round = ConvertOptions::Round;
  if (mode != "up" && mode != "down" && mode != "nearest")
    return wrong(fmt::format("round_mode is '{}'", mode), "up, down or nearest");
  options.e8m0_round = mode == "up" ? Round::up : mode == "down" ? Round::down : Round::nearest;
  return options;
}

Result<void> to_text(Frame& frame) {
  const Array& in = frame.in(0);
  if (!is_convertible(in.type())) return wrong_type(frame, 0);
  Array* out = TRY(frame.out(0, ElementType::string, in.dims()));
  for (std::int64_t i = 0; i < in.count(); ++i) out->mutable_data<std::string>()[i] = text_of(in, i);
  return {};
}

Result<void> from_text(Frame& frame, ElementType to, const ConvertOptions& options) {
  const Array& in = frame.in(0);
  if (!is_convertible(to)) return wrong(fmt::format("there is no cast to {}", graph::name_of(to)));
  Array* out = TRY(frame.out(0, to, in.dims()));
  const auto size = static_cast<std::int64_t>(element_bytes(to));
  for (std::int64_t i = 0; i < in.count(); ++i) {
    TRY(number_from(in.data<std::string>()[i], to, out->mutable_bytes() + i * size, options));
  }
  return {};
}

Result<void> cast(Frame& frame, ElementType to) {
  const Array& in = frame.in(0);
  const ConvertOptions options = TRY(options_of(frame));
  if (in.type() == to) return frame.share(0, 0, in.dims());
  if (to == ElementType::string || in.type() == ElementType::string) TRY(frame.make_plain(0));
  if (to == ElementType::string) return to_text(frame);
  if (in.type() == ElementType::string) return from_text(frame, to, options);
  if (!is_convertible(in.type())) return wrong_type(frame, 0);
  if (!is_convertible(to)) {
    return wrong(fmt::format("there is no cast to {}", graph::name_of(to)), "a type of numbers, or strings");
  }
  Array* out = TRY(frame.out_over(0, 0, to, in.dims()));
  const auto in_size = static_cast<std::int64_t>(element_bytes(in.type()));
  const auto out_size = static_cast<std::int64_t>(element_bytes(to));
  parallel(frame, in.stored(), 1, [&](std::int64_t first, std::int64_t last) {
    convert(in.type(), in.bytes() + first * in_size, to, out->mutable_bytes() + first * out_size,
            last - first, options);
  });
  return {};
}

Result<void> run_cast(Frame& frame) {
  return cast(frame, frame.version < 6 ? type_named(frame.text("to", "")) : type_of(frame.integer("to", 0)));
}

Result<void> run_cast_like(Frame& frame) { return cast(frame, frame.in(1).type()); }

Result<void> text_through(Frame& frame, ElementType between, ElementType to, const ConvertOptions& options) {
  TRY(frame.make_plain(0));
  const Array& in = frame.in(0);
  Array* out = TRY(frame.out(0, to, in.dims()));
  const auto size = static_cast<std::int64_t>(element_bytes(to));
  for (std::int64_t i = 0; i < in.count(); ++i) {
    std::byte number[kMostBytes];
    TRY(number_from(in.data<std::string>()[i], between, number, options));
    convert(between, number, to, out->mutable_bytes() + i * size, 1);
  }
  return {};
}

// Two Casts, block by block, so that the intermediate type is not stored.
Result<void> run_cast_through(Frame& frame) {
  constexpr std::int64_t kRun = 512;
  const Array& in = frame.in(0);
  const ElementType between = type_of(frame.integer("through", 0)), to = type_of(frame.integer("to", 0));
  const ConvertOptions options = TRY(options_of(frame));
  if (!is_convertible(between) || !is_convertible(to))
    return wrong(
        fmt::format("there is no cast through {} to {}", graph::name_of(between), graph::name_of(to)),
        "types of numbers");
  if (in.type() == ElementType::string) return text_through(frame, between, to, options);
  if (!is_convertible(in.type())) return wrong_type(frame, 0);
  using enum ElementType;
  const bool same = in.type() == float32 && to == float32;
  const bool halves = same && between == float16;
  if (const ElementProbe* probe = ElementProbe::in(frame)) {
    if (halves) probe->found = {.rounds = true};
    return not_known();
  }
  Array* out = TRY(frame.out_over(0, 0, to, in.dims()));
  const auto in_size = static_cast<std::int64_t>(element_bytes(in.type()));
  const auto out_size = static_cast<std::int64_t>(element_bytes(to));
  const bool rounds = same && between != float8e8m0 && small_float_values(between);
  parallel(frame, in.stored(), halves ? 0.1 : 1, [&](std::int64_t first, std::int64_t last) {
    if (halves)
      return kernels::through_float16(in.data<float>() + first, out->mutable_data<float>() + first,
                                      static_cast<std::size_t>(last - first));
    if (rounds)
      return round_small_floats(between, {in.data<float>() + first, static_cast<std::size_t>(last - first)},
                                out->mutable_data<float>() + first, options);
    std::byte run[kRun * kMostBytes];
    for (; first < last; first += kRun) {
      const std::int64_t n = std::min(kRun, last - first);
      convert(in.type(), in.bytes() + first * in_size, between, run, n, options);
      convert(between, run, to, out->mutable_bytes() + first * out_size, n);
    }
  });
  return {};
}

int bits_of(ElementType type) {
  const graph::ElementTypeInfo* info = graph::find(type);
  return info ? info->bits : 0;
}

// The same bits under another type of the same width. Signed 2- and 4-bit integers are sign-extended to a
// byte, others zero-extended.
Result<void> run_bit_cast(Frame& frame) {
  const Array& in = frame.in(0);
  const ElementType to = type_of(frame.integer("to", 0));
  const int bits = bits_of(to);
  if (bits == 0 || bits != bits_of(in.type())) {
    return wrong(fmt::format("{} cannot be reinterpreted as {}", to_string(in), graph::name_of(to)),
                 "a type of the same width, not strings");
  }
  Array* out = TRY(frame.out_over(0, 0, to, in.dims()));
  if (bits >= 8) {
    if (in.bytes() != out->bytes() && in.byte_count() > 0)
      std::memcpy(out->mutable_bytes(), in.bytes(), in.byte_count());
    return {};
  }
  const int unused = 8 - bits;
  const bool spreads = to == ElementType::int4 || to == ElementType::int2;
  std::ranges::transform(in.elements<std::uint8_t>(), out->mutable_data<std::uint8_t>(), [&](std::uint8_t x) {
    const auto top = static_cast<std::uint8_t>(x << unused);
    return static_cast<std::uint8_t>(spreads ? static_cast<std::int8_t>(top) >> unused : top >> unused);
  });
  return {};
}

// Rounding to the other type counts as no change. Integers have no gradient.
Result<void> cast_gradient(Gradient& g) {
  if (is_float(g.out().type)) g.set(0, in_type_of(g, g.dy(), g.in(0)));
  return {};
}

}  // namespace

std::span<const Descriptor> cast_descriptors() {
  static const Descriptor all[] = {
      {.name = "Cast",
       .domain = "",
       .since = {1, 6, 9, 13, 19, 21, 23, 24, 25},
       .infer = infer_cast,
       .run = run_cast,
       .layouts = Layouts::each,
       .gradient = cast_gradient},
      {.name = "CastLike",
       .domain = "",
       .since = {15, 19, 21, 23, 24, 25},
       .infer = infer_cast_like,
       .run = run_cast_like,
       .required = 2,
       .layouts = Layouts::each,
       .gradient = cast_gradient},
      {.name = "BitCast",
       .domain = "",
       .since = {26},
       .infer = infer_bit_cast,
       .run = run_bit_cast,
       .layouts = Layouts::each},
      {.name = "CastThrough",
       .domain = graph::kAnybit,
       .since = {1},
       .infer = infer_cast_through,
       .run = run_cast_through,
       .layouts = Layouts::each},
  };
  return all;
}

}  // namespace anybit::ops
