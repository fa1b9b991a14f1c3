#include "format_colors.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>

namespace anybit::cli {
namespace {

constexpr int kFloat = 32;

struct Width {
  int bits = 8;
  bool minifloat = false;  // also block formats and logarithms
};

// The first number in the text; `otherwise` if there is none.
int number_in(std::string_view text, int otherwise) {
  const auto at = std::min(text.find_first_of("0123456789"), text.size());
  int number = otherwise;
  std::from_chars(text.data() + at, text.data() + text.size(), number);
  return number;
}

Width width_of_format(std::string_view given) {
  std::string name(given);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  if (name == "float" || name == "float32" || name == "double" || name == "float64") return {kFloat, false};
  if (name == "float16" || name == "bfloat16") return {16, true};
  if (name.starts_with("binary") || name.starts_with("ternary")) return {2, false};
  const std::string_view signless = std::string_view(name).substr(name.starts_with('u') ? 1 : 0);
  for (const std::string_view stem : {"int", "fixed"}) {
    if (!signless.starts_with(stem)) continue;
    int bits = 8;
    std::from_chars(signless.data() + stem.size(), signless.data() + signless.size(), bits);
    return {bits, false};
  }
  return {number_in(name, 8), true};
}

std::string_view family_of(std::string_view specs, bool weights_only) {
  int least = kFloat, most = 0;
  bool all_minifloat = true, narrow_minifloat = false;
  while (!specs.empty()) {
    const auto comma = std::min(specs.find(','), specs.size());
    std::string_view spec = specs.substr(0, comma);
    specs.remove_prefix(std::min(comma + 1, specs.size()));
    spec.remove_prefix(std::min(spec.find_first_not_of(' '), spec.size()));
    const Width width = width_of_format(spec.substr(0, spec.find(' ')));
    least = std::min(least, width.bits);
    most = std::max(most, width.bits);
    all_minifloat = all_minifloat && width.minifloat;
    narrow_minifloat = narrow_minifloat || (width.minifloat && width.bits < 16);
  }
  if (least >= kFloat) return "";
  if (least == 16 && all_minifloat) return "half";
  if (narrow_minifloat) return least > 5 ? "float8" : "float4";
  if (weights_only || most >= kFloat) return least > 7 ? "weights8" : "weights4";
  if (most >= 16) return "int16";
  return least > 7 ? "int8" : "int4";
}

}  // namespace

int format_color(std::string_view specs, bool weights_only) {
  const std::string_view family = family_of(specs, weights_only);
  const auto* found = std::ranges::find(kFormatColors, family, &FormatColor::family);
  return found == std::end(kFormatColors) ? 0 : found->color;
}

}  // namespace anybit::cli
