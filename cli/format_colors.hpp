// The colours of formats on a terminal, by family: those of the report page (web/src/style.css,
// --format-int8 …; the families: web/src/formats.ts) and of notebooks (python/anybit/_format_colors.py), in
// the nearest of 256 colours.
#pragma once

#include <string_view>

namespace anybit::cli {

struct FormatColor {
  std::string_view family;
  int color;  // of a terminal's 256
};
inline constexpr FormatColor kFormatColors[] = {{"int8", 68},     {"int4", 130},     {"int16", 98},
                                                {"weights8", 29}, {"weights4", 100}, {"half", 31},
                                                {"float8", 132},  {"float4", 131}};

// The colour of specs of data and weights as a report has them: "int8 asym, int4 sym block 32". 0 for float.
// `weights_only`: data stay in float.
int format_color(std::string_view specs, bool weights_only = false);

}  // namespace anybit::cli
