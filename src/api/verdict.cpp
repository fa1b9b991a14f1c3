#include "api/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "anybit/formats.hpp"
#include "anybit/inspect.hpp"
#include "base/guard.hpp"
#include "base/try.hpp"
#include "evaluate/levels.hpp"

namespace anybit {
namespace {

// The bits of an element type or format; 32 if it has no number.
int bits_of_type(const std::string& type) {
  const auto format = describe_format(type);
  if (format.ok()) return format->bits;
  const auto digit = std::ranges::find_if(type, [](unsigned char c) { return std::isdigit(c) != 0; });
  return digit == type.end() ? 32 : std::atoi(&*digit);
}

// The fewest bits of tensors with a role; 32 if none is quantized.
int fewest_bits(const Inspection& inspection, const std::string& role) {
  int bits = 32;
  for (const Inspection::Quantized& one : inspection.quantized) {
    if (one.role == role) bits = std::min(bits, bits_of_type(one.type));
  }
  return bits;
}

// The preset that widens what is narrowest: weights below 8 bits first, then activations. Empty if both have
// room.
std::string wider_recipe(const Inspection& inspection) {
  const int weights = fewest_bits(inspection, "weight"), activations = fewest_bits(inspection, "activation");
  if (activations > 16) return weights < 8 ? "w8" : "";
  if (weights < 8 || activations < 8) return "int8";
  return activations < 16 ? "int16x8" : "";
}

}  // namespace

std::string to_string(Level level) {
  switch (level) {
    case Level::ok:
      return "ok";
    case Level::degraded:
      return "degraded";
    case Level::broken:
      return "broken";
    case Level::unknown:
      break;
  }
  return "unknown";
}

Result<Verdict> judged_by(Verdict verdict, const std::string& measure, double before, double after,
                          const Model& other) noexcept {
  return guarded([&]() -> Result<Verdict> {
    verdict.level = evaluate::level_of_measure(before, after);
    verdict.reason = fmt::format("{} {:.4g} -> {:.4g}", measure, before, after);
    verdict.recipe = verdict.level > Level::ok ? wider_recipe(TRY(inspect(other))) : "";
    return std::move(verdict);
  });
}

Result<Verdict> verdict_of(const Comparison& comparison, const std::vector<OutputPart>& parts,
                           const Model& other) {
  Verdict verdict;
  for (const OutputPart& part : parts)
    verdict.parts.push_back({part, evaluate::level_of(part), evaluate::reason_of(part)});
  // The worst first; among parts of one level the one closest to the next.
  const auto harm = [](const PartVerdict& one) { return std::pair(one.level, evaluate::harm_of(one.part)); };
  std::ranges::stable_sort(verdict.parts, std::ranges::greater{}, harm);
  verdict.reason = "no output could be compared";
  if (!verdict.parts.empty()) {
    verdict.level = verdict.parts[0].level;
    verdict.reason = verdict.parts[0].reason;
    if (verdict.level == Level::ok && verdict.parts.size() > 1)
      verdict.reason = "all outputs are close, the least " + verdict.reason;
  }
  if (comparison.labelled > 0) {  // the user's labels take the place of guesses
    verdict.level = evaluate::level_of_labels(comparison);
    verdict.reason = evaluate::reason_of_labels(comparison);
  }
  if (verdict.level > Level::ok) verdict.recipe = wider_recipe(TRY(inspect(other)));
  return verdict;
}

}  // namespace anybit
