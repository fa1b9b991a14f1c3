// Checks SampleOptions: their values, and whether they affect anything.
#pragma once

#include <functional>

#include "anybit/samples.hpp"

namespace anybit {

Result<void> check_values(const SampleOptions& options);

// What the samples are made of.
struct SampleKinds {
  bool images = false;
  bool pixels = false;  // arrays of uint8 for an input of floating-point numbers
};

// An option that changes nothing is a mistake: of the data, or of the option. `kinds` is called if it
// matters.
Result<void> check_effects(const SampleOptions& options, const std::function<Result<SampleKinds>()>& kinds);

}  // namespace anybit
