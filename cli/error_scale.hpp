// The colours of errors on a terminal: the scale of the report page (web/src/style.css, --error-0 …) and of
// notebooks (python/anybit/_html.py), in the nearest of 256 colours.
#pragma once

namespace anybit::cli {

struct ErrorStep {
  double below;  // dB
  int color;     // of a terminal's 256
};
inline constexpr ErrorStep kErrorScale[] = {{10, 161}, {20, 166}, {30, 172}, {40, 34}};
inline constexpr int kSmallErrors = 32;

constexpr int error_color(double sqnr) {
  for (const ErrorStep& step : kErrorScale) {
    if (sqnr < step.below) return step.color;
  }
  return kSmallErrors;
}

}  // namespace anybit::cli
