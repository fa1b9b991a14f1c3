// The recipes that have a name. Each is a text that a file could hold.
#include "base/error.hpp"
#include "base/nearest.hpp"
#include "quantize/recipe.hpp"

namespace anybit::quantizing {

std::span<const Preset> presets() {
  static constexpr Preset kAll[] = {
      {"int8", "8-bit weights per channel, 8-bit activations: the default",
       "global: {weights: int8 sym channel, activations: int8 asym}"},
      {"uint8", "as int8, in unsigned codes",
       "global: {weights: uint8 sym channel, activations: uint8 asym}"},
      {"int8-per-tensor", "as int8, with one scale for each weight tensor",
       "global: {weights: int8 sym tensor, activations: int8 asym}"},
      {"int16", "16-bit weights and activations",
       "global: {weights: int16 sym channel, activations: int16 sym}"},
      {"int16x8", "8-bit weights, 16-bit activations",
       "global: {weights: int8 sym channel, activations: int16 sym}"},
      {"int8x4", "4-bit weights, 8-bit activations",
       "global: {weights: int4 sym channel, activations: int8 asym}"},
      {"w8", "8-bit weights, activations stay in float",
       "global: {weights: int8 sym channel, activations: float}"},
      {"w16", "16-bit weights, activations stay in float",
       "global: {weights: int16 sym channel, activations: float}"},
      {"w4", "4-bit weights in blocks of 32, activations stay in float",
       "global: {weights: int4 sym block 32, activations: float}"},
      {"w2", "2-bit weights in blocks of 32, activations stay in float",
       "global: {weights: int2 sym block 32, activations: float}"},
      // Unsigned weights: ONNX Runtime multiplies uint8 by int8 with saturation on CPUs without VNNI.
      {"dynamic-int8", "8-bit weights; activations are quantized when the model runs",
       "global: {weights: uint8 sym channel, activations: uint8 asym dynamic}"},
      {"nnpa", "for IBM Telum II: int8 weights per tensor; activations are quantized when the model runs",
       "global: {weights: int8 sym tensor, activations: uint8 asym dynamic}"},
  };
  return kAll;
}

Result<Recipe> find_recipe(std::string_view preset) {
  std::vector<std::string_view> names;
  for (const Preset& one : presets()) {
    if (one.name == preset) return read_recipe(std::string(one.text), std::string(one.name));
    names.push_back(one.name);
  }
  const std::string meant = did_you_mean(preset, names);
  return error_at(Code::not_found, {}, fmt::format("no recipe '{}'", shown(preset)),
                  meant.empty() ? fmt::format("one of {}, or a file", fmt::join(names, ", ")) : meant);
}

}  // namespace anybit::quantizing
