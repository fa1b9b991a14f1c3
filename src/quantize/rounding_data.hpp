// Which refinements that round weights have their calibration data. The others round as if they were not
// asked for.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "calibrate/statistics.hpp"
#include "quantize/annotation.hpp"
#include "quantize/recipe.hpp"

namespace anybit::quantizing {

// Whether a rule of the recipe has a refinement that rounds by what samples show.
bool rounds_by_samples(const Recipe& recipe);

// What there will be.
struct RoundingData {
  bool any = false;                                                     // samples, or statistics
  const std::map<std::string, calibrate::Statistics>* known = nullptr;  // null: they are gathered
  std::int64_t bytes = 0;  // limit for those that optional refinements gather
};

// Clears Rounder::needs that will not be met: all of them without data, and those of optional refinements
// that are unknown or too large. Returns a remark about refinements that were not optional; empty if there
// are none.
std::string drop_unmet_needs(Annotation& annotation, const RoundingData& data);

}  // namespace anybit::quantizing
