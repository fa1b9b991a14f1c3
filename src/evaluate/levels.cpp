#include "evaluate/levels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace anybit::evaluate {
namespace {

// A measure where more is better: ok from `ok` on, degraded from `degraded` on.
struct Bounds {
  double ok, degraded;
  Level level(double measure) const {
    return measure >= ok ? Level::ok : measure >= degraded ? Level::degraded : Level::broken;
  }
};

constexpr Bounds kValueSqnr = {15, 8};      // dB; 15 dB is a cosine of 0.985
constexpr Bounds kScoreSqnr = {10, 4};      // dB, of probabilities: decisions matter more
constexpr double kClassDivergence = 0.003;  // nats per row, where about one class in thirty changes
constexpr Bounds kAgreement = {0.97, 0.8};  // share of rows with the same class
constexpr Bounds kKept = {0.9, 0.6};        // decisions that both models make, F1
constexpr double kPointsOk = 1, kPointsDegraded = 5;
constexpr std::int64_t kFewDecisions = 10;
constexpr double kMostHarm = 1e6;  // also of NaN and infinity

// What a share could be if it was measured again: the upper end of Wilson's interval for one standard
// deviation. So one of eight rows proves little.
double upper_share(std::int64_t part, std::int64_t whole) {
  const double n = static_cast<double>(whole), p = static_cast<double>(part) / n;
  return (p + 0.5 / n + std::sqrt(p * (1 - p) / n + 0.25 / (n * n))) / (1 + 1 / n);
}

double kept_share(const OutputPart& part) {
  return 2.0 * static_cast<double>(part.both) / static_cast<double>(part.before + part.after);
}

bool decides(const OutputPart& part) { return part.before + part.after >= kFewDecisions; }

double lost_points(const Comparison& comparison) {
  return 100.0 * static_cast<double>(comparison.reference_top1 - comparison.other_top1) /
         static_cast<double>(comparison.labelled);
}

std::string decibels(double value) {
  if (value >= 200) return "the same values";
  return std::isfinite(value) ? fmt::format("{:.1f} dB", value) : "NaN or infinity";
}

std::string place(const OutputPart& part) {
  std::string text = shown(part.output);
  if (part.last >= part.first)
    text += part.last == part.first ? fmt::format(", channel {}", part.first)
                                    : fmt::format(", channels {}-{}", part.first, part.last);
  if (part.kind == "probabilities") text += " (scores)";
  if (part.kind == "state") text += " (state)";
  return text;
}

}  // namespace

Level level_of(const OutputPart& part) {
  if (part.count == 0 || part.kind == "state") return Level::unknown;
  if (!std::isfinite(part.sqnr)) return Level::broken;
  if (part.kind == "classes" && part.rows > 0) return kAgreement.level(upper_share(part.agreed, part.rows));
  if (part.kind != "probabilities") return kValueSqnr.level(part.sqnr);
  if (!decides(part)) return kValueSqnr.level(part.sqnr);
  return std::max(kScoreSqnr.level(part.sqnr), kKept.level(kept_share(part)));
}

double harm_of(const OutputPart& part) {
  if (part.count == 0 || part.kind == "state") return 0;
  if (!std::isfinite(part.sqnr)) return kMostHarm;
  if (part.kind == "classes" && part.rows > 0) return std::min(part.divergence / kClassDivergence, kMostHarm);
  const bool scores = part.kind == "classes" || (part.kind == "probabilities" && decides(part));
  const double permitted = scores ? kScoreSqnr.ok : kValueSqnr.ok;
  double harm = part.sqnr >= 200 ? 0 : std::pow(10.0, (permitted - part.sqnr) / 10);
  if (scores && part.kind == "probabilities") harm = std::max(harm, (1 - kept_share(part)) / (1 - kKept.ok));
  return std::min(harm, kMostHarm);
}

Level level_of_labels(const Comparison& comparison) {
  if (comparison.labelled == 0) return Level::unknown;
  // A single sample is no evidence.
  const double margin = 100.0 / static_cast<double>(comparison.labelled);
  const double lost = lost_points(comparison);
  return lost <= std::max(kPointsOk, margin)             ? Level::ok
         : lost <= std::max(kPointsDegraded, 2 * margin) ? Level::degraded
                                                         : Level::broken;
}

Level level_of_measure(double before, double after) {
  if (!std::isfinite(before)) return Level::unknown;
  if (!std::isfinite(after)) return Level::broken;
  const double lost = 100 * (before - after) / std::max(std::abs(before), 1e-12);
  return lost <= kPointsOk ? Level::ok : lost <= kPointsDegraded ? Level::degraded : Level::broken;
}

std::string reason_of(const OutputPart& part) {
  if (part.count == 0) return fmt::format("{} could not be compared: no finite values", place(part));
  if (part.kind == "classes" && part.rows > 0)
    return fmt::format("{}: the same class in {} of {} rows ({:.1f} %)", place(part), part.agreed, part.rows,
                       100.0 * static_cast<double>(part.agreed) / static_cast<double>(part.rows));
  std::string text = fmt::format("{}: {}", place(part), decibels(part.sqnr));
  if (part.kind != "probabilities") return text;
  if (part.before + part.after == 0)
    return text +
           fmt::format(", none above {:g} in either model: the data has nothing to find", part.threshold);
  text += fmt::format(", keeps {} of {} above {:g}", part.both, part.before, part.threshold);
  if (part.after > part.both) text += fmt::format(", adds {}", part.after - part.both);
  return text;
}

std::string reason_of_labels(const Comparison& comparison) {
  const auto percent = [&](std::int64_t right) {
    return 100.0 * static_cast<double>(right) / static_cast<double>(comparison.labelled);
  };
  return fmt::format("top-1 accuracy {:.2f} % -> {:.2f} %", percent(comparison.reference_top1),
                     percent(comparison.other_top1));
}

}  // namespace anybit::evaluate
