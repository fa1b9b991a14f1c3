// The presets. Each is the text of a recipe file.
#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/try.hpp"
#include "quantize/recipe.hpp"

namespace anybit::quantizing {

namespace {

// With calibration data, weights of 4 bits get GPTQ, searched ranges and biases that keep the means.
constexpr std::string_view kFewBits = ", refine: [sums, 'gptq?', 'mse?', 'means?:convolutions=true']";

// Formats whose parameters are chosen at run time. Each makes two presets: one for activations and weights,
// and "-weights" for weights only. Weights use sum-preserving rounding, except in formats where thresholds
// replace rounding to nearest or where there is no gain. mxfp8 rounds its scales up: by OCP's rule the
// largest value of a block may lose an eighth, which sums cannot compensate (docs/accuracy.md).
struct Direct {
  std::string_view name, what, weights, data;
  std::string_view refine = ", refine: sums";
};
constexpr Direct kDirect[] = {
    {"mxfp4", "OCP MX, 4-bit floats in blocks of 32", "mxfp4_e2m1", "mxfp4_e2m1", kFewBits},
    {"mxfp6", "OCP MX, 6-bit floats (e2m3) in blocks of 32", "mxfp6_e2m3", "mxfp6_e2m3"},
    {"mxfp6-e3m2", "OCP MX, 6-bit floats (e3m2) in blocks of 32", "mxfp6_e3m2", "mxfp6_e3m2"},
    {"mxfp8", "OCP MX, 8-bit floats (e4m3) in blocks of 32", "mxfp8_e4m3 scale_rule ceil",
     "mxfp8_e4m3 scale_rule ceil"},
    {"mxfp8-e5m2", "OCP MX, 8-bit floats (e5m2) in blocks of 32", "mxfp8_e5m2", "mxfp8_e5m2"},
    {"mxint8", "OCP MX, 8-bit integers in blocks of 32", "mxint8", "mxint8"},
    {"nvfp4", "4-bit floats in blocks of 16 with 8-bit scales", "nvfp4", "nvfp4", kFewBits},
    {"bfp16", "block floating point, 9 bits per value", "bfp16", "bfp16"},
    {"mx9", "shared microexponents, 9 bits per value", "mx9", "mx9"},
    {"mx6", "shared microexponents, 6 bits per value", "mx6", "mx6"},
    {"mx4", "shared microexponents, 4 bits per value", "mx4", "mx4", kFewBits},
    {"block-fp8", "block floating point, 8-bit elements in blocks of 16", "block_fp", "block_fp"},
    {"block-minifloat8", "8-bit floats that share a bias in blocks of 16", "block_minifloat",
     "block_minifloat"},
    {"block-log8", "powers of two that share a bias in blocks of 16", "block_log with_zero true",
     "block_log with_zero true"},
    {"fp8", "8-bit floats (e4m3)", "fp8_e4m3", "fp8_e4m3"},
    {"fp8-e5m2", "8-bit floats (e5m2)", "fp8_e5m2", "fp8_e5m2"},
    {"minifloat8", "8-bit floats, all values finite", "minifloat_ieee", "minifloat_ieee"},
    {"minifloat-denorm8", "8-bit floats without an implicit leading bit", "minifloat_denorm",
     "minifloat_denorm"},
    {"log8", "8-bit powers of two", "log with_zero true", "log with_zero true"},
    {"fixed8", "8-bit fixed point; weights at the binary point with the smallest error", "fixed frac auto",
     "fixed frac 4"},
    {"ternary", "ternary (-1, 0, 1), one scale per channel", "ternary channel scale mean",
     "ternary scale mean", ""},
    {"binary", "binary (±1), one scale per channel", "binary channel scale mean", "binary scale mean", ""},
    {"binary-residual", "residual binary, two scales per channel", "binary_residual channel",
     "binary_residual", ""},
    {"float16", "mixed precision: linear operators compute in IEEE half precision", "float16",
     "float16, compute: float16", ""},
    {"bfloat16", "the upper 16 bits of float32", "bfloat16", "bfloat16", ""},
};

std::vector<Preset> add_direct(std::span<const Preset> first) {
  static std::vector<std::string> texts;  // presets refer to these texts
  std::vector<Preset> all(first.begin(), first.end());
  texts.reserve(std::size(kDirect) * 4);
  const auto keep = [](std::string text) -> std::string_view { return texts.emplace_back(std::move(text)); };
  for (const Direct& one : kDirect) {
    all.push_back(
        {one.name, one.what,
         keep(fmt::format("global: {{weights: {}, data_in: {}{}}}", one.weights, one.data, one.refine))});
    all.push_back({keep(fmt::format("{}-weights", one.name)), keep(fmt::format("weights only: {}", one.what)),
                   keep(fmt::format("global: {{weights: {}{}}}", one.weights, one.refine))});
  }
  return all;
}

Result<Recipe> read_preset(const Preset& preset) {
  Recipe recipe = TRY(read_recipe(std::string(preset.text), std::string(preset.name)));
  for (Rule& rule : recipe.rules) rule.place = fmt::format("recipe '{}'", preset.name);
  return recipe;
}

}  // namespace

std::span<const Preset> presets() {
  static constexpr Preset kAffine[] = {
      {"int8", "8-bit weights per channel, 8-bit activations: the default",
       "global: {weights: int8 sym channel, activations: int8 asym, refine: means}"},
      {"uint8", "as int8, with unsigned integers",
       "global: {weights: uint8 sym channel, activations: uint8 asym, refine: means}"},
      {"u8s8", "as int8, with unsigned activations: fastest in ONNX Runtime on x86-64",
       "global: {weights: int8 sym channel, activations: uint8 asym, refine: means}"},
      {"int8-per-tensor", "as int8, with per-tensor weights",
       "global: {weights: int8 sym tensor, activations: int8 asym, refine: [equalize, means]}"},
      {"int16", "16-bit weights and activations",
       "global: {weights: int16 sym channel, activations: int16 sym}"},
      {"int16x8", "8-bit weights, 16-bit activations",
       "global: {weights: int8 sym channel, activations: int16 sym, refine: means}"},
      {"int8x4", "4-bit weights, 8-bit activations",
       "global: {weights: int4 sym channel, activations: int8 asym,"
       " refine: [sums, 'gptq?', 'mse?', 'means:convolutions=true']}"},
      {"int4x4", "4-bit weights and activations, to be trained (--train)",
       "global: {weights: int4 sym channel, activations: int4 asym mse, refine: means}"},
      {"fp8-static", "8-bit floats (e4m3) with scales: per-channel weights, calibrated activations",
       "global: {weights: fp8_e4m3 channel, activations: fp8_e4m3 tensor minmax, refine: sums}"},
      {"w8", "8-bit weights, activations stay in float",
       "global: {weights: int8 sym channel, activations: float}"},
      {"w16", "16-bit weights, activations stay in float",
       "global: {weights: int16 sym channel, activations: float}"},
      {"w4", "4-bit weights in blocks of 32, activations stay in float",
       "global: {weights: int4 sym block 32, activations: float,"
       " refine: ['gptq?', 'mse?', 'means?:convolutions=true']}"},
      {"w2", "2-bit weights in blocks of 32, activations stay in float",
       "global: {weights: int2 sym block 32, activations: float,"
       " refine: ['gptq?', 'mse?', 'means?:convolutions=true']}"},
      // Unsigned weights: ONNX Runtime multiplies uint8 by int8 with saturation on CPUs without VNNI.
      {"dynamic-int8", "8-bit weights, dynamic 8-bit activations",
       "global: {weights: uint8 sym channel, activations: uint8 asym dynamic, refine: sums}"},
      {"nnpa", "for IBM Telum II: per-tensor int8 weights, dynamic activations",
       "global: {weights: int8 sym tensor, activations: int8 asym dynamic}"},
      {"nnpa-float16", "for IBM Telum II: float16 on the accelerator, float32 elsewhere",
       "global: {weights: float16, data_in: float16, compute: float16}"},
      {"nnpa-auto", "for IBM Telum II: the best of dynamic int8 and float for each layer",
       "global: {choose: [{weights: int8 sym tensor, activations: int8 asym dynamic},"
       " {weights: int8 sym tensor, activations: int8 sym dynamic},"
       " {weights: int8 asym tensor, activations: int8 asym dynamic},"
       " {weights: int8 asym tensor, activations: int8 sym dynamic}, float]}"},
      {"dynamic-auto", "the best of dynamic 8-bit schemes and float for each layer",
       "global: {choose: [{weights: uint8 sym channel, activations: uint8 asym dynamic},"
       " {weights: uint8 sym channel, activations: int8 sym dynamic},"
       " {weights: uint8 asym tensor, activations: uint8 asym dynamic},"
       " {weights: uint8 asym tensor, activations: int8 sym dynamic}, float], refine: sums}"},
  };
  static const std::vector<Preset> kAll = add_direct(kAffine);
  return kAll;
}

Result<Recipe> find_recipe(std::string_view preset) {
  std::vector<std::string_view> names;
  for (const Preset& one : presets()) {
    if (one.name == preset) return read_preset(one);
    names.push_back(one.name);
  }
  const std::string meant = did_you_mean(preset, names);
  return error_at(Code::not_found, {}, fmt::format("no recipe '{}'", shown(preset)),
                  meant.empty() ? fmt::format("one of {}, or a file", fmt::join(names, ", ")) : meant);
}

}  // namespace anybit::quantizing
