#include "portable/portable.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/try.hpp"
#include "formats/affine.hpp"
#include "formats/scaled.hpp"
#include "formats/sums.hpp"
#include "graph/node.hpp"
#include "portable/codes.hpp"
#include "portable/numbers.hpp"
#include "portable/table.hpp"

namespace anybit::portable {
namespace {

// A format with resolved parameters, and the row of its family.
struct Ready {
  const formats::Descriptor* format = nullptr;
  const Descriptor* family = nullptr;
  formats::Values values;
  std::shared_ptr<const formats::Codec> codec;
  formats::Rounding rounding = formats::Rounding::half_even;
  Layout layout;
  // For formats with an additional shared scale: the codec that holds the codec of the scaled values.
  const formats::ScaledCodec* scaled() const {
    return dynamic_cast<const formats::ScaledCodec*>(codec.get());
  }
  Setup setup() const { return {scaled() ? *scaled()->element() : *codec, values, rounding}; }
};

// The scale of each group, from the largest magnitude of the group.
Term scales(const Term& magnitudes, double largest) {
  const Term wanted = max(to_double(to_single(magnitudes / largest)), formats::kSmallestScale);
  const float most = formats::within_float32(std::numeric_limits<float>::max(), largest);
  return fill_empty_scales(equal(magnitudes, 0), min(wanted, most));
}

Result<Term> quantize_scaled(const Ready& made, const Groups& groups, const Term& x) {
  const Term scale = to_single(scales(groups.largest(abs(only_finite(x))), made.scaled()->largest()));
  const Term quotients = to_double(to_single(x) / scale);
  return to_single(TRY(made.family->quantize(made.setup(), groups, quotients))) * scale;
}

Result<Ready> ready(const formats::Use& use) {
  Ready made;
  made.format = TRY(formats::find(use.format));
  for (const Descriptor* one : table()) {
    if (one->family == made.format->family) made.family = one;
  }
  if (!made.family)
    return error_at(Code::unsupported, {}, fmt::format("{} cannot be written in ONNX operators", use.format));
  made.values = TRY(formats::complete(*made.format, use.parameters));
  made.codec = TRY(formats::codec_of(*made.format, made.values, use.grouping));
  made.rounding = made.codec->rounding(use.rounding);
  made.layout = TRY(layout_of(use, *made.format));
  return made;
}

bool is_plain(char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

// Other characters become "_": a short hash keeps such names distinct.
std::string name_of(std::string_view op, const std::string& text) {
  std::string name = fmt::format("{}_{}", op, text);
  const bool ambiguous = std::any_of(text.begin(), text.end(),
                                     [](char c) { return !is_plain(c) && c != '_' && c != ' ' && c != '='; });
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !is_plain(c); }, '_');
  if (ambiguous) {
    Sha256 hash;
    hash.update(text);
    name += "_" + hash.hex().substr(0, 8);
  }
  return name;
}

graph::Function named(std::string_view op, const formats::Use& use, graph::Function function) {
  const std::string text = formats::to_string(use);
  function.name = graph::Text(name_of(op, text));
  function.domain = graph::Text(graph::kAnybit);
  function.doc = graph::Text(text);
  return function;
}

}  // namespace

bool before(const Descriptor& a, const Descriptor& b) { return a.family < b.family; }

Result<graph::Function> quantize_dequantize(const formats::Use& use) {
  Ready made = TRY(ready(use));
  if (made.rounding == formats::Rounding::stochastic) {
    return error_at(
        Code::unsupported, {},
        fmt::format(
            "{}: stochastic rounding cannot be written in ONNX operators: ONNX has no portable random "
            "number generator",
            use.format),
        "rounding half_even, half_away, half_up, toward_zero or floor");
  }
  if (made.codec->words(1) == 0) made.layout = {};  // no shared parameters
  FunctionBody body;
  const Term x = body.input("x");
  const Groups groups(made.layout, shape(x));
  const Term laid_out = groups.split(to_double(x), body.real(made.family->padding));
  const Term result = made.scaled() ? TRY(quantize_scaled(made, groups, laid_out))
                                    : to_single(TRY(made.family->quantize(made.setup(), groups, laid_out)));
  const bool as_it_is = made.layout.granularity == formats::Granularity::element;
  return named("QuantizeDequantize", use, std::move(body).finish(as_it_is ? result : groups.join(result)));
}

Result<graph::Function> decode(const formats::Use& use) {
  const Ready made = TRY(ready(use));
  TRY(made.codec->packable());
  FunctionBody body;
  const Term packed = body.input("codes");
  std::vector<Term> fields;
  for (const formats::Field& field : made.codec->fields(1)) {
    if (field.stored_bits > 0) fields.push_back(body.input(field.name));
  }
  const Term coded = body.attribute("coded");
  const Term dims = body.attribute("dims");
  const Groups groups(made.layout, coded);
  const Term rows = unpack(packed, *made.codec, groups.row_length());
  const Term codes = groups.split_rows(rows, to_index(body.integer(0)));
  Term result = made.family->decode(made.setup(), groups, codes, fields);
  if (made.scaled()) result = result * to_single(groups.spread(fields[0]));
  return named("Decode", use, std::move(body).finish(reshape(groups.join(result), dims)));
}

}  // namespace anybit::portable
